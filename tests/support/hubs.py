"""Hubs under test: `tasuki serve` as a process of its own, spoken to over HTTP, ended by its process id."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2

START_S = 60


class HubProcess:
    """One server process on a database. `url` and `token` are known once it is ready."""

    def __init__(self, dsn: str, data_dir: Path, port: int = 0, program: str = "cli.main", **settings: Any) -> None:
        self._command = [sys.executable, "-m", program, "serve", "--port", str(port)]
        keep = {name: os.environ[name] for name in ("PATH", "LANG", "TZ") if name in os.environ}
        extra = {f"TASUKI_{name.upper()}": str(value) for name, value in settings.items()}
        keep |= {"PYTHONPATH": str(Path(__file__).parent)} if program != "cli.main" else {}
        self._env = {**keep, "TASUKI_DSN": dsn, "TASUKI_DATA_DIR": str(data_dir), "HOME": str(data_dir), **extra}
        self._data_dir = data_dir
        self.log_path = data_dir / f"serve-{id(self)}.log"
        self.url = self.token = ""

    def start(self, wait: bool = True) -> "HubProcess":
        """Start it; with `wait`, return when it answers."""
        log = self.log_path.open("ab")
        self.process = subprocess.Popen(
            self._command, env=self._env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
        log.close()
        return self.ready() if wait else self

    def ready(self) -> "HubProcess":
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self.process.poll() is None:
            found = re.search(r"Tasuki serves at (\S+)", self.log())
            if found:
                self.url, self.token = found[1], (self._data_dir / "token").read_text().strip()
                return self
            time.sleep(0.02)
        raise AssertionError(f"the hub did not become ready: {self.log()[-2000:]}")

    def log(self) -> str:
        return self.log_path.read_text("utf-8", "replace") if self.log_path.exists() else ""

    def log_lines(self) -> list[dict[str, Any]]:
        """The structured lines of its log."""
        return [json.loads(line) for line in self.log().splitlines() if line.startswith("{")]

    def client(self, **options: Any) -> httpx2.AsyncClient:
        """A client with the hub's address and token; the environment's proxies are not used."""
        return httpx2.AsyncClient(
            base_url=self.url, headers={"Authorization": f"Bearer {self.token}"}, trust_env=False, timeout=70, **options
        )

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def stop(self, timeout_s: float = 20) -> int:
        """End it as an operator would and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
        return self.process.wait(timeout_s)

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def running_hub(dsn: str, **settings: Any) -> Iterator[HubProcess]:
    """A hub for as long as the context is open."""
    with tempfile.TemporaryDirectory(prefix="tasuki-hub-") as folder:
        hub = HubProcess(dsn, Path(folder), **settings)
        try:
            yield hub.start()
        finally:
            hub.kill()
