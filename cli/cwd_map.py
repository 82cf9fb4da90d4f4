"""Working directories of one host as another has them: agents find a session by the directory that it is gone on with in."""

from collections.abc import Mapping

from adapters.claude_code.elsewhere import moved


def mapped(cwd: str, prefixes: Mapping[str, str]) -> str:
    """Return a directory by the longest prefix that it stands under, whole steps only; itself where there is none."""
    for old in sorted(prefixes, key=len, reverse=True):
        if old and old.rstrip("/\\") == cwd.rstrip("/\\"):
            return prefixes[old]
        if found := moved(cwd, old, prefixes[old]):
            return found
    return cwd
