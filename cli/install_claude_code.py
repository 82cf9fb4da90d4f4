"""Claude Code's store: `projects/<folder>/<session id>.jsonl`, the folder named for the real path of the working directory."""

import os
from pathlib import Path

from adapters.claude_code.names import KEY_CHARS_MAX, project_key
from adapters.written import Written
from cli.install_files import FileStore
from cli.install_store import NotInstalled, Plan, SessionInTheWay
from cli.stores import CLAUDE_CODE


class ClaudeCodeStore(FileStore):
    """`cwd`: where the session is gone on with."""

    def __init__(self, folder: Path, cwd: str) -> None:
        super().__init__(CLAUDE_CODE, folder)
        self._project = _project(folder / "projects", os.path.realpath(cwd))

    def plan(self, written: Written) -> Plan:
        if written.session_id.startswith("agent-"):
            raise NotInstalled("Claude Code resumes no sub-agent by itself: pull the session that started it.")
        return super().plan(written)

    def path_of(self, written: Written) -> str:
        rest = written.path.split("/")[2:]
        for other in sorted((self.place / "projects").glob(f"*/{rest[0]}")) if len(rest) == 1 else ():
            if other.parent.name != self._project:
                raise SessionInTheWay(
                    f"Claude Code has session {written.session_id} already, for another working directory: {other}. Give --cwd as"
                    " it is there, or --session-id for an id of its own."
                )
        return self.place_of(written.path)

    def place_of(self, name: str) -> str:
        return "/".join(("projects", self._project, *name.split("/")[2:]))


def _project(projects: Path, cwd: str) -> str:
    """The folder of a working directory. How a long name ends differs between builds of the agent: there, the one it made."""
    key = project_key(cwd)
    if len(key) > KEY_CHARS_MAX:
        found = sorted(path.name for path in projects.glob(f"{key[:KEY_CHARS_MAX]}-*") if path.is_dir())
        return found[0] if len(found) == 1 else key
    return key
