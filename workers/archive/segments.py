"""Segments: lines of an archive by their place, whichever order they are asked for in; what is held of them is bounded.

Sessions that were written side by side are read side by side: with thousands of them, a segment of each would be the whole
archive. So what was asked for longest ago is let go, and read again when its turn comes.
"""

from collections import OrderedDict
from collections.abc import Iterator

from eventstore.errors import RestoreRefused
from workers.archive.repository import Repository

HELD_BYTES_MAX = 64 * 1024 * 1024
Path = tuple[str, ...]


class Segments:
    """The segments of one commit. At most HELD_BYTES_MAX of them are in memory, but always the one that was asked for last."""

    def __init__(self, repository: Repository, commit: str) -> None:
        self._repository, self._commit = repository, commit
        self._held: OrderedDict[Path, list[bytes]] = OrderedDict()
        self._held_bytes = 0

    def lines(self, path: Path) -> Iterator[bytes]:
        """Yield a segment's lines without their ends; between two, the segment may be let go. Raises RestoreRefused."""
        number = 0
        while (line := self._line(path, number)) is not None:
            yield line
            number += 1

    def _line(self, path: Path, number: int) -> bytes | None:
        lines = self._held.get(path)
        if lines is None:
            lines = self._held[path] = self._read(path)
            self._held_bytes += _size(lines)
            while self._held_bytes > HELD_BYTES_MAX and len(self._held) > 1:
                self._held_bytes -= _size(self._held.popitem(last=False)[1])
        self._held.move_to_end(path)
        return lines[number] if number < len(lines) else None

    def _read(self, path: Path) -> list[bytes]:
        text = self._repository.read(self._commit, path)
        if text is None:
            raise RestoreRefused(f"The archive lacks {'/'.join(path)}.")
        return [line for line in text.split(b"\n") if line]


def _size(lines: list[bytes]) -> int:
    return sum(map(len, lines))
