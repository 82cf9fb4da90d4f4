"""Outputs: where a command is told to write, looked at before anything is read, so that no file is lost to a slip of the hand."""

import os
from pathlib import Path

from eventstore.errors import InvalidSettings


def place_of(output: Path) -> Path:
    """Return where an output file is to stand: where a link points to, as a file is put in place of what is there.

    Raises InvalidSettings where no file can stand.
    """
    if not output.name:
        raise InvalidSettings(f"{str(output)!a} names no file to write.")
    place = Path(os.path.realpath(output)) if output.is_symlink() else output
    if place.exists() and not place.is_file():
        raise InvalidSettings(f"{output} cannot be written: it is there, and it is no file.")
    return place


def keep_apart(*files: str | Path | None) -> None:
    """Raises InvalidSettings where two of the files that a command reads and writes are one; None is no file."""
    seen: set[str] = set()
    for file in files:
        if not file or (os.path.exists(file) and not os.path.isfile(file)):
            continue  # a terminal, say
        real = os.path.realpath(file)
        if real in seen or any(os.path.exists(other) and os.path.exists(real) and os.path.samefile(other, real) for other in seen):
            raise InvalidSettings(f"{file} is named twice: what is read there would be written over.")
        seen.add(real)
