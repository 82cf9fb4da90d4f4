"""CPU: how much of it processes have used, read from /proc; where there is no /proc nothing is said."""

import os
from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_PARENT, _USER, _SYSTEM, _CHILDREN_USER, _CHILDREN_SYSTEM = 1, 11, 12, 13, 14  # fields of /proc/<pid>/stat after its name
ITEMS_MIN = 5  # of fewer a clock of 10 ms tells nothing

Reading = tuple[float | None, float | None]


class Meter:
    """Reads what a program (by default this process) and a PostgreSQL server with all its processes have used."""

    def __init__(self, database_pid: int, program_pid: int | None = None) -> None:
        self._database_pid, self._program_pid = database_pid, program_pid or os.getpid()

    def read(self) -> Reading:
        """Return (program, database) in CPU seconds since they began."""
        return used_s(self._program_pid), family_used_s(self._database_pid)

    def since(self, before: Reading, items: int) -> Reading:
        """Return (program, database) in microseconds an item since `before`."""
        if items < ITEMS_MIN:
            return None, None
        program, database = (
            None if now is None or then is None else max(0.0, (now - then) * 1e6 / items)
            for now, then in zip(self.read(), before, strict=True)
        )
        return program, database


def used_s(pid: int) -> float | None:
    """CPU seconds of one process with all its threads."""
    fields = _stat(pid)
    return None if fields is None else (int(fields[_USER]) + int(fields[_SYSTEM])) / _TICKS


def family_used_s(pid: int) -> float | None:
    """CPU seconds of a process, its children, and those of its children that have ended."""
    own = _stat(pid)
    if own is None:
        return None
    ended = int(own[_CHILDREN_USER]) + int(own[_CHILDREN_SYSTEM])
    return ended / _TICKS + sum(used_s(member) or 0.0 for member in (pid, *_children(pid)))


def parent_of(pid: int) -> int | None:
    """The parent of a process, None where that cannot be told."""
    fields = _stat(pid)
    return None if fields is None else int(fields[_PARENT])


def _children(pid: int) -> Iterator[int]:
    for entry in _PROC.iterdir():
        if entry.name.isdigit() and parent_of(int(entry.name)) == pid:
            yield int(entry.name)


def _stat(pid: int) -> list[str] | None:
    try:
        return (_PROC / str(pid) / "stat").read_text("ascii", "replace").rpartition(")")[2].split()
    except OSError:
        return None
