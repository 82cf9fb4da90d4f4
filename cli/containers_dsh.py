"""A session's log as DeepSeek Harness keeps it: JSON lines, plain or in Zstandard frames, in a folder that its header tells.

The first frame holds the header line and nothing else, each later one what was appended at a time. A store is either plain or
compressed, and one wrong file in it hides all of its sessions (`install_dsh` puts logs there).
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from adapters.dsh.paths import encode_segment
from adapters.dsh.records import AGENT, VERSION, is_header
from adapters.json_lines import parse_line
from adapters.values import text_of
from adapters.written import Written
from cli.containers_sqlite import UnreadableContainer, put
from cli.zstd_frames import frames, is_compressed, pack

__all__ = [
    "AGENT",
    "Listed",
    "frame_problems",
    "home",
    "is_compressed",
    "logs_in",
    "newest",
    "packed",
    "read_lines",
    "tears",
    "version_for",
]

SUFFIXES = (".zstd", ".zst")
FIRST_FRAME = "the first frame is not exactly one header line"


@dataclass(frozen=True, slots=True)
class Listed:
    """A log in a store, as its header names it; `problem` is why it cannot be read, else empty."""

    path: Path
    session_id: str = ""
    parent_id: str = ""
    is_subagent: bool = False
    problem: str = ""


def home(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the agent's folder: DSH_HOME, else `.dsh` in the user's home, on every platform."""
    return Path(environ.get("DSH_HOME") or Path.home() / ".dsh").expanduser()


def home_of(path: Path) -> Path | None:
    """Return the agent's folder that a log stands in, None where it stands elsewhere."""
    places = path.absolute().parents
    return places[3] if len(places) > 3 and places[2].name == "sessions" else None


def version_for(path: Path) -> str:
    """The format that a log's name asks for: "" for the one that the session has."""
    return VERSION if path.name.endswith((f".v{VERSION}.jsonl", *SUFFIXES)) else ""


def name_for(written: Written, output: Path) -> str:
    """The name of a sub-agent's log beside that of its session."""
    return encode_segment(written.session_id) + output.name[output.name.find(".") :]


def read_lines(path: Path) -> list[bytes]:
    """Return the lines of a log, plain or compressed; the last may be torn. Raises UnreadableContainer."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UnreadableContainer(f"{path} cannot be read: {error.strerror or 'no reason given'}.") from None
    if is_compressed(path):
        unpacked = list(frames(raw))
        if not any(frame.content for frame in unpacked):
            raise UnreadableContainer(f"{path} is no log of DeepSeek Harness: {unpacked[0].problem or 'it holds nothing'}.")
        raw = b"".join(frame.content for frame in unpacked)
    return _lines(raw)


def tears(path: Path) -> list[str]:
    """Return what of a compressed log could not be unpacked."""
    return [f"{path.name}: {frame.problem}" for frame in frames(path.read_bytes()) if frame.problem] if is_compressed(path) else []


def packed(lines: Sequence[bytes]) -> bytes:
    """Return a log's lines as two frames: the header's, and that of all events."""
    return pack([lines[0], b"".join(lines[1:])])


def frame_problems(raw: bytes) -> list[str]:
    """Return what the agent would refuse in how a compressed log is packed."""
    unpacked = list(frames(raw))
    found = [frame.problem for frame in unpacked if frame.problem]
    first = unpacked[0].content if unpacked else b""
    is_one_line = first.count(b"\n") == 1 and first.endswith(b"\n")
    return found if is_one_line else [*found, FIRST_FRAME]


def write_log(path: Path, lines: Sequence[bytes]) -> None:
    """Write a log as what the name says: `.zstd` or `.zst` compressed, else plain."""
    put(path, packed(lines) if path.name.endswith(SUFFIXES) else b"".join(lines))


def logs_in(folder: Path) -> Iterator[Listed]:
    """Yield the newest log of each session of an agent's folder, oldest first; where one cannot be read, why."""
    logs = [log for place in (folder / "sessions").glob("*/*/") if (log := newest(place))]
    for log in sorted(logs, key=lambda path: path.stat().st_mtime):
        yield _listed(log)


def _listed(path: Path) -> Listed:
    try:
        first = read_lines(path)[:1]
    except UnreadableContainer as error:
        return Listed(path, problem=error.detail)
    header = parse_line(first[0].rstrip(b"\n")).value if first else None
    if not isinstance(header, dict) or not is_header(header):
        return Listed(path, problem=f"{path} is no log of DeepSeek Harness: its first line is no header.")
    return Listed(path, text_of(header, "id"), text_of(header, "parentSession"), header.get("origin") == "subagent")


def newest(place: Path) -> Path | None:
    """The log of a session's folder that is of the newest format."""
    logs = [path for path in place.glob("session*.jsonl*") if path.name.endswith((".jsonl", ".zstd"))]
    return max(logs, key=_generation, default=None)


def _generation(path: Path) -> int:
    digits = path.name.removeprefix("session.v").partition(".")[0]
    return int(digits) if digits.isdigit() else 0


def _lines(text: bytes) -> list[bytes]:
    """The lines, cut at line feeds alone."""
    parts = text.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
