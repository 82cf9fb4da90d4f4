"""Codex as tests drive it (npm `@openai/codex`): its `codex` is named by TASUKI_CODEX or found on the PATH."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from subprocess import CompletedProcess
from typing import ClassVar

from real_agents import RealAgent, program
from scripted_model import MODEL, scripted_model

PROGRAM = program("TASUKI_CODEX", "codex")
CONFIG = """
model = "{model}"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.scripted]
name = "scripted"
base_url = "{url}"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
"""


class Codex(RealAgent):
    """The program in a home and a project of its own."""

    name: ClassVar[str] = "codex"
    shell: ClassVar[str] = "exec_command"
    shell_argument: ClassVar[str] = "cmd"

    @property
    def store(self) -> Path:
        return self.home / ".codex"

    def environment(self) -> Mapping[str, str]:
        return {**super().environment(), "CODEX_HOME": str(self.store), "SCRIPTED_KEY": "x"}

    def version(self) -> str:
        return self.ran(PROGRAM, "--version").split()[-1]

    def run(self, *arguments: str) -> CompletedProcess[str]:
        return self.started(PROGRAM, "exec", "--skip-git-repo-check", *arguments)

    def begin(self, prompt: str) -> str:
        return self.ran(PROGRAM, "exec", "--skip-git-repo-check", prompt)

    def go_on(self, session_id: str, prompt: str) -> str:
        return self.ran(PROGRAM, "exec", "--skip-git-repo-check", "resume", session_id, prompt)


@contextmanager
def codex_in(folder: Path) -> Iterator[Codex]:
    """Codex, for as long as the block lasts."""
    with scripted_model() as model:
        agent = Codex(folder / "home", folder / "work", model)
        agent.store.mkdir(parents=True)
        (agent.store / "config.toml").write_text(CONFIG.format(model=MODEL, url=model.url))
        agent.work.mkdir()
        yield agent
