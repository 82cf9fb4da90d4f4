"""Gemini CLI's store: `tmp/<folder of the project>/chats/`, the folder that the agent has for the working directory.

1. Which folder that is, `projects.json` says, or a marker in the folder (`.project_root`); where neither does, one is made with a
   marker, from which the agent knows it. The agent's own list is never written.
2. A session may stand under another name, or in another project: then it is in the way.
3. A session of long ago is told to have been written to today (`freshness`): the agent would delete it when it starts.
"""

import json
import os
import time
from dataclasses import replace
from pathlib import Path

from adapters.gemini.freshness import freshened
from adapters.gemini.names import slug_of
from adapters.gemini.records import AGENT
from adapters.written import Written
from cli.install_files import FileStore, remove_folders
from cli.install_store import Json, Plan, SessionInTheWay
from cli.stores_gemini import files_of

MARKER = ".project_root"


class GeminiStore(FileStore):
    """`cwd`: where the session is gone on with."""

    def __init__(self, folder: Path, cwd: str) -> None:
        super().__init__(AGENT, folder)
        self._cwd = os.path.realpath(cwd)
        self._project = _project(folder, self._cwd)

    def path_of(self, written: Written) -> str:
        path = "/".join(("tmp", self._project, *written.path.split("/")[2:]))
        for other in files_of(self.place, written.session_id) if path.count("/") == 3 else ():
            if other != self.place / path:
                raise SessionInTheWay(
                    f"Gemini CLI has session {written.session_id} already: {other}. Give --session-id for an id of its own."
                )
        return path

    def plan(self, written: Written) -> Plan:
        now_ms = time.time_ns() // 1_000_000
        return super().plan(replace(written, records=tuple(freshened(written.records, now_ms))))

    def undo_of(self, plan: Plan, old: Json | None) -> Json:
        marker = f"tmp/{self._project}/{MARKER}"
        is_new = bool(old and old.get("marker")) or not (self.place / marker).exists()
        return super().undo_of(plan, old) | {"marker": marker if is_new else ""}

    def put(self, plan: Plan, old: Json | None) -> None:
        marker = self.place / "tmp" / self._project / MARKER  # before the session: a session without it is not found
        if not marker.exists():
            marker.parent.mkdir(parents=True, exist_ok=True)
            marker.write_text(self._cwd, "utf-8")
        super().put(plan, old)

    def sweep(self, names: tuple[str, ...], undo: Json) -> None:
        super().sweep(names, undo)
        marker = self.place / undo["marker"] if undo.get("marker") else None
        if marker and {path.name for path in marker.parent.glob("*")} == {MARKER}:
            marker.unlink()
        remove_folders(self.place, undo["folders"])


def _project(home: Path, cwd: str) -> str:
    """The folder of a working directory, or the one that it gets."""
    own = cwd.lower() if os.name == "nt" else cwd
    try:
        listed = json.loads((home / "projects.json").read_text("utf-8"))["projects"]
        known = {str(path): str(slug) for path, slug in listed.items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        known = {}
    owners = {marker.parent.name: _text(marker) for base in ("tmp", "history") for marker in (home / base).glob(f"*/{MARKER}")}
    if own in known and owners.get(known[own], own) == own:
        return known[own]
    found = next((slug for slug, owner in sorted(owners.items()) if owner == own), "")
    if found:
        return found
    slug, number, taken = slug_of(cwd), 0, {*known.values(), *owners}
    while (name := f"{slug}-{number}" if number else slug) in taken:
        number += 1
    return name


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip()
    except (OSError, ValueError):
        return ""
