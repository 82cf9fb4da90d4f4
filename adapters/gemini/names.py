"""Names that Gemini CLI goes by: ids of records and sessions, a project's hash and folder, ids and names of tools."""

import re
from hashlib import sha256

from adapters import made_names
from adapters.made_names import is_uuid

TOOL_NAME_CHARS_MAX = 64

_is_call_id = re.compile(r"[A-Za-z0-9_.:-]{1,128}", re.ASCII).fullmatch
_not_in_a_tool_name = re.compile(r"[^A-Za-z0-9_.-]", re.ASCII)
_not_in_a_slug = re.compile(r"[^a-z0-9]+", re.ASCII)


def uuid_of(name: str) -> str:
    """Return the id of a record, always the same for the same name."""
    return made_names.uuid_of(f"gemini:{name}")


def session_uuid(name: str) -> str:
    """Return a session's id: the name itself where it is one that the agent gives, else a uuid made from it."""
    return name if is_uuid(name) else uuid_of(f"session:{name}")


def is_call_id(name: str) -> bool:
    return _is_call_id(name) is not None


def tool_name(name: str) -> str:
    """Return a tool's name as the API takes it: it begins with a letter or an underscore."""
    clean = _not_in_a_tool_name.sub("_", name)
    clean = clean if clean[:1].isalpha() or clean[:1] == "_" else f"_{clean}"
    return clean[:TOOL_NAME_CHARS_MAX] if name else "unknown"


def project_hash(cwd: str) -> str:
    """What the header names a working directory by."""
    return sha256(cwd.encode("utf-8", "surrogatepass")).hexdigest()


def slug_of(cwd: str) -> str:
    """The folder under `tmp/` that the agent gives a working directory when no other has it; `projects.json` knows which has."""
    base = re.split(r"[/\\]", cwd.rstrip("/\\"))[-1]
    return _not_in_a_slug.sub("-", base.lower()).strip("-") or "project"


def file_name(session_id: str, started: str) -> str:
    """The name of a session's file. `started`: RFC 3339, to the minute at least."""
    safe = re.sub(r"[^a-zA-Z0-9_-]", "_", session_id)
    return f"session-{started[:16].replace(':', '-')}-{safe[:8]}.jsonl"
