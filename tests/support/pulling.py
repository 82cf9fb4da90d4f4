"""A hub and the command line of the host on which an agent runs: sessions are pushed, and pulled into the agent's own store."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hubs import HubProcess, running_hub

RUN_S = 120


@dataclass(frozen=True)
class Host:
    """Where an agent has its home. The command line has no other environment than the agent's: HOME, and `more`."""

    hub: HubProcess
    home: Path
    more: Mapping[str, str] = field(default_factory=dict)

    def run(self, *arguments: Any) -> subprocess.CompletedProcess[str]:
        """Run `tasuki` to its end."""
        env = {"HOME": str(self.home), "PATH": os.environ["PATH"], "TASUKI_DATA_DIR": str(self.home / "tasuki")}
        env |= {"TASUKI_URL": self.hub.url, "TASUKI_TOKEN": self.hub.token, **self.more}
        command = [sys.executable, "-m", "cli.main", *map(str, arguments)]
        return subprocess.run(command, env=env, capture_output=True, encoding="utf-8", timeout=RUN_S, check=False)

    def json(self, *arguments: Any) -> Any:
        """Run, expect success, return what was printed."""
        done = self.run(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def pushed(self, path: Path, project: str) -> str:
        """Return the hub's id of a file's session."""
        return str(self.json("push", path, "--project", project)["session_id"])

    def refused(self, code: str, *arguments: Any) -> None:
        done = self.run(*arguments)
        assert (done.returncode, f"[{code}]" in done.stderr) == (1, True), done.stderr


@contextmanager
def hub_and_host(dsn: str, home: Path, **more: str) -> Iterator[Host]:
    """A hub for as long as the block lasts; redaction is off, so that what is shown to a model can be compared."""
    with running_hub(dsn, redaction="off") as hub:
        yield Host(hub, home, more)
