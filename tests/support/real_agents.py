"""The real agents, as tests drive them: each in a home and a project of its own, against a scripted model on this machine.

Where a program is, is told by the environment, as `make relay-test` sets it.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

MARKER = "Where were we, runner?"
RUN_S = 240


class Model(Protocol):
    """A scripted model: what it was sent, and the tool calls that it makes next."""

    requests: list[dict[str, Any]]
    calls: list[dict[str, Any]]
    url: str


class Agent(Protocol):
    """What a test of several agents may ask of each.

    `name` is the registry's; `home` is of the user who runs it, `work` the project's directory; `pull_options` are given to
    `tasuki pull` besides.
    """

    name: ClassVar[str]
    pull_options: ClassVar[tuple[str, ...]]
    home: Path
    work: Path

    @property
    def requests(self) -> list[dict[str, Any]]:
        """What its model was sent."""

    def version(self) -> str:
        """What the program itself says that it is."""

    def begin(self, prompt: str) -> str:
        """Say the first thing of a new session; return what the program prints."""

    def go_on(self, session_id: str, prompt: str) -> str:
        """Say more in a session that is in its store; return what the program prints."""

    def will_call(self, command: str) -> None:
        """Have the model answer what is said next with a call of the agent's shell."""


@dataclass
class RealAgent:
    """What they have in common."""

    home: Path
    work: Path
    model: Any
    pull_options: ClassVar[tuple[str, ...]] = ()
    shell: ClassVar[str] = ""
    shell_argument: ClassVar[str] = "command"

    @property
    def requests(self) -> list[dict[str, Any]]:
        """What its model was sent."""
        sent: list[dict[str, Any]] = self.model.requests
        return sent

    def environment(self) -> Mapping[str, str]:
        """All that the program is told; nothing of the developer's own agents."""
        return {"HOME": str(self.home), "PATH": os.environ["PATH"]}

    def started(self, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a program in the project to its end."""
        return subprocess.run(
            command,
            cwd=self.work,
            env={**self.environment(), **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=RUN_S,
            check=False,
        )

    def ran(self, *command: str, **more: str) -> str:
        """Run a program in the project, expect success, return what was printed."""
        done = self.started(*command, **more)
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    def will_call(self, command: str) -> None:
        """Have the model answer what is said next with a call of the agent's shell."""
        self.model.calls = [{"name": self.shell, "args": {self.shell_argument: command, **self.shell_more()}}]

    def shell_more(self) -> Mapping[str, Any]:
        """What else its shell wants to be told."""
        return {}


def program(variable: str, name: str) -> str:
    """The path of a program: named by the variable, or found on the PATH; "" if it is nowhere."""
    return os.environ.get(variable) or shutil.which(name) or ""
