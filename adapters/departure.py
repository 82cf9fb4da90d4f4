"""How a session leaves: as files, each under a name below the agent's own folder, the session's own first."""

import re
from collections.abc import Iterator

from adapters.registry import WRITERS
from adapters.written import Written
from eventstore.wire.codec import dump

File = tuple[str, bytes]  # a name with `/` between its steps, and the bytes
NAME_CHARS_MAX = 100
_unsafe = re.compile(r"[^A-Za-z0-9._-]")


def files_of(written: Written) -> tuple[list[File], list[str]]:
    """Return the files of a session and of its sub-agents, each with another name, and what they cannot hold.

    No name leads out of the folder, whatever the session says its id is.
    """
    files: list[File] = []
    left_out: list[str] = []
    taken: set[str] = set()
    for one in (written, *written.subagents):
        writer = WRITERS[one.agent]
        content, lost = writer.file(one.records)
        left_out += lost
        stem = next(stem for stem in _stems(one, writer.suffix) if stem not in taken)
        taken.add(stem)
        files.append((f"{stem}.{writer.suffix}", content))
        if one.sidecar is not None:
            files.append((f"{stem}.meta.json", dump(one.sidecar).encode()))
        files += ((f"{stem}/{'/'.join(path.split('/')[-2:])}", content) for path, content in one.beside)
    return files, left_out


def _stems(written: Written, suffix: str) -> Iterator[str]:
    """The name without its suffix; where it is taken, with a number."""
    steps = (written.path.removesuffix(f".{suffix}") or written.session_id or "session").split("/" if written.path else "\n")
    stem = "/".join(_unsafe.sub("_", step)[:NAME_CHARS_MAX].lstrip(".") or "_" for step in steps)
    yield stem
    number = 2
    while True:
        yield f"{stem}-{number}"
        number += 1
