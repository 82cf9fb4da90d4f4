"""Redact: take secrets out of a JSON text before anything else sees it; every other byte stays as it came.

Rule 1: what has not been through here cannot be stored: the log takes only `Redacted`, and only this file makes one.
Rule 2: an exempt place is known by where it stands in a standard message, or by its key and its form together, never by its key.
Rule 3: cleaning twice is cleaning once: a `[redacted:…]` is never looked into, and a text is clean when nothing more is found.
Rule 4: what is found is cut out of the source text: no string is written anew, and JSON within a string stays JSON.

What a secret looks like is in `redact_rules.py`; beside it runs the package redact-secret, where there is one. Pure, linear.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import InitVar, dataclass
from json import JSONDecoder
from types import MappingProxyType
from typing import final

from eventstore.errors import InvalidSettings
from eventstore.redact_cuts import Cut, around, at_source, kept_spans, unique_keys, within_escapes, without
from eventstore.redact_places import MESSAGE, NATIVE, NOTHING, Exempt, is_media, is_moment
from eventstore.redact_rules import FORMAT, PLACE, Hit, find, is_stand_in
from eventstore.redact_values import is_no_value, is_value, may_name_a_secret, member
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

    def clean_string(self, value: str, path: tuple[str | int, ...], exempt: Exempt = NOTHING) -> tuple[str, dict[str, int]]:
        """Return one string of a JSON value as `clean` leaves it in the value's text, and how often each rule hit.

        For strings so long that a text around them would be too much. `path`: the keys and indexes that lead to it.
        """
        name = path[-1] if path and isinstance(path[-1], str) else ""
        return self._clean(value, lambda text: self._in_value(path, text, name, exempt, 0))

    def clean_text(self, text: str) -> tuple[str, dict[str, int]]:
        """Return a plain text without secrets, and how often each rule hit."""
        return self._clean(text, lambda plain: self._in_string(plain, NOTHING, 0))

    def _clean(self, text: str, look: Callable[[str], list[Cut]]) -> tuple[str, dict[str, int]]:
        hits: dict[str, int] = {}
        for _ in range(PASSES_MAX if self._enabled else 0):
            cuts = look(text)
            if not cuts:
                break
            text = without(text, cuts)
            for cut in cuts:
                hits[cut.rule] = hits.get(cut.rule, 0) + 1
        return text, hits

    def _in_json(self, text: str, exempt: Exempt, depth: int, name: str = "") -> list[Cut]:
        """What to cut out of a JSON text, at places in the text, in order. `name`: of the text itself, if it is but a string."""
        cuts: list[Cut] = []
        renamed: list[tuple[StringToken, list[Cut]]] = []
        clean_keys: set[str] = set()
        names: tuple[object, str] = ((), "")
        for token in strings(text):
            _, _, value, path, is_key = token
            if is_key:
                if len(value) < TEXT_CHARS_MIN or value in clean_keys:
                    continue
                found = self._in_string(value, exempt, JSON_IN_JSON_MAX)
                if found:
                    renamed.append((token, found))
                else:
                    clean_keys.add(value)
            else:
                key = _named(path, names) if path else name
                found = self._in_value(path, value, key, exempt, depth)
                if key in _NAME_KEYS:
                    names = path[:-1], value
            if found:
                cuts += at_source(text, token, found)
        if renamed:
            instead = unique_keys(text, renamed)
            cuts = [cut._replace(instead=instead.get(cut.end, cut.instead)) for cut in cuts]
        return cuts

    def _in_value(self, path: tuple[str | int, ...], value: str, key: str, exempt: Exempt, depth: int) -> list[Cut]:
        if exempt.covers(path, value):
            return []
        rule = member(key, value) if may_name_a_secret(key) else None
        if rule and not _is_json(value):
            return self._merged(value, [Hit(0, len(value), rule, FORMAT)])
        return self._in_string(value, exempt, depth, key)

    def _in_string(self, value: str, exempt: Exempt, depth: int, name: str = "") -> list[Cut]:
        """What to cut out of a string: each string of the JSON that it is, else the plain text."""
        if len(value) < TEXT_CHARS_MIN or value in _KNOWN_WORDS or is_media(value) or is_moment(value):
            return []
        if depth < JSON_IN_JSON_MAX and _is_json(value):
            return self._in_json(value, Exempt(by_form=exempt.by_form), depth + 1, name)
        hits = [*find(value), *(_of_package(value) if self._package else ())]
        return self._merged(value, hits) if hits else []

    def _merged(self, text: str, hits: Iterable[Hit]) -> list[Cut]:
        """Hits that overlap are one, by the name of the rule that says most; markers and media are left as they stand."""
        merged: list[Hit] = []
        for hit in sorted(hit for hit in hits if not self._is_allowed(text[hit.start : hit.end])):
            if merged and hit.start < merged[-1].end:
                last = merged[-1]
                best = min(last, hit, key=lambda one: one.rank)
                merged[-1] = Hit(last.start, max(last.end, hit.end), best.rule, best.rank)
            else:
                merged.append(hit)
        kept = kept_spans(text) if merged else []
        return [
            Cut(start, end, hit.rule, f"[redacted:{hit.rule}]")
            for hit in merged
            for start, end in around(kept, *within_escapes(text, hit.start, hit.end))
            if not self._is_allowed(text[start:end])
        ]

    def _is_allowed(self, secret: str) -> bool:
        return secret in self._literals or any(pattern.fullmatch(secret) for pattern in self._allowed)


_KNOWN_WORDS = frozenset("created_at agent_source tool_calls tool_call_id".split())  # in almost every message
_NAME_KEYS = frozenset({"name", "key", "Name", "Key"})
_VALUE_KEYS = frozenset({"value", "Value"})


def _named(path: tuple[str | int, ...], names: tuple[object, str]) -> str:
    """The name of a value: its key, or the name beside it, as in `{"name": "DB_PASSWORD", "value": …}`."""
    key = path[-1]
    if key in _VALUE_KEYS and names[0] == path[:-1]:
        return names[1]
    return key if isinstance(key, str) else ""


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
            if whole and not _is_harmless(finding.type, text, start, end):
                yield Hit(start, end, *_names.get(finding.type, (finding.type, FORMAT + 1)))


def _scan(window: str) -> list["redact_secret.Finding"]:
    """What the package would take out. What it refuses to read, a lone surrogate put aside, our own rules have read."""
    with suppress(redact_secret.SecretScanError):
        return _taken_out(window)
    with suppress(redact_secret.SecretScanError):
        return _taken_out(_surrogate.sub("\ufffd", window))
    return []


def _taken_out(text: str) -> list["redact_secret.Finding"]:
    return [finding for finding in redact_secret.scan(text) if finding.action in {"redact", "block"}]


_lenient = JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
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


def _is_harmless(kind: str, text: str, start: int, end: int) -> bool:
    """Whether it stands in for a secret; what has no form of its own must also be a value by our rules."""
    found = text[start:end]
    if kind == "contextual_secret":
        return not is_value(found, "token", "quoted" if text[start - 1 : start] in {"'", '"', "`"} else "loose")
    return is_stand_in(found) if kind not in _names else kind not in {"private_key", "jwt"} and is_no_value(found)


def _is_json(value: str) -> bool:
    """Whether a string is a JSON object, array or string; a broken or a very deep one is plain text."""
    inner = value.strip(" \t\r\n")
    if inner[:1] + inner[-1:] not in {"{}", "[]", '""'}:
        return False
    try:
        return _lenient.raw_decode(inner)[1] == len(inner)
    except (ValueError, RecursionError):
        return False
