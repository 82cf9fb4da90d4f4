"""`tasuki mcp`: how it asks the hub, what it needs, how it ends. What its tools do: tests/specs, tests/faults."""

import json
import signal
import subprocess
import sys
from typing import Any

import anyio
import httpx2
import pytest

from cli.address import Address, HubUnreachable
from cli.rest_hub import RestHub
from eventstore.errors import SeqConflict

DONE = httpx2.Response(201, json={"seq": 1, "append_id": "a", "duplicate": False}, headers={"Tasuki-Log-Id": "log_1"})
AWAY = httpx2.Response(
    503, json={"code": "database_unavailable", "detail": "Away.", "retryable": True}, headers={"Retry-After": "0"}
)
MOVED = httpx2.Response(409, json={"code": "seq_conflict", "detail": "Moved on.", "retryable": False, "head_seq": 7})
CUT = httpx2.ReadError("the connection was cut")
NOBODY = httpx2.ConnectError("nobody there")


class Scripted:
    """A hub that gives prepared answers to a `RestHub`, and keeps what it was asked."""

    def __init__(self, *answers: httpx2.Response | Exception) -> None:
        self._answers = list(answers)
        self.requests: list[httpx2.Request] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        answer = self._answers.pop(0) if self._answers else NOBODY
        if isinstance(answer, Exception):
            raise answer
        return answer

    def hub(self) -> RestHub:
        http = httpx2.AsyncClient(base_url="http://hub", transport=httpx2.MockTransport(self))
        return RestHub(Address("http://hub", "t", "TASUKI_TOKEN"), http)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(request.content) for request in self.requests]


@pytest.mark.parametrize("trouble", [CUT, AWAY])
async def test_a_write_whose_answer_was_lost_is_repeated_under_its_own_id(trouble: Any):
    scripted = Scripted(trouble, DONE)
    answer = json.loads(await scripted.hub().append("ses_1", {"role": "user", "content": "hi"}, None))
    first, again = scripted.bodies
    assert (answer["seq"], first) == (1, again)
    assert first["append_id"].startswith("mcp:")


async def test_every_write_has_an_id_before_its_first_try_and_a_given_one_stays():
    scripted = Scripted(*[DONE] * 6)
    hub = scripted.hub()
    await hub.create_session({"project_id": "p"})
    await hub.create_snapshot({"session_id": "s"})
    await hub.fork("snap_1", {})
    await hub.append("s", {"role": "user", "append_id": "mine"}, None)
    await hub.update_meta("s", {"n": 1}, None)
    await hub.update_meta("s", {"n": 1}, "mine")
    ids: list[str] = [body["append_id"] for body in scripted.bodies[:4]]
    ids += [request.url.params["append_id"] for request in scripted.requests[4:]]
    assert [one.partition(":")[0] for one in ids] == ["mcp", "mcp", "mcp", "mine", "mcp", "mine"]
    assert len(set(ids)) == 5


async def test_a_refusal_is_not_repeated_and_comes_back_as_itself():
    scripted = Scripted(MOVED)
    with pytest.raises(SeqConflict, match="Moved on") as refused:
        await scripted.hub().append("ses_1", {"role": "user"}, 3)
    assert (refused.value.facts, len(scripted.requests)) == ({"head_seq": 7}, 1)


async def test_a_hub_that_was_never_there_is_told_of_soon_and_one_that_was_is_waited_for():
    began = anyio.current_time()
    with pytest.raises(HubUnreachable):
        await Scripted().hub().lineage("ses_1")
    assert anyio.current_time() - began < 5
    scripted = Scripted(CUT, *[NOBODY] * 6, DONE)
    assert await scripted.hub().lineage("ses_1")


async def test_what_is_left_of_a_wait_is_asked_for_again():
    scripted = Scripted(CUT, NOBODY, DONE)
    await scripted.hub().read("ses_1", 4, 50, 20)
    waits = [float(request.url.params["wait"]) for request in scripted.requests]
    assert waits == sorted(waits, reverse=True)
    assert waits[0] == pytest.approx(20, abs=0.1)
    assert waits[2] < 20
    assert {request.url.params["after_seq"] for request in scripted.requests} == {"4"}


async def test_who_the_agent_is_goes_along():
    scripted = Scripted(DONE, DONE)
    hub = scripted.hub()
    await hub.named("claude-code").append("s", {"role": "user"}, None)
    await hub.append("s", {"role": "user"}, None)
    assert [request.headers.get("tasuki-client") for request in scripted.requests] == ["claude-code", None]


def test_it_needs_no_database_driver_and_nothing_that_windows_has_not():
    script = (
        "import sys, mcp.server.stdio, cli.main, cli.rest_hub, transports.mcp.server, transports.mcp.watch; cli.main.parser();"
        "print(*[name for name in ('psycopg', 'uvloop', 'pygit2', 'transports.service') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_its_help_shows_how_to_tell_an_agent_of_it(cli_of, tmp_path):
    told = cli_of(tmp_path).out("mcp", "--help")
    for part in ("claude mcp add", '"mcpServers"', "--transport http", "TASUKI_TOKEN"):
        assert part in told


def test_an_address_that_is_none_is_refused_at_once(cli_of, tmp_path):
    done = cli_of(tmp_path).run("mcp", TASUKI_URL="hub")
    assert (done.returncode, "TASUKI_URL" in done.stderr, done.stdout) == (2, True, "")


@pytest.mark.parametrize("end", ["stdin ends", "ctrl-c"])
def test_noise_does_not_end_it_and_its_agent_does(cli_of, tmp_path, end: str):
    command = [sys.executable, "-m", "cli.main", "mcp"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=cli_of(tmp_path).env, stdin=pipe, stdout=pipe, stderr=pipe, encoding="utf-8") as process:
        try:
            assert process.stdin
            assert process.stdout
            process.stdin.write('noise\n[]\n{"jsonrpc":"2.0","id":7,"method":"ping"}\n')
            process.stdin.flush()
            while json.loads(process.stdout.readline()).get("id") != 7:  # each line is a message, whatever came
                pass
            if end == "ctrl-c":
                process.send_signal(signal.SIGINT)  # though stdin stays open
                assert process.wait(10) == -signal.SIGINT
            else:
                process.stdin.close()
                assert process.wait(10) == 0
        finally:
            process.kill()
