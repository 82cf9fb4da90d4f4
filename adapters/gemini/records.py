"""A session's file: a line of JSON each, or, from older versions, one JSON document; and the few facts about a record.

Written from Gemini CLI 0.61.0 (google-gemini/gemini-cli, 2026). A line is one of: a header (`sessionId`, `projectHash`, …), a
message (`id`, `type`, `content`, …), `{"$set": {…}}`, `{"$rewindTo": id}`. What a log of them means is told in `log`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from adapters.conversion import Json
from adapters.json_lines import NOT_JSON, NOT_UTF8, TORN, Parsed, bare_size, parse_line
from adapters.values import text_of

AGENT = "gemini"
VERSION = "jsonl"  # the log that 0.61 writes; files do not name the version that wrote them
LEGACY = "json"  # the one document of older versions
MESSAGE_TYPES = ("user", "gemini")  # tuples: what stands in a record may be anything, also what has no hash
SHOWN_TYPES = ("info", "error", "warning")  # for the screen: no model is sent them

SUMMARY = "<state_snapshot>"  # what a compression wrote
CONTEXT = ("<session_context>", "<hook_context>")  # the harness's own; not sent again on resume
# What JavaScript's trim takes away.
BLANKS = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
)

_BOM = b"\xef\xbb\xbf"
_directories = re.compile(r"\*\*Workspace Directories:\*\*\n\s*- ([^\n]+)")


@dataclass(frozen=True, slots=True)
class Line:
    """A line, read. `problem` is empty for an object."""

    number: int  # from 1
    raw: bytes  # without its line end
    parsed: Parsed

    @property
    def problem(self) -> str:
        return self.parsed.problem

    @property
    def record(self) -> Json:
        """Its object; an empty one where it has none."""
        return self.parsed.value if isinstance(self.parsed.value, dict) else {}


@dataclass(frozen=True, slots=True)
class File:
    """A session's lines. `is_document`: the whole of it is one JSON text, and stands as one line."""

    lines: list[Line]
    is_document: bool = False
    has_bom: bool = False
    has_crlf: bool = False


def read_file(lines: Iterable[bytes]) -> File:
    """Read a file's lines, with or without their line ends. Never raises."""
    given = list(lines)
    has_bom = bool(given) and given[0].startswith(_BOM)
    if has_bom:
        given[0] = given[0].removeprefix(_BOM)
    has_crlf = any(raw.endswith(b"\r\n") for raw in given)
    read = [Line(number, raw := whole[: bare_size(whole)], parse_line(raw)) for number, whole in enumerate(given, 1)]
    if len(read) > 1 and read[0].problem and (document := _document(given)):
        return File([document], True, has_bom, has_crlf)
    if read and read[-1].problem in (NOT_JSON, NOT_UTF8) and not given[-1].endswith(b"\n"):
        read[-1] = Line(read[-1].number, read[-1].raw, read[-1].parsed._replace(problem=TORN))
    return File(read, len(read) == 1 and is_document(read[0].record), has_bom, has_crlf)


def is_document(record: Json) -> bool:
    """Is it what older versions wrote: a whole session in one object?"""
    return isinstance(record.get("sessionId"), str) and isinstance(record.get("messages"), list)


def is_header(record: Json) -> bool:
    return isinstance(record.get("sessionId"), str) and isinstance(record.get("projectHash"), str)


def kind_of(record: Json) -> str:
    """What a record is, in the order in which the agent itself asks; "" for one that it passes over."""
    if isinstance(record.get("$rewindTo"), str):
        return "$rewindTo"
    if isinstance(record.get("id"), str):
        return "message"
    if isinstance(record.get("$set"), dict):
        return "$set"
    return "header" if is_header(record) or is_document(record) else ""


def items_of(record: Json) -> list[Any]:
    """The messages that a `$set` or a header sets anew; none where it sets none."""
    holder = record.get("$set", record)
    messages = holder.get("messages") if isinstance(holder, dict) else None
    return messages if isinstance(messages, list) else []


def parts_of(content: Any) -> list[Any]:
    """A content's parts: those of a list, a string, or the one that it is."""
    if isinstance(content, list):
        return content
    return [content] if isinstance(content, dict) or (isinstance(content, str) and content) else []


def part_text(part: Any) -> str:
    return part if isinstance(part, str) else text_of(part, "text") if isinstance(part, dict) else ""


def plain_text(content: Any) -> str:
    """The texts of a content, one behind the other, as the agent reads them."""
    return "".join(map(part_text, parts_of(content)))


def is_context(record: Json) -> bool:
    """Is it the harness's own text in a user's record?"""
    return record.get("type") == "user" and plain_text(record.get("content")).strip(BLANKS).startswith(CONTEXT)


def is_summary(record: Json) -> bool:
    """Is it what a compression wrote in place of what was said before?"""
    return record.get("type") == "user" and plain_text(record.get("content")).lstrip(BLANKS).startswith(SUMMARY)


def is_thought(part: Any) -> bool:
    return isinstance(part, dict) and bool(part.get("thought"))


def member(part: Any, name: str) -> Json | None:
    """An object that a part holds under this name."""
    value = part.get(name) if isinstance(part, dict) else None
    return value if isinstance(value, dict) else None


def calls_in(content: Any) -> Iterator[tuple[int, Json]]:
    """Yield the calls that stand in a content, each with the place of its part."""
    for place, part in enumerate(parts_of(content)):
        call = member(part, "functionCall")
        if call is not None:
            yield place, call


def tool_calls_of(record: Json) -> list[Any]:
    calls = record.get("toolCalls")
    return calls if isinstance(calls, list) else []


def workspace_of(record: Json) -> str:
    """The first directory that a session's context names."""
    found = _directories.search(plain_text(record.get("content"))) if is_context(record) else None
    return found[1] if found else ""


def _document(given: list[bytes]) -> Line | None:
    raw = b"".join(given).strip()
    parsed = parse_line(raw)
    return Line(1, raw, parsed) if not parsed.problem and is_document(parsed.value) else None
