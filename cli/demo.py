"""Demo: the relay in under a minute, on a hub of its own that leaves nothing behind.

A hub on an embedded PostgreSQL in a temporary folder, and readers that are processes of their own, as on another host: a
session is pushed while one tails it, a snapshot is taken, a fork goes on, with what it takes measured at each step.
"""

import argparse
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from cli.client import Hub, new_append_id, session_path
from cli.message_view import content_text, thinking_text
from cli.push_session import open_session, push_session
from cli.stores import Loaded, load, of_file
from cli.terminal import Screen, one_line
from eventstore.errors import StoreError
from eventstore.wire.codec import dump

SAMPLE = Path(__file__).parent / "samples" / "relay-timer.jsonl"
START_S, SEEN_S, STOP_S = 120.0, 20.0, 25.0
PAUSE_S = 0.12  # between the messages on a terminal, so that they can be followed
GOING_ON = [
    ("user", "opencode", "Yes please, an error with a name. And keep the hand-over test."),
    ("assistant", "opencode", "Added `NotStarted`: `lap()` before `start()` raises it and says what to do. 4 tests pass."),
]


class DemoFailed(StoreError):
    """The demo did not show what it promises."""

    code, title = "demo_failed", "The demo did not come to its end"


def register(verbs: Any) -> None:
    """Add the verb."""
    demo = verbs.add_parser(
        "demo",
        help="see the relay work, in under a minute",
        description="Start a hub in a temporary folder, push a sample session while another process tails it live, take a\n"
        "snapshot, fork it, go on as another agent, and take everything away again. With times.",
        epilog="examples:\n  tasuki demo\n  tasuki demo --json",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    demo.add_argument("--json", action="store_true", help="print only what was measured, as JSON")
    demo.set_defaults(run=run_demo)


def run_demo(options: argparse.Namespace) -> int:
    began = time.perf_counter()
    if hasattr(signal, "SIGTERM"):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    demo = _Demo(Screen(), is_quiet=options.json)
    demo.say("One session, two hosts, two agents. Each reader is a process of its own; nothing stays behind.")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tasuki-demo-")))
        hub = demo.start_hub(stack, folder)
        loaded = load(of_file(SAMPLE))
        session_id = demo.push(stack, hub, loaded)
        snapshot_id = demo.snapshot(hub, session_id)
        fork_id = demo.fork(hub, snapshot_id)
        demo.go_on(stack, hub, fork_id, session_id)
        stopping = time.perf_counter()
    demo.step("Everything that was started is stopped, the folder is gone", time.perf_counter() - stopping)
    demo.measured["total_s"] = round(time.perf_counter() - began, 2)
    demo.say(
        f"\nThat took {demo.measured['total_s']:.1f} s. `tasuki serve` runs a hub that stays, `tasuki push --help` brings sessions."
    )
    if options.json:
        Screen().line(json.dumps(demo.measured))
    return 0


class _Demo:
    """The steps, each of which says what it does and how long it took."""

    def __init__(self, screen: Screen, is_quiet: bool) -> None:
        self._screen, self._is_quiet = screen, is_quiet
        self._number = 0
        self._env: dict[str, str] = {}
        self.measured: dict[str, Any] = {}

    def say(self, text: str, style: str = "") -> None:
        if not self._is_quiet:
            self._screen.block(text, style=style)
            self._screen.flush()

    def step(self, what: str, took_s: float | None, command: str = "") -> None:
        """Say what was done, how long it took (None: that comes below), and how to do it by hand."""
        self._number += 1
        took = "" if took_s is None else f"{took_s:.1f} s" if took_s >= 0.1 else f"{took_s * 1000:.1f} ms"
        if not self._is_quiet:
            head = self._screen.styled(f"{self._number}  {what}", "bold")
            self._screen.line(f"\n{head}  {self._screen.styled(took, 'green')}")
            if command:
                self._screen.line("   " + self._screen.styled(f"$ tasuki {command}", "dim"))
            self._screen.flush()

    def start_hub(self, stack: ExitStack, folder: Path) -> Hub:
        began = time.perf_counter()
        self._env = {name: value for name, value in os.environ.items() if not name.startswith("TASUKI_")}
        self._env["TASUKI_DATA_DIR"] = str(folder)
        url = stack.enter_context(_serving(self._env))
        token = (folder / "token").read_text("utf-8").strip()
        took_s = time.perf_counter() - began
        self.measured["hub_start_s"] = round(took_s, 2)
        self.step(f"A hub at {url}, with a PostgreSQL of its own", took_s, "serve")
        return stack.enter_context(Hub(url, token, "the demo"))

    def push(self, stack: ExitStack, hub: Hub, loaded: Loaded) -> str:
        """Push the sample, message by message, while another process tails it."""
        session_id, _ = open_session(hub, loaded, "demo")
        tail, took_s = self._tail(stack, hub, session_id)
        self.step("Host B tails a session in which nothing is yet", took_s, f"tail {session_id}")
        self.step("Host A pushes a session of Claude Code; host B sees", None, f"push {SAMPLE.name} --project demo")
        times_ms: list[float] = []
        began = [0.0]

        def progress(done: int, total: int) -> None:
            if 0 < done <= len(loaded.conversion.messages):
                times_ms.append(self._seen(tail, began[0]))
                if self._screen.is_terminal and not self._is_quiet:
                    time.sleep(PAUSE_S)
            began[0] = time.perf_counter()

        pushed = push_session(hub, loaded, "demo", progress=progress, batch_count=1)
        _check(len(times_ms) == pushed.appended == len(loaded.conversion.messages), "host B did not see every message once")
        said = f"   append → seen: median {median(times_ms):.1f} ms, slowest {max(times_ms):.1f} ms, all {len(times_ms)} in order"
        self.say(said, "green")
        figures = {"median": round(median(times_ms), 2), "max": round(max(times_ms), 2)}
        self.measured |= {"messages": pushed.appended, "append_to_seen_ms": figures}
        return session_id

    def snapshot(self, hub: Hub, session_id: str) -> str:
        message = "the lap is there again"
        body = dump({"session_id": session_id, "commit_msg": message, "append_id": new_append_id()})
        answer, took_s = _timed(lambda: hub.post("/v1/snapshots", body).value)
        self.measured["snapshot_ms"] = round(took_s * 1000, 2)
        self.step(f"Host A takes a snapshot: {answer['snapshot_id']}", took_s, f'snapshot {session_id} -m "{message}"')
        return str(answer["snapshot_id"])

    def fork(self, hub: Hub, snapshot_id: str) -> str:
        body = dump({"append_id": new_append_id()})
        answer, took_s = _timed(lambda: hub.post(f"/v1/snapshots/{snapshot_id}/fork", body).value)
        self.measured["fork_ms"] = round(took_s * 1000, 2)
        self.step("Host B forks it; nothing is copied", took_s, f"fork {snapshot_id}")
        return str(answer["session_id"])

    def go_on(self, stack: ExitStack, hub: Hub, fork_id: str, session_id: str) -> None:
        """Append to the fork as another agent, seen by the first host, and show what each session reads."""
        tail, took_s = self._tail(stack, hub, fork_id, "--new")
        self.step("Host B goes on in the fork as OpenCode; host A, which tails it, sees", took_s, f"tail {fork_id} --new")
        for role, agent, text in GOING_ON:
            message = {"role": role, "content": text, "append_id": new_append_id(), "metadata": {"agent_source": agent}}
            began = time.perf_counter()
            hub.post(f"{session_path(fork_id)}/messages", dump(message))
            self._seen(tail, began)
        counts = [len(hub.page(name, 0).sources) for name in (fork_id, session_id)]
        _check(counts[0] == counts[1] + len(GOING_ON), "the fork does not read its parent's messages and its own")
        self.say(
            f"   the fork reads {counts[0]} messages ({counts[1]} inherited); the first session still has {counts[1]}", "green"
        )
        self.measured["fork_messages"], self.measured["parent_messages"] = counts

    def _tail(self, stack: ExitStack, hub: Hub, session_id: str, *more: str) -> tuple["queue.Queue[tuple[float, str]]", float]:
        """Start a process that tails, and return its lines with the moment each came, once it waits."""
        began = time.perf_counter()
        lines = stack.enter_context(_tailing(self._env, hub.url, session_id, *more))
        waiting = hub.get("/healthz").value["waiting"]
        while hub.get("/healthz").value["waiting"] <= waiting:
            _check(time.perf_counter() - began < SEEN_S, "the reader did not start")
            time.sleep(0.02)
        return lines, time.perf_counter() - began

    def _seen(self, lines: "queue.Queue[tuple[float, str]]", began: float) -> float:
        """Wait for the next message to come out of the reader's process, show it, and return the milliseconds since `began`."""
        try:
            came, line = lines.get(timeout=SEEN_S)
        except queue.Empty:
            raise DemoFailed("A message did not reach the reader.") from None
        message = json.loads(line)
        took_ms = (came - began) * 1000
        calls = ", ".join(f"→ {call['function']['name']}" for call in message.get("tool_calls") or [])
        thinking = f"thinking: {thinking_text(message['thinking'])}" if message.get("thinking") else ""
        text = content_text(message.get("content")) or calls or thinking
        head = f"{message['seq']:>6}  {message['role']:<9}  {took_ms:6.1f} ms  "
        if not self._is_quiet:
            self._screen.line(
                head + self._screen.styled(one_line(text, max(20, (self._screen.width or 120) - len(head) - 1)), "dim")
            )
            self._screen.flush()
        return took_ms


@contextmanager
def _serving(env: dict[str, str]) -> Iterator[str]:
    """A hub, as a process; gives its address. Its log is not kept in its folder, which the hub must have to itself."""
    with tempfile.TemporaryFile() as log, _process(env, log, "serve", "--port", "0", "--log-level", "warning") as lines:
        try:
            first = lines.get(timeout=START_S)[1]
        except queue.Empty:
            first = ""
        if not first.startswith("Tasuki serves at "):
            log.seek(0)
            said = log.read().decode("utf-8", "replace").strip()[-800:]
            raise DemoFailed(f"The hub did not start: {said or 'it said nothing'}")
        yield first.split()[-1]


@contextmanager
def _tailing(env: dict[str, str], url: str, session_id: str, *more: str) -> Iterator["queue.Queue[tuple[float, str]]"]:
    with _process(env, None, "tail", session_id, "--json", "--url", url, *more) as lines:
        yield lines


@contextmanager
def _process(env: dict[str, str], log: Any, *arguments: str) -> Iterator["queue.Queue[tuple[float, str]]"]:
    """A `tasuki` process for as long as the context is open; gives the lines of its output, an empty one at its end."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "cli.main", *arguments],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=log,
        start_new_session=os.name == "posix",  # an interrupt from the keyboard is for us: we stop it
        encoding="utf-8",
    )
    lines: queue.Queue[tuple[float, str]] = queue.Queue()

    def read() -> None:
        for line in process.stdout or ():
            lines.put((time.perf_counter(), line.rstrip("\n")))
        lines.put((time.perf_counter(), ""))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        yield lines
    finally:
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        reader.join(STOP_S)
        if process.stdout:
            process.stdout.close()


def _timed(work: Callable[[], dict[str, Any]]) -> tuple[dict[str, Any], float]:
    began = time.perf_counter()
    return work(), time.perf_counter() - began


def _check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise DemoFailed(otherwise)
