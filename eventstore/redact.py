"""Redact: take secrets out of a JSON text before anything else sees it; every other byte stays as it came.

Rule 1: what has not been through here cannot be stored: the log takes only `Redacted`, and only this file makes one.
Rule 2: an exempt place is known by where it stands in a standard message, or by its key and its form together, never by its key.
Rule 3: cleaning twice is cleaning once: a `[redacted:…]` is never looked into, and a text is clean when nothing more is found.
Rule 4: what is found is cut out of the source text: no string is written anew, and JSON within a string stays JSON.

What a secret looks like is in `redact_rules.py`; beside it runs the package redact-secret, where there is one. Pure, linear.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import InitVar, dataclass
from json import JSONDecoder
from types import MappingProxyType
from typing import NamedTuple, final

from eventstore.errors import InvalidSettings
from eventstore.redact_places import MEDIA, MESSAGE, NATIVE, NOTHING, Exempt, is_media
from eventstore.redact_rules import FORMAT, PLACE, Hit, find, is_stand_in
from eventstore.redact_values import is_no_value, is_wordy, member
from eventstore.wire.codec import StringToken, strings

__all__ = ["MESSAGE", "NATIVE", "NOTHING", "Exempt", "Redacted", "Redactor"]

try:
    import redact_secret
except ImportError:  # no wheel of it for this platform: our own rules are complete
    HAS_PACKAGE = False
else:
    HAS_PACKAGE = True

PASSES_MAX = 4  # what is left between two markers may look like a secret once they are there
JSON_IN_JSON_MAX = 6  # strings that are JSON with strings that are JSON …: each level doubles the backslashes
WINDOW_CHARS, OVERLAP_CHARS = 4096, 512  # the package takes minutes for 1 MiB of some texts, so it gets a window at a time
TEXT_CHARS_MIN = 10  # `pwd=abc123`: nothing shorter tells by itself that it is a secret
REMAINDER_CHARS_MIN = 6  # of a hit that a marker cuts in two: what is still worth taking out

_SEAL = object()


@final
@dataclass(frozen=True, slots=True)
class Redacted:
    """A JSON text without what the rules take for secrets, and how often each rule hit. Only a `Redactor` makes one."""

    text: str
    hits: Mapping[str, int]
    seal: InitVar[object] = None

    def __post_init__(self, seal: object) -> None:
        if seal is not _SEAL:
            raise TypeError("Only a Redactor makes Redacted: clean the text.")

    def __reduce__(self) -> str:
        raise TypeError("Redacted is not pickled: it would be made by something else than a Redactor.")


_marker = re.compile(r"\[redacted:[a-z0-9_.-]{1,64}\](?:-\d{1,6}(?![\w-]))?")
_escape = re.compile(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL)
_lenient = JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)


class _Cut(NamedTuple):
    """What is taken out of a text, and what comes in its place."""

    start: int
    end: int
    rule: str
    instead: str


class Redactor:
    """Cleans texts. One for the whole process: it keeps nothing of what it saw, and may be called from any thread.

    `allow`: what is never taken out: patterns that match a whole secret, or the very secret. Raises InvalidSettings.
    `package`: whether redact-secret is asked too; our own rules always are.
    """

    def __init__(self, enabled: bool = True, allow: Collection[str] = (), *, package: bool = HAS_PACKAGE) -> None:
        self._enabled = enabled
        self._literals = frozenset(allow)
        self._allowed = [_pattern(number, entry) for number, entry in enumerate(allow, 1)]
        self._package = package and HAS_PACKAGE

    def clean(self, text: str, exempt: Exempt = NOTHING) -> Redacted:
        """Return a well-formed JSON text with `[redacted:<rule>]` for each secret in its strings and keys, counted by rule."""
        cleaned, hits = self._clean(text, lambda json: self._in_json(json, exempt, 0))
        return Redacted(cleaned, MappingProxyType(hits), _SEAL)

    def clean_text(self, text: str) -> tuple[str, dict[str, int]]:
        """Return a plain text without secrets, and how often each rule hit."""
        return self._clean(text, lambda plain: self._in_string(plain, NOTHING, 0))

    def _clean(self, text: str, look: Callable[[str], list[_Cut]]) -> tuple[str, dict[str, int]]:
        hits: dict[str, int] = {}
        for _ in range(PASSES_MAX if self._enabled else 0):
            cuts = look(text)
            if not cuts:
                break
            text = _without(text, cuts)
            for cut in cuts:
                hits[cut.rule] = hits.get(cut.rule, 0) + 1
        return text, hits

    def _in_json(self, text: str, exempt: Exempt, depth: int) -> list[_Cut]:
        """What to cut out of a JSON text: at places in the text, in order."""
        cuts: list[_Cut] = []
        renamed: list[tuple[StringToken, list[_Cut]]] = []
        clean_keys: set[str] = set()
        for token in strings(text):
            if token.is_key:
                found = [] if token.value in clean_keys else self._in_string(token.value, exempt, JSON_IN_JSON_MAX)
                if found:
                    renamed.append((token, found))
                else:
                    clean_keys.add(token.value)
            else:
                found = self._in_value(token, exempt, depth)
            if found:
                cuts += _at_source(text, token, found)
        if renamed:
            instead = _unique_keys(text, renamed)
            cuts = [cut._replace(instead=instead.get(cut.end, cut.instead)) for cut in cuts]
        return cuts

    def _in_value(self, token: StringToken, exempt: Exempt, depth: int) -> list[_Cut]:
        value = token.value
        key = token.path[-1] if token.path else None
        if len(value) > WINDOW_CHARS and exempt.covers(token.path, value):
            return []
        rule = member(key, value) if isinstance(key, str) else None
        cuts = self._merged(value, [Hit(0, len(value), rule, FORMAT)]) if rule else self._in_string(value, exempt, depth)
        return [] if cuts and exempt.covers(token.path, value) else cuts

    def _in_string(self, value: str, exempt: Exempt, depth: int) -> list[_Cut]:
        """What to cut out of a string: each string of the JSON that it is, else the plain text."""
        if len(value) < TEXT_CHARS_MIN or is_media(value):
            return []
        if depth < JSON_IN_JSON_MAX and _is_json(value):
            return self._in_json(value, Exempt(by_form=exempt.by_form), depth + 1)
        hits = [*find(value), *(_of_package(value) if self._package else ())]
        return self._merged(value, hits) if hits else []

    def _merged(self, text: str, hits: Iterable[Hit]) -> list[_Cut]:
        """Hits that overlap are one, by the name of the rule that says most; markers and media are left as they stand."""
        merged: list[Hit] = []
        for hit in sorted(hit for hit in hits if not self._is_allowed(text[hit.start : hit.end])):
            if merged and hit.start < merged[-1].end:
                last = merged[-1]
                best = min(last, hit, key=lambda one: one.rank)
                merged[-1] = Hit(last.start, max(last.end, hit.end), best.rule, best.rank)
            else:
                merged.append(hit)
        kept = _kept(text) if merged else []
        return [
            _Cut(start, end, hit.rule, f"[redacted:{hit.rule}]")
            for hit in merged
            for start, end in _around(kept, *_within_escapes(text, hit.start, hit.end))
            if not self._is_allowed(text[start:end])
        ]

    def _is_allowed(self, secret: str) -> bool:
        return secret in self._literals or any(pattern.fullmatch(secret) for pattern in self._allowed)


def _pattern(number: int, entry: str) -> re.Pattern[str]:
    try:
        return re.compile(entry)
    except re.error as error:
        raise InvalidSettings(f"Entry {number} of the redaction allowlist is no pattern: {error.msg}.") from None


def _of_package(text: str) -> Iterator[Hit]:
    """What the package finds, without what touches a window's inner edge: the next window shows it whole."""
    for at in range(0, max(1, len(text) - OVERLAP_CHARS), WINDOW_CHARS - OVERLAP_CHARS):
        window = text[at : at + WINDOW_CHARS]
        for finding in _scan(window):
            start, end = at + finding.start, at + finding.end
            whole = (finding.start > 0 or at == 0) and (finding.end < len(window) or end == len(text))
            if whole and not _is_harmless(finding.type, text[start:end]):
                yield Hit(start, end, *_names.get(finding.type, (finding.type, FORMAT + 1)))


def _scan(window: str) -> list["redact_secret.Finding"]:
    try:
        found = redact_secret.scan(window)
    except redact_secret.InvalidInputError:  # a lone surrogate is no UTF-8
        found = redact_secret.scan(_surrogate.sub("\ufffd", window))
    return [finding for finding in found if finding.action in {"redact", "block"}]


_surrogate = re.compile("[\ud800-\udfff]")
# Where it finds by what stands around, as our own rules do: our name for it, and how much the name says.
_names = {
    "contextual_secret": ("secret", PLACE + 3),
    "bearer_token": ("bearer_token", PLACE + 1),
    "authorization_credential": ("authorization", PLACE + 1),
    "connection_string_password": ("url_password", PLACE + 1),
    "private_key": ("private_key", PLACE),
    "jwt": ("jwt", PLACE),
}


def _is_harmless(kind: str, found: str) -> bool:
    """Whether it stands in for a secret; of what has no form of its own our rules also want more than words."""
    if kind not in _names:
        return is_stand_in(found)
    return kind not in {"private_key", "jwt"} and (is_no_value(found) or (kind == "contextual_secret" and is_wordy(found)))


def _is_json(value: str) -> bool:
    """Whether a string is a JSON object, array or string; a broken or a very deep one is plain text."""
    inner = value.strip(" \t\r\n")
    if inner[:1] + inner[-1:] not in {"{}", "[]", '""'}:
        return False
    try:
        return _lenient.raw_decode(inner)[1] == len(inner)
    except (ValueError, RecursionError):
        return False


def _within_escapes(text: str, start: int, end: int) -> tuple[int, int]:
    """A hit without half an escape of the JSON, shell or program that the text may be a piece of: `\\n`, `\\u0041`, `\\"`."""
    before = text[max(0, start - 16) : start]
    if (len(before) - len(before.rstrip("\\"))) % 2 and text[start] in "bfnrtu\"'\\/":
        start += 5 if text[start] == "u" else 1
    while end > start and text[end - 1] in "\\\"'":
        end -= 1
    return start, end


def _kept(text: str) -> list[tuple[int, int]]:
    """Where markers and data: URLs stand, in order."""
    spans = [match.span() for match in _marker.finditer(text)] if "[redacted:" in text else []
    spans += [match.span() for match in MEDIA.finditer(text)] if ";base64," in text else []
    return sorted(spans)


def _around(kept: list[tuple[int, int]], start: int, end: int) -> Iterator[tuple[int, int]]:
    """What is left of a hit around what is kept, where that cuts it as far as it is worth taking out."""
    at = start
    cut = False
    for kept_start, kept_end in kept[max(0, bisect_right(kept, (start, 0)) - 1) :]:
        if kept_start >= end:
            break
        if kept_end <= start:
            continue
        if kept_start - at >= REMAINDER_CHARS_MIN:
            yield at, kept_start
        at, cut = kept_end, True
    if end > at and (not cut or end - at >= REMAINDER_CHARS_MIN):
        yield at, end


def _at_source(text: str, token: StringToken, cuts: list[_Cut]) -> list[_Cut]:
    """The cuts of a string's value as cuts of the text that the string stands in, escapes and all."""
    values: list[int] = []  # place in the value of each escape, and how much longer the source is after it
    longer: list[int] = [0]
    for match in _escape.finditer(text, token.start + 1, token.end - 1):
        values.append(match.start() - token.start - 1 - longer[-1])
        longer.append(longer[-1] + match.end() - match.start() - 1)

    def place(at: int) -> int:
        return token.start + 1 + at + longer[bisect_left(values, at)]

    return [cut._replace(start=place(cut.start), end=place(cut.end)) for cut in cuts]


def _without(text: str, cuts: list[_Cut]) -> str:
    parts: list[str] = []
    at = 0
    for cut in cuts:
        parts += (text[at : cut.start], cut.instead)
        at = cut.end
    return "".join(parts) + text[at:]


def _unique_keys(text: str, renamed: list[tuple[StringToken, list[_Cut]]]) -> dict[int, str]:
    """Markers with a number, by the end of the key's last cut in the text, for keys that would stand twice in their object."""
    places = {token.start for token, _ in renamed}
    objects = {token.path[:-1] for token, _ in renamed}
    names = {(t.path[:-1], t.value) for t in strings(text) if t.is_key and t.start not in places and t.path[:-1] in objects}
    numbered: dict[int, str] = {}
    last: dict[tuple[object, str], int] = {}
    for token, cuts in renamed:
        place, name = token.path[:-1], _without(token.value, cuts)
        number = last.get((place, name), 1)
        while (place, name) in names:
            number += 1
            last[place, _without(token.value, cuts)] = number
            instead = f"{cuts[-1].instead}-{number}"
            name = _without(token.value, [*cuts[:-1], cuts[-1]._replace(instead=instead)])
            numbered[_at_source(text, token, cuts)[-1].end] = instead
        names.add((place, name))
    return numbered
