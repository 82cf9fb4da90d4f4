"""OpenCode as tests drive it (npm `opencode-ai`): the program itself, not its launcher, is named by TASUKI_OPENCODE."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar
from urllib.request import urlopen

from real_agents import RealAgent
from scripted_model import MODEL, scripted_model

from eventstore.wire.codec import dump

PROGRAM = os.environ.get("TASUKI_OPENCODE", "")
QUIET = ("MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")


class OpenCode(RealAgent):
    """The program in a home and a project of its own."""

    name: ClassVar[str] = "opencode"
    pull_options: ClassVar[tuple[str, ...]] = ("--model", f"fake/{MODEL}")
    shell: ClassVar[str] = "bash"

    @property
    def database(self) -> Path:
        return self.home / ".local" / "share" / "opencode" / "opencode.db"

    def environment(self) -> Mapping[str, str]:
        return {**super().environment(), **{f"OPENCODE_DISABLE_{name}": "1" for name in QUIET}}

    def run(self, *arguments: str, **more: str) -> str:
        return self.ran(PROGRAM, *arguments, **more)

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Run it as a server, that has answered from its store."""
        command = [PROGRAM, "serve", "--port", "0"]
        with subprocess.Popen(
            command, cwd=self.work, env={**self.environment()}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            try:
                assert process.stdout
                said = next(line for line in process.stdout if b"listening on" in line).decode()
                with urlopen(said.split()[-1] + "/session", timeout=60) as answer:
                    assert answer.status == 200
                yield
            finally:
                process.terminate()

    def version(self) -> str:
        return self.run("--version").split()[-1]

    def begin(self, prompt: str) -> str:
        return self.run("run", "-m", f"fake/{MODEL}", "--format", "json", prompt)

    def go_on(self, session_id: str, prompt: str, **more: str) -> str:
        return self.run("run", "-s", session_id, "-m", f"fake/{MODEL}", "--format", "json", prompt, **more)

    def shell_more(self) -> Mapping[str, Any]:
        return {"description": "Says where the baton is."}


@contextmanager
def opencode_in(folder: Path) -> Iterator[OpenCode]:
    """OpenCode, for as long as the block lasts."""
    with scripted_model() as model:
        agent = OpenCode(folder / "home", folder / "work", model)
        file = agent.home / ".config" / "opencode" / "opencode.json"
        file.parent.mkdir(parents=True)
        file.write_text(dump(_config(model.url)))
        agent.work.mkdir()
        git = ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
        subprocess.run([*git, "init", "-q", "."], cwd=agent.work, check=True)
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "begin"], cwd=agent.work, check=True)
        yield agent


def _config(url: str) -> dict[str, Any]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Fake",
        "options": {"baseURL": url, "apiKey": "x"},
        "models": {MODEL: {"name": MODEL, "tool_call": True, "limit": {"context": 400_000, "output": 8000}}},
    }
    return {
        "provider": {"fake": provider},
        "model": f"fake/{MODEL}",
        "permission": "allow",
        "autoupdate": False,
        "share": "disabled",
    }
