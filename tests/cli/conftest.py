"""The real command line, as processes, against a real hub over HTTP; the tests share a hub and differ by project."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest
from hubs import HubProcess, running_hub
from installing import SAMPLE as PARALLEL

SAMPLE = Path(__file__).resolve().parents[2] / "cli" / "samples" / "relay-timer.jsonl"
RUN_S = 60
_projects = count(1)


class Cli:
    """`tasuki` as someone on a host uses it: with a home of its own, and a hub in the environment."""

    def __init__(self, home: Path, url: str = "", token: str = "") -> None:
        keep = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LANG", "SYSTEMROOT") if name in os.environ}
        self.env = {**keep, "HOME": str(home), "USERPROFILE": str(home), "TZ": "UTC", "TASUKI_DATA_DIR": str(home / "data")}
        self.home = home
        if url:
            self.env |= {"TASUKI_URL": url, "TASUKI_TOKEN": token}

    def run(self, *arguments: Any, **env: str) -> subprocess.CompletedProcess[str]:
        """Run to the end; `env` adds to the environment."""
        return subprocess.run(
            self._command(arguments),
            env={**self.env, **env},
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=RUN_S,
            check=False,
        )

    def out(self, *arguments: Any, **env: str) -> str:
        """Run, expect success, return what was printed."""
        done = self.run(*arguments, **env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def json(self, *arguments: Any, **env: str) -> Any:
        """Run with `--json`, expect success, return the value."""
        return json.loads(self.out(*arguments, "--json", **env))

    def lines(self, *arguments: Any, **env: str) -> list[Any]:
        """Run with `--json`, expect success, return the values of the lines."""
        return [json.loads(line) for line in self.out(*arguments, "--json", **env).splitlines()]

    def start(self, *arguments: Any) -> subprocess.Popen[str]:
        """Start, to be read from and ended by the test."""
        return subprocess.Popen(
            self._command(arguments),
            env=self.env,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )

    def _command(self, arguments: tuple[Any, ...]) -> list[str]:
        return [sys.executable, "-m", "cli.main", *map(str, arguments)]


class Rest:
    """Another client of the hub, for what the command line does not do."""

    def __init__(self, hub: HubProcess) -> None:
        self.hub = hub

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Return the answer's JSON. `body` is a value, or JSON text that goes as it is."""
        text = body if isinstance(body, str | None) else json.dumps(body)
        headers = {"Authorization": f"Bearer {self.hub.token}"}
        answer = httpx2.request(
            method, self.hub.url + path, content=text, headers=headers, trust_env=False, verify=False, timeout=30
        )
        assert answer.is_success, answer.text
        return answer.json()

    def create(self, project: str) -> str:
        return str(self.call("POST", "/v1/sessions", {"project_id": project})["session_id"])

    def append(self, session_id: str, body: Any) -> int:
        """Append a message, given as its text, as a value or as JSON text."""
        body = {"role": "user", "content": body} if isinstance(body, str) and body[:1] != "{" else body
        return int(self.call("POST", f"/v1/sessions/{session_id}/messages", body)["seq"])

    def bring(self, path: Path, project: str) -> str:
        """Import a session's file; return the hub's id of it, which is the one that a push would give it."""
        query = urlencode({"project_id": project})
        return str(self.call("POST", f"/v1/import?{query}", path.read_text("utf-8"))["session_id"])

    def messages(self, session_id: str) -> list[Any]:
        """All messages of a session, as `show` would have them."""
        found: list[Any] = []
        page = {"next_after_seq": 0, "has_more": True}
        while page["has_more"]:
            page = self.call("GET", f"/v1/sessions/{session_id}?limit=1000&after_seq={page['next_after_seq']}")
            found += page["messages"]
        return found

    def sessions(self, project: str) -> list[Any]:
        """The sessions of a project, as `sessions` would list them."""
        return list(self.call("GET", f"/v1/sessions?{urlencode({'project_id': project})}")["sessions"])

    def head(self) -> int:
        """The seq of the log's newest event."""
        return int(self.call("GET", "/v1/log?limit=1&after_seq=0")["head_seq"])

    def until_someone_waits(self) -> None:
        """Return when a reader waits for what comes next."""
        deadline = time.monotonic() + RUN_S
        while not self.call("GET", "/healthz")["waiting"]:
            assert time.monotonic() < deadline, "no reader came"
            time.sleep(0.02)


class Started:
    """Processes that end with the test."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    def __call__(self, cli: Cli, *arguments: Any) -> subprocess.Popen[str]:
        process = cli.start(*arguments)
        self._stack.callback(_end, process)
        return process


@pytest.fixture(scope="package")
def shared_hub(shared_database: str) -> Iterator[HubProcess]:
    """A hub for all files."""
    with running_hub(shared_database) as hub:
        yield hub


@pytest.fixture(scope="package")
def hub_without_redaction(shared_database: str) -> Iterator[HubProcess]:
    """Another one, for files that compare what comes back byte by byte."""
    with running_hub(shared_database, redaction="off") as hub:
        yield hub


@pytest.fixture(scope="module")
def own_hub(module_database: str) -> Iterator[HubProcess]:
    """A hub on a database of a file's own."""
    with running_hub(module_database) as hub:
        yield hub


@pytest.fixture(scope="module")
def hub(shared_hub: HubProcess) -> HubProcess:
    """The hub of a file's tests: the one for all, where a file says nothing else."""
    return shared_hub


@pytest.fixture
def cli(hub: HubProcess, tmp_path: Path) -> Cli:
    """The command line of someone with an empty home."""
    return Cli(tmp_path, hub.url, hub.token)


@pytest.fixture
def cli_of() -> type[Cli]:
    """The command line elsewhere: `cli_of(home, url, token)`."""
    return Cli


@pytest.fixture
def project() -> str:
    """A project that no other test uses."""
    return f"project-{next(_projects)}"


@pytest.fixture
def start() -> Iterator[Started]:
    with ExitStack() as stack:
        yield Started(stack)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A working directory on this host."""
    folder = tmp_path / "work" / "relay"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def session(rest: Rest, project: str) -> str:
    """The hub's id of a session of Claude Code, to be installed."""
    return rest.bring(PARALLEL, project)


@pytest.fixture
def rest_of() -> type["Rest"]:
    """A client of another hub than the one that the file's tests share: `rest_of(hub)`."""
    return Rest


@pytest.fixture
def rest(hub: HubProcess) -> "Rest":
    return Rest(hub)


@pytest.fixture
def pushed(rest: Rest, project: str) -> str:
    """The hub's id of the sample session."""
    return rest.bring(SAMPLE, project)


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.kill()
    process.communicate()
