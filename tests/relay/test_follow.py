"""`tasuki push --follow` mirrors what a real agent says: another host has each message within a second, in order, once.

The agent, the follower and the hub are on this host; `tasuki tail` runs on one that reaches nothing but the hub's address.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from hubs import HubProcess, running_hub
from pairs_doc import AGENTS
from real_agents import MARKER
from relay_team import Team
from scripted_model import ANSWER
from second_host import SecondHost, second_host
from watched import Watched

from cli.mirror import REST_S

PROMISE_S = 1.0
WAIT_S = 30
COMMAND = f"sleep {REST_S + PROMISE_S:.0f}; printf 'baton-%s' 42"  # the session rests meanwhile


class Lines:
    """What a process prints, a JSON object a line, each with the time at which it came."""

    def __init__(self, out: IO[str]) -> None:
        self.came: list[tuple[float, dict[str, Any]]] = []
        self._out = out
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._out:
            self.came.append((time.time(), json.loads(line)))

    def names(self) -> list[str]:
        return [str(message["append_id"]) for _, message in self.came]


@contextmanager
def printing(hub: HubProcess, home: Path, arguments: tuple[str, ...], host: SecondHost | None = None) -> Iterator[Lines]:
    """Run `tasuki`, here or on the second host, until it is interrupted at the end of the block."""
    command = [sys.executable, "-m", "cli.main", *arguments, "--json"]
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "TASUKI_DATA_DIR": str(home / "tasuki")}
    env |= {"TASUKI_URL": hub.url, "TASUKI_TOKEN": hub.token}
    with subprocess.Popen(
        host.command(*command) if host else command, env=env, stdout=subprocess.PIPE, encoding="utf-8", stdin=subprocess.DEVNULL
    ) as process:
        assert process.stdout
        try:
            yield Lines(process.stdout)
            assert process.poll() is None, "it ended by itself"
        finally:
            process.send_signal(signal.SIGINT)


def until(holds: Callable[[], object], what: Callable[[], object]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < deadline, what()
        time.sleep(0.02)


@pytest.mark.parametrize("name", AGENTS)
def test_each_message_of_a_turn_is_at_another_host_within_a_second_once_and_in_order(name, database, tmp_path, capsys):
    with ExitStack() as stack:
        other = stack.enter_context(second_host())
        hub = stack.enter_context(running_hub(database, redaction="off", host=other.address, allowed_hosts=other.address))
        team = Team(hub, tmp_path, stack, "follow")
        agent = team.agent(name)
        push = ("push", "--follow", "--all", "--agent", name, "--project", "follow")
        follower = stack.enter_context(printing(hub, agent.home, push))
        assert ANSWER in agent.begin("Where is the baton?")
        until(lambda: follower.came, lambda: "no session came")
        pushed = follower.came[0][1]
        native_id, tail = pushed["native_session_id"], ("tail", pushed["session_id"])
        arrived = stack.enter_context(printing(hub, tmp_path / "elsewhere", tail, other))
        with Watched(name, agent.home, tmp_path / "begun", native_id) as first:
            pass  # as it is now
        until(lambda: arrived.names() == first.messages(), lambda: (arrived.names(), first.messages()))
        agent.will_call(COMMAND)
        with Watched(name, agent.home, tmp_path / "turn", native_id) as store:
            assert ANSWER in agent.go_on(native_id, MARKER)
            time.sleep(REST_S + PROMISE_S)  # what comes twice would come by then
        wanted = store.messages()
        until(lambda: len(arrived.came) >= len(wanted), lambda: (arrived.names(), wanted))
    assert arrived.names() == wanted
    turn = wanted[len(first.messages()) :]
    messages = {message["append_id"]: message for _, message in arrived.came}
    assert messages[turn[0]]["role"] == "user"
    assert "baton-42" in json.dumps([messages[one] for one in turn if messages[one]["role"] == "tool"])
    written, came = store.written_at(), {str(message["append_id"]): at for at, message in arrived.came}
    delays = {one: came[one] - written[one] for one in turn}
    with capsys.disabled():
        told = ", ".join(f"{messages[one]['role']} {delay:.2f} s" for one, delay in delays.items())
        print(f"\n{name}: from the agent's write to the other host: {told}")
    assert min(delays.values()) > 0
    assert max(delays.values()) < PROMISE_S
