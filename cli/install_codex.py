"""Codex's store: a file a session, where `Written.path` says, unless the agent has the session in another place."""

from pathlib import Path

from adapters.codex.records import AGENT
from adapters.written import Written
from cli.install_files import FileStore
from cli.stores_codex import files_of


class CodexStore(FileStore):
    """Codex names a folder by its local day and looks in all: so a session that is there stays where it is."""

    def __init__(self, folder: Path) -> None:
        super().__init__(AGENT, folder)

    def path_of(self, written: Written) -> str:
        there = files_of(self.place, written.session_id)
        return there[0].relative_to(self.place).as_posix() if there else written.path
