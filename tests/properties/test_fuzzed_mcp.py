"""10,000 requests to /mcp that no client should send, over HTTP: each is answered, none with a fault, nothing is left behind.

Both protocol eras, their headers, methods and bodies, bent and broken (tests/support/noise.py); connections are kept, shared by
turns, and dropped in the middle of an answer. Among the noise are calls that are right and write.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx2
import pytest
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream
from hubs import HubProcess
from noise import CANARY, Asked, Noise
from open_hubs import OpenHub, tasks_of
from restclient import Rest

REQUESTS = int(os.environ.get("TASUKI_NOISE", 10_000))
CLIENTS = 12
ANSWER_S = 20  # far more than any answer takes that does not wait
PATIENCE_S = 0.25  # after which a client whose answer may wait leaves
SETTLED_S = 10
BODY_BYTES_MAX = 1_000_000
STATUSES = {200, 202, 400, 401, 403, 404, 405, 406, 413, 415, 431}
CLIENT_GONE = 499  # in the log; nobody is there to see it
INTERNAL_ERROR = -32603


EXPECTED = re.compile(
    r"Invalid HTTP request received\."
    r"|dropped 'notifications/(progress|cancelled)': malformed params"
    r"|live"  # on a busy machine a notice is late now and then
    r"|query cancellation interrupted .*|discarding closed connection: .*"  # its client left in the middle of a query
)
BANNER = ("Tasuki serves at ", "The admin token is in ")


@dataclass
class Evidence:
    """What came back."""

    statuses: Counter[int] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    left: int = 0


class Crowd:
    """Clients that speak HTTP by hand, since a well-behaved library would not send most of this."""

    def __init__(self, hub: HubProcess, noise: Iterable[Asked], evidence: Evidence) -> None:
        self._hub, self._noise, self._evidence = hub, iter(noise), evidence
        host, _, port = hub.url.rpartition("//")[2].partition(":")
        self._address = host, int(port)

    async def run(self) -> None:
        async with anyio.create_task_group() as tasks:
            for _ in range(CLIENTS):
                tasks.start_soon(self._client)

    async def _client(self) -> None:
        stream: SocketStream | None = None
        for asked in self._noise:
            stream = stream or await anyio.connect_tcp(*self._address)
            if not await self._ask(stream, asked):
                await stream.aclose()
                stream = None
        if stream:
            await stream.aclose()

    async def _ask(self, stream: SocketStream, asked: Asked) -> bool:
        """Ask once; True when the connection can be used again."""
        try:
            with anyio.fail_after(PATIENCE_S if asked.may_wait else ANSWER_S):
                await stream.send(self._wire(asked))
                status, headers, body = await _answer(BufferedByteReceiveStream(stream), asked.verb)
        except TimeoutError:
            if asked.may_wait:
                self._evidence.left += 1
            else:
                self._fault(asked, "no answer")
            return False
        except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError) as error:
            self._fault(asked, f"connection lost: {type(error).__name__}")
            return False
        self._evidence.statuses[status] += 1
        wrong = _wrong(status, headers, body)
        if wrong:
            self._fault(asked, f"{status} {wrong}: {body[:300]!r}")
        return headers.get("connection", "") != "close" and status != 413

    def _wire(self, asked: Asked) -> bytes:
        lines = [f"{asked.verb} /mcp HTTP/1.1".encode()]
        given = {name.lower() for name, _ in asked.headers}
        if "host" not in given:
            lines.append(b"Host: %s:%d" % (self._address[0].encode(), self._address[1]))
        if "authorization" not in given:
            lines.append(b"Authorization: Bearer " + self._hub.token.encode())
        lines += [name.encode() + b": " + value for name, value in asked.headers]
        if asked.is_chunked:
            half = len(asked.body) // 2
            chunks = [b"%x\r\n%s\r\n" % (len(part), part) for part in (asked.body[:half], asked.body[half:]) if part]
            body = b"".join(chunks) + (b"" if asked.is_cut else b"0\r\n\r\n")
            return b"\r\n".join([*lines, b"Transfer-Encoding: chunked", b"", body])
        length = len(asked.body) + asked.is_cut
        return b"\r\n".join([*lines, b"Content-Length: %d" % length, b"", asked.body])

    def _fault(self, asked: Asked, what: str) -> None:
        self._evidence.faults.append(f"{what} to {asked.verb} {asked.headers} {asked.body[:500]!r}")


async def _answer(stream: BufferedByteReceiveStream, verb: str) -> tuple[int, dict[str, str], bytes]:
    head = (await stream.receive_until(b"\r\n\r\n", 65536)).decode("latin-1").split("\r\n")
    status = int(head[0].split()[1])
    if status == 100:
        return await _answer(stream, verb)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    if verb == "HEAD":
        return status, headers, b""
    if headers.get("transfer-encoding") != "chunked":
        return status, headers, await stream.receive_exactly(int(headers.get("content-length", 0)))
    body = b""
    while size := int(await stream.receive_until(b"\r\n", 100), 16):
        body += await stream.receive_exactly(size)
        await stream.receive_exactly(2)
    await stream.receive_exactly(2)
    return status, headers, body


def _wrong(status: int, headers: dict[str, str], body: bytes) -> str | None:
    """What is wrong with an answer, None where nothing is."""
    if status not in STATUSES:
        return "unexpected status"
    kind = headers.get("content-type", "").partition(";")[0]
    if kind == "text/event-stream":
        messages = [line[5:] for line in body.decode().splitlines() if line.startswith("data:")]
    elif kind in ("application/json", "application/problem+json"):
        messages = [body.decode()] if body else []
    elif body and body != b"Invalid HTTP request received.":
        return f"content of type {kind}"
    else:
        messages = []
    return next(filter(None, map(_wrong_message, messages)), None)


def _wrong_message(text: str) -> str | None:
    try:
        message = json.loads(text, parse_constant=_refuse)
    except ValueError as fault:
        return f"no JSON ({fault})"
    error = message.get("error") if isinstance(message, dict) else None
    if isinstance(error, dict) and error.get("code") == INTERNAL_ERROR:
        return "an internal error"
    return None


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


@pytest.fixture(scope="module")
def hub(module_database, tmp_path_factory):
    server = OpenHub("hub", module_database, tmp_path_factory.mktemp("noise"), request_bytes_max=BODY_BYTES_MAX)
    try:
        yield server.start()
    finally:
        server.kill()


MODERN = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "ping", "Accept": "application/json, text/event-stream"}


@pytest.mark.parametrize("headers", [{}, MODERN])
@pytest.mark.parametrize("body", ['{"id": 1, "id": 2}', '{"id": NaN}', '{"id": "\xff"}', "[" * 200 + "]" * 200, "{", ""])
async def test_what_is_not_json_or_says_two_things_is_a_parse_error(hub, headers, body):
    async with hub.client() as http:
        answer = await http.post("/mcp", content=body.encode("latin-1"), headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"], answer.json()["id"]) == (400, -32700, None)


@pytest.mark.parametrize("size", [BODY_BYTES_MAX, BODY_BYTES_MAX + 1])
async def test_a_body_over_the_limit_is_refused_by_name(hub, size):
    async with hub.client() as http:
        answer = await http.post("/mcp", content='{"jsonrpc": "2.0", "id": 1, "method": "ping"}'.ljust(size))
    assert answer.status_code == (200 if size <= BODY_BYTES_MAX else 413)
    if answer.status_code == 413:
        assert (answer.json()["code"], answer.json()["limit"]) == ("too_large", "request_bytes_max")


async def test_a_client_that_leaves_in_the_middle_of_its_request_is_no_fault(hub):
    known = len(hub.log_lines())
    noise = Asked("POST", [("Content-Type", b"application/json")], b'{"jsonrpc": "2.0", "id": 1, ', is_cut=True)
    evidence = Evidence()

    await Crowd(hub, [noise], evidence).run()

    with anyio.fail_after(SETTLED_S):
        while not (lines := [line for line in hub.log_lines()[known:] if line.get("route") == "/mcp"]):  # noqa: ASYNC110  # a log tells nobody
            await anyio.sleep(0.05)
    assert [(line["level"], line["status"]) for line in lines] == [("info", CLIENT_GONE)]
    assert (evidence.left, evidence.faults) == (1, [])


async def test_noise_is_answered_without_a_fault_and_leaves_nothing_behind(hub):
    async with hub.client() as http:
        rest = Rest(http, "noise")
        quiet = await rest.create()
        head_seq = (await rest.append(quiet, "the only one"))["seq"]
        sessions = [await rest.create() for _ in range(4)]
        for session_id in sessions:
            await rest.append(session_id, "the first")
        snapshots = [(await rest.snapshot(session_id))["snapshot_id"] for session_id in sessions]
        await _first_stream(http, quiet)
        tasks_before = await tasks_of(http)

        noise, evidence = Noise(20261130, sessions, snapshots, (quiet, head_seq)), Evidence()

        await Crowd(hub, (noise.draw() for _ in range(REQUESTS)), evidence).run()

        assert not evidence.faults, "\n".join([f"{len(evidence.faults)} of {REQUESTS}", *evidence.faults[:20]])
        assert evidence.statuses[200] > REQUESTS / 4, evidence
        await _settled(http, tasks_before)
        assert (await rest.call("GET", "/v1/admin/log/check"))["dense"]
        assert [await rest.read(session_id) for session_id in sessions]

    lines = [json.loads(line) for line in hub.log().splitlines() if not line.startswith(BANNER)]
    assert [line for line in lines if line["level"] != "info" and not EXPECTED.fullmatch(line["event"])] == []
    assert {line["status"] for line in lines if line["event"] == "request"} <= STATUSES | {201, CLIENT_GONE}
    assert CANARY not in hub.log()
    assert hub.stop() == 0


async def _first_stream(http: httpx2.AsyncClient, session_id: str) -> None:
    """Have the hub answer as a stream once: the library for streams then starts a task that stays."""
    accept = {"Accept": "application/json, text/event-stream"}
    params = {"name": "read_session", "arguments": {"session_id": session_id}}
    response = await http.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, headers=accept)
    assert response.headers["content-type"].startswith("text/event-stream")


async def _settled(http: httpx2.AsyncClient, before: Counter[str]) -> None:
    """Return once nobody waits and there are no tasks that were not there before."""
    waiting, more = -1, before
    with anyio.move_on_after(SETTLED_S):
        while waiting or more:
            waiting, more = (await http.get("/healthz")).json()["waiting"], await tasks_of(http) - before
            await anyio.sleep(0.05)
    assert (waiting, more) == (0, Counter())
