"""The client: tries again with the same words, says plainly what is wrong, and keeps the token to itself."""

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from cli.address import HubUnreachable, NotAHub, is_loopback
from cli.client import Hub, open_hub
from eventstore.errors import AppendIdReused, InvalidSettings, StoreUnavailable, Unauthorized

CUT: Any = object()
DONE: Any = (201, {"snapshot_id": "snap_1", "up_to_seq": 1, "seq": 1, "append_id": "a", "duplicate": False}, {})
AWAY = (503, {"code": "database_unavailable", "detail": "The database is away.", "retryable": True}, {"Retry-After": "0"})
BUSY = (429, {"code": "too_many_requests", "detail": "Too many.", "retryable": True}, {"Retry-After": "1"})
REPLICA = (503, {"code": "read_only_replica", "detail": "A replica.", "retryable": False}, {"Retry-After": "1"})


class Scripted(HTTPServer):
    """A server that gives prepared answers; CUT closes the connection when the request was read."""

    def __init__(self, answers, address=("127.0.0.1", 0)):
        self.answers = list(answers)
        self.requests = []
        super().__init__(address, _Handler)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Scripted

    def _answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        self.server.requests.append((self.command, self.path, body, dict(self.headers)))
        answer = self.server.answers.pop(0)
        if answer is CUT:
            self.close_connection = True
            return
        status, value, headers = answer
        self.send_response(status)
        text = value if isinstance(value, str) else json.dumps(value)
        for name, one in {"Tasuki-Log-Id": "log_1", "Content-Length": str(len(text)), **headers}.items():
            if one is not None:
                self.send_header(name, one)
        self.end_headers()
        self.wfile.write(text.encode())

    do_GET = do_POST = do_PATCH = _answer  # noqa: N815  # the library's own names

    def log_message(self, *arguments):
        pass


@contextmanager
def scripted(*answers) -> Iterator[Scripted]:
    with Scripted(answers) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def alone(tmp_path, cli_of):
    """The command line where no hub was told of."""
    return cli_of(tmp_path)


@pytest.mark.parametrize("trouble", [CUT, AWAY, BUSY])
def test_a_write_is_repeated_word_for_word_until_it_is_answered(alone, trouble):
    with scripted(trouble, trouble, DONE) as server:
        done = alone.run("snapshot", "ses_1", "-m", "x", TASUKI_URL=server.url)
    assert done.returncode == 0, done.stderr
    bodies = [body for _, _, body, _ in server.requests]
    assert len(bodies) == 3
    assert len(set(bodies)) == 1
    assert json.loads(bodies[0])["append_id"]


def test_an_append_id_can_be_given(alone):
    with scripted(DONE, DONE) as server:
        alone.run("snapshot", "ses_1", "--append-id", "mine", TASUKI_URL=server.url)
        alone.run("fork", "snap_1", "--append-id", "mine", TASUKI_URL=server.url)
    assert [json.loads(body)["append_id"] for _, _, body, _ in server.requests] == ["mine", "mine"]


def test_it_waits_as_long_as_it_is_told_to():
    with scripted(BUSY, DONE) as server, Hub(server.url, "t", "") as hub:
        began = time.monotonic()
        hub.post("/v1/snapshots", "{}")
        assert time.monotonic() - began >= 1


@pytest.mark.parametrize("last_answer", [CUT, (200, {}, {})])
def test_a_hub_that_goes_away_after_it_was_there_once_is_waited_for(last_answer, monkeypatch):
    monkeypatch.setattr("cli.client.UNKNOWN_PATIENCE_S", 0.3)
    with scripted(last_answer) as server:
        host, port = server.server_address[:2]
        hub = Hub(server.url, "t", "")
        if last_answer is not CUT:
            hub.get("/v1/sessions")
        asked = ThreadPoolExecutor().submit(hub.get, "/v1/sessions")
        while not server.requests or asked.done():
            time.sleep(0.01)
    server.server_close()
    time.sleep(1)
    with Scripted([(200, {"back": 1}, {})], (host, port)) as again:
        again.handle_request()
    with hub:
        assert asked.result(10).value == {"back": 1}


def test_patience_ends_with_what_was_wrong():
    with scripted(*[AWAY] * 50) as server, Hub(server.url, "t", "", patience_s=0.5) as hub, pytest.raises(StoreUnavailable):
        hub.get("/v1/sessions")
    assert 1 < len(server.requests) < 20


def test_what_will_not_pass_is_not_tried_again(alone):
    with scripted(REPLICA) as server:
        done = alone.run("snapshot", "ses_1", TASUKI_URL=server.url)
    assert (done.returncode, "[read_only_replica]" in done.stderr, len(server.requests)) == (1, True, 1)


def test_an_error_of_the_hub_comes_back_as_itself_with_its_facts():
    problem = {"type": "urn:…", "code": "append_id_reused", "detail": "Used before.", "retryable": False, "seq": 7}
    with scripted((409, problem, {})) as server, Hub(server.url, "t", "") as hub, pytest.raises(AppendIdReused) as raised:
        hub.post("/v1/snapshots", "{}")
    assert (raised.value.detail, raised.value.facts) == ("Used before.", {"seq": 7})


def test_no_hub_is_said_with_what_to_do_and_has_its_own_exit_code(alone):
    done = alone.run("sessions", TASUKI_URL="http://127.0.0.1:9")
    assert done.returncode == 3
    for part in ("[hub_unreachable]", "tasuki serve", "TASUKI_URL", "http://127.0.0.1:9"):
        assert part in done.stderr


def test_a_database_that_is_away_has_the_same_exit_code(alone):
    with (
        scripted(*[AWAY] * 200) as server,
        Hub(server.url, "t", "", patience_s=0.2) as hub,
        pytest.raises(StoreUnavailable) as error,
    ):
        hub.get("/v1/sessions")
    from cli.main import _UNREACHABLE

    assert {error.value.code, HubUnreachable.code} <= _UNREACHABLE


def test_without_a_token_it_says_where_one_comes_from(alone):
    refusal: Any = (401, {"code": "unauthorized", "detail": "Send a token.", "retryable": False}, {})
    with scripted(refusal, refusal) as server:
        without = alone.run("sessions", TASUKI_URL=server.url)
        wrong = alone.run("sessions", TASUKI_URL=server.url, TASUKI_TOKEN="wrong")
    assert (without.returncode, "set TASUKI_TOKEN" in without.stderr) == (1, True)
    assert "came from TASUKI_TOKEN" in wrong.stderr
    assert "wrong" not in wrong.stderr


def test_the_token_of_this_host_is_used_by_itself(alone):
    (alone.home / "data").mkdir()
    (alone.home / "data" / "token").write_text("tsk_of_this_host\n")
    with scripted((200, {"sessions": [], "next": None}, {})) as server:
        alone.out("sessions", TASUKI_URL=server.url)
    assert server.requests[0][3]["Authorization"] == "Bearer tsk_of_this_host"


def test_the_token_of_this_host_is_shown_to_no_other(tmp_path, monkeypatch):
    (tmp_path / "token").write_text("tsk_of_this_host\n")
    monkeypatch.setenv("TASUKI_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("TASUKI_TOKEN", raising=False)
    for url, is_sent in {"http://127.0.0.1:1": True, "http://[::1]:1": True, "https://hub.example": False}.items():
        with open_hub(url) as hub:
            assert ("tsk_of_this_host" in hub._http.headers.get("authorization", "")) is is_sent


def test_a_proxy_is_not_asked_for_a_way_to_this_host(alone):
    nowhere = dict.fromkeys(("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"), "http://127.0.0.1:9")
    with scripted((200, {"sessions": [], "next": None}, {})) as server:
        assert alone.out("sessions", TASUKI_URL=server.url, **nowhere) == "No sessions.\n"


def test_something_that_is_no_hub_is_told_from_one():
    page = (200, "<html>", {"Tasuki-Log-Id": None})
    gateway = (404, "<html>", {"Tasuki-Log-Id": None})
    for answer in (page, gateway):
        with scripted(answer) as server, Hub(server.url, "t", "") as hub, pytest.raises(NotAHub):
            hub.get("/v1/sessions")


def test_a_gateway_before_a_hub_that_restarts_is_waited_for():
    gateway = (502, "<html>", {"Tasuki-Log-Id": None})
    with scripted(gateway, DONE) as server, Hub(server.url, "t", "") as hub:
        assert hub.post("/v1/snapshots", "{}").value["seq"] == 1


def test_a_token_that_is_refused_is_an_error_and_not_a_retry():
    refusal: Any = (401, {"code": "unauthorized", "detail": "No.", "retryable": False}, {})
    with scripted(refusal) as server, Hub(server.url, "t", "") as hub, pytest.raises(Unauthorized):
        hub.get("/v1/sessions")


@pytest.mark.parametrize("url", ["127.0.0.1:8808", "ftp://hub", "http://", "http://[::1", "hub"])
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(InvalidSettings):
        open_hub(url)


def test_this_host_is_known_by_its_names():
    assert all(is_loopback(url) for url in ("http://localhost:1", "http://127.0.0.2", "http://[::1]:1"))
    assert not any(is_loopback(url) for url in ("http://10.0.0.1", "http://localhost.example", "https://hub.example"))
