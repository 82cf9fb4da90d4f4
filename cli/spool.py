"""Spool: a session's entries on disk, each looked up when it is asked for, so that a session may be larger than the memory."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from tempfile import TemporaryFile
from types import TracebackType
from typing import Any, Self, overload

from adapters.pieces import encoded
from eventstore.wire.codec import parse

Json = dict[str, Any]
KEPT_COUNT, KEPT_BYTES = 8, 1024 * 1024  # entries that were just read, and how large one may be to be kept


class Spool(Sequence[Json]):
    """Entries in a temporary file that nobody else sees; closed, it is gone."""

    def __init__(self) -> None:
        self._file = TemporaryFile()  # noqa: SIM115  # closed by `__exit__`
        self._ends = array("q", [0])
        self._kept: dict[int, Json] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()

    def fill(self, entries: Iterable[tuple[Json, str]]) -> Iterator[Json]:
        """Add entries, each with its JSON text, "" where that is not at hand; yield each when it is added."""
        size = self._ends[-1]
        for entry, text in entries:
            for piece in (text.encode(),) if text else encoded(entry):
                size += self._file.write(piece)
            self._ends.append(size)
            yield entry

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, index: int) -> Json: ...
    @overload
    def __getitem__(self, index: slice) -> list[Json]: ...
    def __getitem__(self, index: int | slice) -> Json | list[Json]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        if index not in self._kept:
            start, end = self._ends[index : index + 2]
            self._file.seek(start)
            entry: Json = parse(self._file.read(end - start).decode())
            if end - start > KEPT_BYTES:
                return entry
            if len(self._kept) >= KEPT_COUNT:
                del self._kept[next(iter(self._kept))]
            self._kept[index] = entry
        return self._kept[index]
