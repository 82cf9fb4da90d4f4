"""Codex's store: `sessions/<date>/rollout-<time>-<session id>.jsonl`. It finds a session by its id, whatever the day."""

from pathlib import Path

from adapters.codex.records import AGENT
from adapters.written import Written
from cli.install_files import FileStore
from cli.install_store import SessionInTheWay


class CodexStore(FileStore):
    """The files below CODEX_HOME."""

    def __init__(self, folder: Path) -> None:
        super().__init__(AGENT, folder)

    def path_of(self, written: Written) -> str:
        for base in ("sessions", "archived_sessions"):
            for other in sorted((self.place / base).rglob(f"rollout-*-{written.session_id}.jsonl")):
                if other != self.place / written.path:
                    raise SessionInTheWay(
                        f"Codex has session {written.session_id} already: {other}. Give --session-id for an id of its own."
                    )
        return written.path
