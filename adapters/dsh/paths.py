"""Where a log belongs, relative to DSH_HOME: told by its header alone.

The agent makes the path anew from the header's working directory and id; where it is another one than that of the file, it
lists none of the sessions of its store.
"""

import re

from adapters.conversion import Json
from adapters.dsh.records import VERSION, version_of
from adapters.values import text_of

KEY_CHARS_MAX = 251
NO_CWD = "_no-cwd"
_separators = re.compile(r"[/\\:]+")
_is_absolute = re.compile(r"/|[A-Za-z]:[\\/]|\\\\")


def project_key(cwd: str) -> str:
    """The folder of a working directory; `_no-cwd` for none."""
    if not cwd:
        return NO_CWD
    key = _escaped(_separators.sub("-", cwd)).lstrip("-") or "root"
    return f"--{key[:KEY_CHARS_MAX]}--"


def encode_segment(session_id: str) -> str:
    """The folder of a session's id."""
    return session_id.replace(".", "~002E") if session_id in (".", "..") else _escaped(session_id)


def log_name(version: str = VERSION) -> str:
    """The name of a log's file, uncompressed; a compressed one ends in `.zstd` besides."""
    return "session.jsonl" if version == "0" else f"session.v{version}.jsonl"


def path_of(header: Json) -> str:
    """Where the log of this header belongs, compressed as the agent does unless told otherwise."""
    folder = f"{project_key(text_of(header, 'cwd'))}/{encode_segment(text_of(header, 'id'))}"
    return f"sessions/{folder}/{log_name(version_of(header))}.zstd"


def is_absolute(cwd: str) -> bool:
    return _is_absolute.match(cwd) is not None


def _escaped(text: str) -> str:
    return "".join(char if char.isascii() and (char.isalnum() or char in "._-") else _units(char) for char in text)


def _units(char: str) -> str:
    raw = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"~{raw[at]:02X}{raw[at + 1]:02X}" for at in range(0, len(raw), 2))
