"""The files of an agent's store: how they are looked for by a name, which is the newest, and what one line of them says."""

import json
import re
from pathlib import Path
from typing import Any


def literal(name: str) -> str:
    """Return a name for a glob, none of whose characters stands for others."""
    return re.sub(r"([*?\[])", r"[\1]", name)


def changed_at(path: Path) -> float:
    """Return when a file was changed, in seconds since 1970; 0 for one that is gone."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def object_in(raw: bytes) -> dict[str, Any]:
    """Return the object that a JSON text is, an empty one for anything else."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
