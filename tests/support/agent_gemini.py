"""Gemini CLI as tests drive it (npm `@google/gemini-cli`, on Node): `gemini` is named by TASUKI_GEMINI or found on the PATH."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from real_agents import RealAgent, program
from scripted_gemini import MODEL, scripted_gemini

PROGRAM = program("TASUKI_GEMINI", "gemini")
SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
}


class Gemini(RealAgent):
    """The program in a home and a project of its own."""

    name: ClassVar[str] = "gemini"
    shell: ClassVar[str] = "run_shell_command"

    @property
    def store(self) -> Path:
        return self.home / ".gemini"

    def environment(self) -> Mapping[str, str]:
        return {
            **super().environment(),
            "GEMINI_API_KEY": "x",
            "GOOGLE_GEMINI_BASE_URL": self.model.url,
            "GEMINI_SANDBOX": "false",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }

    def settings(self, **more: Any) -> None:
        (self.store / "settings.json").write_text(json.dumps(SETTINGS | more))

    def run(self, *arguments: str) -> str:
        return self.ran(PROGRAM, "-m", MODEL, "--yolo", *arguments)

    def version(self) -> str:
        return self.ran(PROGRAM, "--version").split()[-1]

    def begin(self, prompt: str) -> str:
        return self.run("-p", prompt)

    def go_on(self, session_id: str, prompt: str) -> str:
        return self.run("--resume", session_id, "-p", prompt)


@contextmanager
def gemini_in(folder: Path) -> Iterator[Gemini]:
    """Gemini CLI, for as long as the block lasts."""
    with scripted_gemini() as model:
        agent = Gemini(folder / "home", folder / "work", model)
        agent.store.mkdir(parents=True)
        agent.work.mkdir()
        agent.settings()
        yield agent
