"""Names that Claude Code goes by: the folder of a project, uuids of lines, ids of calls."""

import re
import unicodedata

from adapters.made_names import is_uuid, uuid_of
from adapters.pairing import digest

KEY_CHARS_MAX = 200

_is_tool_id = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII).fullmatch
_digits = "0123456789abcdefghijklmnopqrstuvwxyz"


def project_key(cwd: str) -> str:
    """Return the folder under `projects/` that holds the sessions of a working directory, given as its real path.

    The agent counts in UTF-16 units, as JavaScript does. A path of more than 200 of them ends in a hash that differs
    between the agent's own builds: there, look for a folder that starts with the first 200 characters of the key.
    """
    raw = unicodedata.normalize("NFC", cwd).encode("utf-16-le", "surrogatepass")
    units = [int.from_bytes(raw[at : at + 2], "little") for at in range(0, len(raw), 2)]
    key = "".join(char if (char := chr(unit)).isascii() and char.isalnum() else "-" for unit in units)
    return key if len(key) <= KEY_CHARS_MAX else f"{key[:KEY_CHARS_MAX]}-{_hash(units)}"


def session_uuid(name: str) -> str:
    """Return a session's id: the name itself where the agent would take it, else a uuid made from it."""
    return name if is_uuid(name) else uuid_of(f"session:{name}")


def is_tool_id(name: str) -> bool:
    return _is_tool_id(name) is not None


def made_tool_id(seed: str) -> str:
    return f"toolu_{digest(seed)}"


def _hash(units: list[int]) -> str:
    """JavaScript's well-known string hash in 32 bits, in base 36."""
    value = 0
    for unit in units:
        value = (value * 31 + unit) & 0xFFFFFFFF
    value = abs(value - 0x100000000 if value >= 0x80000000 else value)
    text = ""
    while value:
        value, digit = divmod(value, 36)
        text = _digits[digit] + text
    return text or "0"
