"""Places of a message or record in which no secret is looked for: ids, signatures, encrypted thinking, base64 media. Pure.

In a standard message they are known by where they stand. An agent's own records have no fixed form, and tool output can look
like anything: there a key counts only together with a value of the form it promises, so that no secret hides under `"id"`.
"""

import re
from dataclasses import dataclass

from eventstore.redact_rules import begins_like_a_token

MOMENT_CHARS_MAX = 35


@dataclass(frozen=True, slots=True)
class Exempt:
    """Where nothing is looked for: paths of a JSON text, None for any index, and with `by_form` what key and form tell."""

    places: frozenset[tuple[str | None, ...]] = frozenset()
    by_form: bool = False

    def covers(self, path: tuple[str | int, ...], value: str) -> bool:
        """Whether the string at this path is left alone."""
        if not path or not isinstance(path[-1], str):
            return False
        if path in self.places:
            return True
        if len(path) > 2 and self.places and tuple(None if isinstance(step, int) else step for step in path) in self.places:
            return True
        return self.by_form and _is_known_by_form(path[-1], value)


def _places(*paths: str) -> frozenset[tuple[str | None, ...]]:
    return frozenset(tuple(None if step == "*" else step for step in path.split(".")) for path in paths)


NOTHING = Exempt()
NATIVE = Exempt(by_form=True)
MESSAGE = Exempt(
    _places(
        *("session_id", "append_id", "tool_call_id", "tool_calls.*.id", "metadata.parent_id", "metadata.branch_id"),
        *("thinking.items.*.data", "thinking.items.*.signature", "thinking.items.*.id"),
        *("content.*.input_audio.data", "content.*.file.file_data", "content.*.file.file_id"),
    ),
    by_form=True,
)

_BLOB_KEYS = frozenset(
    "signature thoughtSignature thought_signature encrypted_content encryptedContent reasoningEncryptedContent redactedData"
    " redacted_data data base64 b64_json file_data fileData blob".split()
)
_IDS = frozenset({"id", "Id", "ID", "iD"})
_blob = re.compile("[A-Za-z0-9+/_-]{64,}+={0,2}")
_pure_base64 = re.compile("[A-Za-z0-9+/]{256,}+={0,2}")
_id = re.compile(
    "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-fA-F]{6,64}|[0-9]{8}_[0-9]{6}_[0-9a-f]{6}"
    "|(?:toolu|srvtoolu|msg|req|call|ses|session|prt|rs|fc|resp|item|chatcmpl|snap|agent)[_-](?:bdrk_|vrtx_)?[A-Za-z0-9-]{1,64}"
)
_moment = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})")
MEDIA = re.compile(r"data:[a-z0-9.+-]+/[a-zA-Z0-9.+;=-]+;base64,[A-Za-z0-9+/_=%-]*+")


def is_media(value: str) -> bool:
    """A data: URL or bare base64 of a size that no key has: nothing can be read in it, and much of it is large."""
    if value.startswith("data:"):
        return MEDIA.fullmatch(value) is not None
    return len(value) >= 256 and _pure_base64.fullmatch(value) is not None and not begins_like_a_token(value)


def is_moment(value: str) -> bool:
    """A time of RFC 3339."""
    return len(value) <= MOMENT_CHARS_MAX and _moment.fullmatch(value) is not None


def _is_known_by_form(key: str, value: str) -> bool:
    """Ids, signatures, encrypted thinking and media in the records of any agent."""
    if key in _BLOB_KEYS:
        return _blob.fullmatch(value) is not None and not begins_like_a_token(value)
    return key[-2:] in _IDS and _id.fullmatch(value) is not None
