"""Cuts: what is taken out of a text, and where that is in the source of the JSON around it. Pure.

A string's value and its source differ by escapes. A cut is made in the source, between whole characters of the value, so that
nothing else is written anew; a marker needs no escape, at whatever depth of JSON within JSON it comes to stand.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from eventstore.redact_places import MEDIA
from eventstore.wire.codec import StringToken, strings

REMAINDER_CHARS_MIN = 6  # of a hit that a marker cuts in two: what is still worth taking out
BACKSLASHES_SEEN = 64


class Cut(NamedTuple):
    """What is taken out of a text, and what comes in its place."""

    start: int
    end: int
    rule: str
    instead: str


def without(text: str, cuts: list[Cut]) -> str:
    """The text after the cuts, which stand in order and do not overlap."""
    parts: list[str] = []
    at = 0
    for cut in cuts:
        parts += (text[at : cut.start], cut.instead)
        at = cut.end
    return "".join(parts) + text[at:]


def at_source(text: str, token: StringToken, cuts: list[Cut]) -> list[Cut]:
    """The cuts of a string's value as cuts of the JSON text that the string stands in."""
    places: list[int] = []  # in the value, of each escape; and how much longer the source is after it
    longer: list[int] = [0]
    for match in _escape.finditer(text, token.start + 1, token.end - 1):
        places.append(match.start() - token.start - 1 - longer[-1])
        longer.append(longer[-1] + match.end() - match.start() - 1)

    def source(at: int) -> int:
        return token.start + 1 + at + longer[bisect_left(places, at)]

    return [cut._replace(start=source(cut.start), end=source(cut.end)) for cut in cuts]


def within_escapes(text: str, start: int, end: int) -> tuple[int, int]:
    """A hit without half an escape of the JSON or program that the text may be a piece of: `\\n`, `\\u0041`, `\\"`."""
    before = text[max(0, start - BACKSLASHES_SEEN) : start]
    if (len(before) - len(before.rstrip("\\"))) % 2 and text[start] in "bfnrtu\"'\\/":
        start += 5 if text[start] == "u" else 1
    while end > start and text[end - 1] in "\\\"'":
        end -= 1
    return start, end


def kept_spans(text: str) -> list[tuple[int, int]]:
    """Where markers and data: URLs stand, in order: no hit reaches into them."""
    spans = [match.span() for match in _marker.finditer(text)] if "[redacted:" in text else []
    spans += [match.span() for match in MEDIA.finditer(text)] if ";base64," in text else []
    return sorted(spans)


def around(kept: list[tuple[int, int]], start: int, end: int) -> Iterator[tuple[int, int]]:
    """What is left of a hit around what is kept; what that leaves of it must still be worth taking out."""
    at = start
    for number in range(max(0, bisect_right(kept, (start, 0)) - 1), len(kept)):
        kept_start, kept_end = kept[number]
        if kept_start >= end:
            break
        if kept_end > start:
            if kept_start - at >= REMAINDER_CHARS_MIN:
                yield at, kept_start
            at = kept_end
    if end - at >= (1 if at == start else REMAINDER_CHARS_MIN):
        yield at, end


def unique_keys(text: str, renamed: list[tuple[StringToken, list[Cut]]]) -> dict[int, str]:
    """Markers with a number, by the end of a key's last cut in the text, for keys that would stand twice in their object."""
    own = {token.start for token, _ in renamed}
    objects = {token.path[:-1] for token, _ in renamed}
    names = {(t.path[:-1], t.value) for t in strings(text) if t.is_key and t.start not in own and t.path[:-1] in objects}
    numbers: dict[tuple[object, str], int] = {}
    numbered: dict[int, str] = {}
    for token, cuts in renamed:
        place, name = token.path[:-1], without(token.value, cuts)
        number = numbers.get((place, name), 1)
        unique = name
        while (place, unique) in names:
            number += 1
            instead = f"{cuts[-1].instead}-{number}"
            unique = without(token.value, [*cuts[:-1], cuts[-1]._replace(instead=instead)])
            numbered[at_source(text, token, cuts)[-1].end] = instead
        numbers[place, name] = number
        names.add((place, unique))
    return numbered


_marker = re.compile(r"\[redacted:[a-z0-9_.-]{1,64}\](?:-\d{1,6}(?![\w-]))?")
_escape = re.compile(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL)
