"""Outputs of tools that were too long for the transcript: files beside it, `<session>/tool-results/*`, of which it keeps a stub.

The message stays what the model saw, the stub; the file is a native record, whole, and a file again on the way home. A large one is
cut into parts, so that each fits a request.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from adapters.claude_code.records import AGENT
from adapters.conversion import Conversion, Json, Message, NativeRecords
from adapters.report import Report
from eventstore.wire.codec import Number

FOLDER = "tool-results"
PART_CHARS = 1024 * 1024
KEPT = (
    "the output of a tool, beside the transcript: whole in the hub, a file again at home; the message says what the model saw of it"
)
UNREADABLE = "a part of a file that is not whole, or whose name leads elsewhere"
_name = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}", re.ASCII)

File = tuple[str, bytes]  # its name in the folder, its bytes


def with_files(conversion: Conversion, files: Sequence[File]) -> Conversion:
    """Return a transcript's conversion with the files beside it: told in the report, kept before all other native records."""
    if not files:
        return conversion
    line = max((message.line for message in conversion.messages), default=0) + 1
    natives = [*natives_of(files, conversion.version, line), *conversion.natives]
    entries: tuple[Message | NativeRecords, ...] = (*conversion.messages, *natives)
    return replace(conversion, entries=entries, report=told_in(conversion.report, files))


def natives_of(files: Sequence[File], version: str, line: int) -> list[NativeRecords]:
    """Return the native records of files. `line`: where they are said to stand, behind all messages."""
    return [native for name, content in files for native in _natives(name, content, version, line)]


def told_in(report: Json, files: Sequence[File]) -> Json:
    """Return the report of a transcript that has these files beside it."""
    if not files:
        return report
    counts = {"found": len(files), "converted": 0, "degraded": 0, "kept_native": len(files), "dropped": 0}
    told = {"path": f"files/{FOLDER}", "reason": KEPT, "count": len(files), "example": files[0][0][:100]}
    return report | {"counts": report["counts"] | {"files": counts}, "kept_native": [*report["kept_native"], told]}


def is_file(record: Any) -> bool:
    """Is it a native record of such a file?"""
    return isinstance(record, dict) and isinstance(record.get("file"), str)


def files_of(records: Iterable[Json], report: Report) -> list[File]:
    """Return the files that records hold, and count them. Of a file that was kept twice, the newest counts."""
    parts: dict[str, dict[int, Json]] = {}
    for record in records:
        if _number(record, "part") == 0:
            parts[record["file"]] = {}
        parts.setdefault(record["file"], {})[_number(record, "part")] = record
    files: list[File] = []
    for name, held in parts.items():
        report.found("files")
        content = _content(held)
        if content is None or not _name.fullmatch(name):
            report.note("dropped", f"files/{FOLDER}", UNREADABLE, name[:100])
        else:
            report.converted("files")
            files.append((name, content))
    return files


def beside(transcript: str, files: Sequence[File]) -> tuple[File, ...]:
    """Return the files, each named by its place beside the transcript of this path."""
    return tuple((f"{transcript.removesuffix('.jsonl')}/{FOLDER}/{name}", content) for name, content in files)


def _natives(name: str, content: bytes, version: str, line: int) -> list[NativeRecords]:
    try:
        key, text = "text", content.decode("utf-8")
    except UnicodeDecodeError:
        key, text = "base64", b64encode(content).decode("ascii")
    pieces = [text[at : at + PART_CHARS] for at in range(0, len(text), PART_CHARS)] or [""]
    digest = sha256(name.encode("utf-8", "surrogatepass") + b"\n" + content).hexdigest()[:32]
    return [
        NativeRecords(
            {
                "agent": AGENT,
                "version": version or "unknown",
                "records": [{"file": name, "part": part, "parts": len(pieces), key: piece}],
                "append_id": f"{AGENT}:file:{digest}:{part}",
            },
            (line,),
        )
        for part, piece in enumerate(pieces)
    ]


def _content(held: Mapping[int, Json]) -> bytes | None:
    count = _number(held[0], "parts") if 0 in held else 0
    if sorted(held) != list(range(count)) or not count:
        return None
    key = "text" if "text" in held[0] else "base64"
    pieces = [held[part].get(key) for part in range(count)]
    whole = "".join(piece for piece in pieces if isinstance(piece, str))
    try:
        return whole.encode("utf-8", "surrogatepass") if key == "text" else b64decode(whole, validate=True)
    except ValueError:
        return None


def _number(record: Json, key: str) -> int:
    value = record.get(key, 0)
    found = value.as_int() if isinstance(value, Number) else value
    return found if isinstance(found, int) else 0
