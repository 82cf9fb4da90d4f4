"""DeepSeek Harness as tests drive it (PyPI `deepseek-harness-sdk`): its `dsh` is named by TASUKI_DSH or found on the PATH."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, ClassVar

from real_agents import RealAgent, program
from scripted_model import scripted_model

PROGRAM = program("TASUKI_DSH", "dsh")


class Dsh(RealAgent):
    """The program in a home and a project of its own."""

    name: ClassVar[str] = "dsh"
    shell: ClassVar[str] = "bash"

    @property
    def store(self) -> Path:
        return self.home / ".dsh"

    def environment(self) -> Mapping[str, str]:
        return {
            **super().environment(),
            "DSH_HOME": str(self.store),
            "DEEPSEEK_BASE_URL": self.model.url.removesuffix("/v1"),
            "DEEPSEEK_API_KEY": "x",
            "DSH_TELEMETRY_MODE": "DISABLED",
            "DSH_PERMISSION_MODE": "danger-full-access",
        }

    def version(self) -> str:
        return self.ran(PROGRAM, "--version").split()[-1].replace("-rc.", "rc")

    def run(self, session_id: str, prompt: str) -> CompletedProcess[str]:
        return self.started(PROGRAM, "headless", "--session-id", session_id, prompt)

    def begin(self, prompt: str) -> str:
        return self.ran(PROGRAM, "headless", prompt)

    def go_on(self, session_id: str, prompt: str) -> str:
        return self.ran(PROGRAM, "headless", "--session-id", session_id, prompt)

    def shell_more(self) -> Mapping[str, Any]:
        return {"description": "Says where the baton is."}


@contextmanager
def dsh_in(folder: Path) -> Iterator[Dsh]:
    """DeepSeek Harness, for as long as the block lasts."""
    with scripted_model() as model:
        agent = Dsh(folder / "home", folder / "work", model)
        agent.work.mkdir()
        agent.home.mkdir()
        yield agent
