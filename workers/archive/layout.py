"""Layout of the archive: which file holds what, and what a session's files become when more is added. Pure.

A session has three streams of JSON lines, each cut into segments that are never touched again once they are full:

    sessions/<xx>/<session>.0001.jsonl   its own messages, as a reader gets them, one a line
    events/<xx>/<session>.0001.jsonl     beside each of them (and for native records) what a message does not say
    snapshots/<xx>/<session>.0001.jsonl  the snapshots taken of it

and one card, meta/<xx>/<session>.json, which says what the session is and how far it is archived. <xx> are the last two hex
digits of its id: a flat folder of 100,000 sessions would be written anew, whole, with every commit.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from eventstore.wire.codec import Number, dump, parse, quote

SEGMENT_LINES_MAX = 256
SEGMENT_BYTES_MAX = 1024 * 1024
STREAMS = ("sessions", "events", "snapshots")
_line_end = re.compile(rb"[\r\n]+")


@dataclass(frozen=True, slots=True)
class Tail:
    """How far a stream is: its segments, and what the last of them holds."""

    segments: int = 0
    lines: int = 0  # in the last segment
    bytes: int = 0
    last_seq: int = 0


@dataclass(frozen=True, slots=True)
class Card:
    """What is archived of a session beside its lines: the facts of its creation, its meta, and how far its streams are."""

    session_id: str
    project_id: str
    seq: int
    append_id: str
    created_at: str
    meta: Any
    meta_seq: int
    parent: dict[str, Any] | None = None  # {session_id, snapshot_id, up_to_seq}
    deleted: dict[str, Any] | None = None  # {seq, reason, created_at}
    tails: dict[str, Tail] = field(default_factory=dict)

    def to_json(self) -> bytes:
        """Return the card's file: a member a line, its meta in the spelling it has in the log."""
        members = {**{name: getattr(self, name) for name in self.__slots__}, "tails": {k: asdict(v) for k, v in self.tails.items()}}
        return ("{\n" + ",\n".join(f" {quote(name)}: {dump(value)}" for name, value in members.items()) + "\n}\n").encode()

    @staticmethod
    def from_json(text: bytes) -> "Card":
        """Return the card that a file holds. Raises InvalidJson, or KeyError and TypeError, for one that is none."""
        known = {**parse(text.decode())}
        meta, tails = known.pop("meta"), plain(known.pop("tails"))
        return Card(**plain(known), meta=meta, tails={name: Tail(**tail) for name, tail in tails.items()})


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a stream, without its end, and the seq of what it is about."""

    seq: int
    text: bytes


def plain(value: Any) -> Any:
    """Return a parsed value with its numbers as integers."""
    if isinstance(value, Number):
        return value.as_int()
    return {k: plain(v) for k, v in value.items()} if isinstance(value, dict) else value


def folder_of(session_id: str) -> str:
    """Return the two hex digits that name a session's folder."""
    digits = re.sub(r"[^0-9a-f]", "", session_id)
    return digits[-2:].rjust(2, "0")


def card_path(session_id: str) -> tuple[str, str, str]:
    """Return where a session's card lies: top folder, folder, file."""
    return "meta", folder_of(session_id), f"{session_id}.json"


def segment_name(session_id: str, number: int) -> str:
    """Return the name of a segment's file, numbered from 1."""
    return f"{session_id}.{number:04d}.jsonl"


def one_line(json_text: bytes) -> bytes:
    """Return JSON without line breaks: they stand between tokens only, where a space means the same."""
    return _line_end.sub(b" ", json_text)


def grow(tail: Tail, last_segment: bytes, lines: Iterable[Line]) -> tuple[Tail, dict[int, bytes]]:
    """Add lines to a stream. Returns the new tail, and the segments that change or come, by number, whole.

    `last_segment`: what the last segment holds now, b"" for a stream that is empty.
    """
    changed: dict[int, bytes] = {}
    number, count, parts, size, last_seq = tail.segments, tail.lines, [last_segment], tail.bytes, tail.last_seq
    for line in lines:
        if number == 0 or count >= SEGMENT_LINES_MAX or (count and size + len(line.text) + 1 > SEGMENT_BYTES_MAX):
            if number in changed:
                changed[number] = b"".join(parts)
            number, count, parts, size = number + 1, 0, [], 0
        parts += [line.text, b"\n"]
        count, size, last_seq = count + 1, size + len(line.text) + 1, line.seq
        changed[number] = b""
    if number in changed:
        changed[number] = b"".join(parts)
    return Tail(number, count, size, last_seq), changed


def cut(tail: Tail, segments: Iterator[tuple[int, bytes]], up_to_seq: int) -> tuple[Tail, dict[int, bytes | None]]:
    """Take lines with seq > `up_to_seq` off a stream's end. `segments`: from the last one down, until enough is seen.

    Returns the new tail and the segments that change, None for one that goes.
    """
    changed: dict[int, bytes | None] = {}
    for number, text in segments:
        kept = [line for line in text.split(b"\n") if line and json.loads(line)["seq"] <= up_to_seq]
        if not kept:
            changed[number] = None
            continue
        whole = b"".join(line + b"\n" for line in kept)
        if whole != text:
            changed[number] = whole
        return Tail(number, len(kept), len(whole), json.loads(kept[-1])["seq"]), changed
    return Tail(), changed


README = """\
# A Tasuki archive

Sessions of coding agents, as a Tasuki hub kept them. Each commit on `main` is a snapshot of one session; each snapshot has a tag,
`snapshot-<n>`.

- `sessions/<xx>/<session>.0001.jsonl`, `.0002.jsonl` …: the session's own messages, one JSON object a line, in order of `seq`.
- `events/…`: when the hub wrote each, its append id, and what the agent's own format needs (`native`).
- `snapshots/…`: the snapshots taken of it.
- `meta/<xx>/<session>.json`: project, meta, and where it was forked from (`parent`).

`<xx>` are the last two hex digits of the session's id.

Read a session: `cat sessions/*/<session>.*.jsonl | jq -r '"\\(.seq) \\(.role): \\(.content)"'`
What a snapshot added: `git show snapshot-<n>`; between two: `git diff snapshot-<a> snapshot-<b> -- 'sessions/*/<session>.*'`
A fork holds its own messages; what it inherits are its parent's lines with `seq` up to `parent.up_to_seq`, and so on up.

Restore a hub from this repository alone: `tasuki restore --from <this repository>`.
"""
