"""Hermes as tests drive it (PyPI `hermes-agent`): its `hermes` is named by TASUKI_HERMES or found on the PATH."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from real_agents import RealAgent, program
from scripted_model import MODEL, scripted_model

PROGRAM = program("TASUKI_HERMES", "hermes")
CONFIG = """
model:
  default: {model}
  provider: custom
  base_url: {url}
  api_key: x
  context_length: 400000
"""


class Hermes(RealAgent):
    """The program in a home and a project of its own."""

    name: ClassVar[str] = "hermes"
    shell: ClassVar[str] = "terminal"

    @property
    def database(self) -> Path:
        return self.home / ".hermes" / "state.db"

    def environment(self) -> Mapping[str, str]:
        return {**super().environment(), "HERMES_HOME": str(self.home / ".hermes")}

    def version(self) -> str:
        return self.ran(PROGRAM, "--version").split()[2].removeprefix("v")

    def begin(self, prompt: str) -> str:
        return self.ran(PROGRAM, "chat", "-Q", "--yolo", "-q", prompt)

    def go_on(self, session_id: str, prompt: str) -> str:
        return self.ran(PROGRAM, "chat", "-Q", "--yolo", "--resume", session_id, "-q", prompt)


@contextmanager
def hermes_in(folder: Path) -> Iterator[Hermes]:
    """Hermes, for as long as the block lasts."""
    with scripted_model() as model:
        agent = Hermes(folder / "home", folder / "work", model)
        agent.database.parent.mkdir(parents=True)
        (agent.database.parent / "config.yaml").write_text(CONFIG.format(model=MODEL, url=model.url))
        agent.work.mkdir()
        yield agent
