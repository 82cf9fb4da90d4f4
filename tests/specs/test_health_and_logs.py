"""What an operator sees: how the hub is, an id on every answer, one line of facts for every request; never what was said."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import psycopg
import pytest
from hubs import HubProcess, running_hub
from plants import close_short_way
from restclient import Rest
from tails import becomes, eventually

CONTENT, META, COMMIT, REASON, TITLE, NATIVE = (
    f"said-{word}-secret" for word in ("content", "meta", "commit", "why", "title", "native")
)
WRONG_TOKEN = "tsk_" + "Q" * 43
KINDS = [CONTENT, META, COMMIT, REASON, TITLE, NATIVE, WRONG_TOKEN, "cursor-secret", "append-secret", "path-secret"]
SIGNATURE = """
select proname || '(' || pg_get_function_arguments(oid) || ') returns ' || pg_get_function_result(oid)
  from pg_proc where oid = 'store.{name}'::regproc
"""
NO_ROWS = "select 1, 1::bigint, false, '', 1::bigint, now() where false"
RAISES = """
create or replace function store.{signature} language plpgsql as $$
begin
    raise exception '{text}' using detail = '{text}', hint = '{text}', errcode = '{code}';
end $$
"""


@pytest.fixture(scope="module")
def hub(own_hub: HubProcess) -> HubProcess:
    """A log that holds what these tests made it say, and nothing else."""
    return own_hub


async def test_healthz_says_how_the_process_is_and_readyz_whether_it_answers(hub: HubProcess, rest: Rest):
    session_id = await rest.create()
    seq = (await rest.append(session_id))["seq"]
    said = await becomes(rest.http, live="notify", database="up", status="ok", replica=False, waiting=0)
    assert said["head_seq"] == seq
    assert said["log_id"].startswith("log_")
    assert (await rest.http.get("/readyz")).json() == {"status": "ready"}


async def test_every_answer_carries_the_id_of_its_request_and_of_the_log(hub: HubProcess, rest: Rest):
    session_id = await rest.create()
    log_id = (await rest.http.get("/healthz")).json()["log_id"]
    answers = [
        await rest.http.get("/healthz"),
        await rest.http.get("/readyz"),
        await rest.http.get("/openapi.json"),
        await rest.http.get(f"/v1/sessions/{session_id}"),
        await rest.http.get(f"/v1/sessions/{session_id}", params={"wait": "0.1"}),
        await rest.http.post(f"/v1/sessions/{session_id}/messages", json={"role": "user", "content": "hi"}),
        await rest.http.post(f"/v1/sessions/{session_id}/messages", content=b"{"),
        await rest.http.get("/v1/sessions/ses_none"),
        await rest.http.get("/v1/nothing"),
        await rest.http.put("/v1/log"),
        await rest.http.get("/v1/log", params={"nonsense": "1"}),
        await rest.http.get("/v1/log", headers={"authorization": "Bearer " + WRONG_TOKEN}),
        await rest.http.get("/v1/log", headers={"host": "evil.example"}),
    ]
    async with rest.http.stream("GET", f"/v1/sessions/{session_id}/events") as stream:
        answers.append(stream)
    assert {answer.status_code for answer in answers} == {200, 201, 400, 401, 403, 404, 405}
    assert {answer.headers["tasuki-log-id"] for answer in answers} == {log_id}
    assert len({answer.headers["x-request-id"] for answer in answers}) == len(answers)
    for answer in answers:
        if answer.status_code >= 400:
            assert answer.json()["request_id"] == answer.headers["x-request-id"]


async def test_every_request_is_one_line_that_says_what_where_and_how_long(hub: HubProcess, rest: Rest):
    session_id = await rest.create()
    path = f"/v1/sessions/{session_id}"
    session, messages = "/v1/sessions/{session_id}", "/v1/sessions/{session_id}/messages"
    many = {"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]}
    appended = await rest.http.post(f"{path}/messages", json={"role": "user", "content": "hi"})
    several = await rest.http.post(f"{path}/messages", json=many)
    async with rest.http.stream("GET", f"{path}/events") as stream:
        await anext(stream.aiter_lines())
    expected = [
        (appended, "POST", messages, session_id, appended.json()["seq"]),
        (several, "POST", messages, session_id, several.json()["results"][-1]["seq"]),
        (await rest.http.get(path), "GET", session, session_id, None),
        (
            await rest.http.get(path, params={"wait": "0.1", "after_seq": several.json()["results"][-1]["seq"]}),
            "GET",
            session,
            session_id,
            None,
        ),
        (stream, "GET", "/v1/sessions/{session_id}/events", session_id, None),
        (await rest.http.post(f"{path}/messages", json={"role": "nobody"}), "POST", messages, session_id, None),
        (await rest.http.get("/v1/log"), "GET", "/v1/log", None, None),
        (await rest.http.get("/v1/log", headers={"authorization": "Bearer no"}), "GET", "/v1/log", None, None),
        (await rest.http.put("/v1/log"), "PUT", "/v1/log", None, None),
        (await rest.http.get("/v1/nothing"), "GET", "", None, None),
        (await rest.http.get("/healthz"), "GET", "/healthz", None, None),
    ]
    for answer, method, route, about, seq in expected:
        line = await line_of(hub, answer.headers["x-request-id"])
        assert line["level"] == "info"
        assert (line["method"], line["route"], line["status"]) == (method, route, answer.status_code)
        assert line.get("session_id") == about
        assert line.get("seq") == seq
        assert 0 <= line["duration_ms"] < 60_000
        assert line.get("code") == (answer.json()["code"] if answer.status_code >= 400 else None)
    waited = await line_of(hub, expected[3][0].headers["x-request-id"])
    assert waited["duration_ms"] >= 100


async def test_the_log_is_nothing_but_json_lines(hub: HubProcess):
    lines = [line for line in hub.log().splitlines() if line]
    spoken = [line for line in lines if not line.startswith("{")]
    assert spoken == [f"Tasuki serves at {hub.url}", f"The admin token is in {hub.log_path.parent / 'token'}"]
    for line in hub.log_lines():
        assert {"time", "level", "logger", "event"} <= set(line)


async def test_nothing_that_was_said_asked_or_shown_as_a_proof_is_in_the_log(hub: HubProcess, rest: Rest):
    session_id = await rest.create(meta={"title": TITLE, "x": META}, append_id="append-secret-1")
    await rest.append(session_id, CONTENT, append_id="append-secret-2")
    await rest.call("POST", f"/v1/sessions/{session_id}/native", {"agent": "a", "version": "1", "records": [{"r": NATIVE}]})
    snapshot = (await rest.snapshot(session_id, commit_msg=COMMIT))["snapshot_id"]
    await rest.fork(snapshot, meta={"y": META})
    await rest.call("PATCH", f"/v1/sessions/{session_id}?append_id=append-secret-3", {"z": META})
    http = rest.http
    refused = [
        await http.get("/v1/sessions", params={"q": TITLE, "project_id": rest.project_id, "cursor": "cursor-secret"}),
        await http.get("/v1/sessions", params={"nonsense": CONTENT}),
        await http.get("/v1/log", headers={"authorization": f"Bearer {WRONG_TOKEN}"}),
        await http.get(f"/v1/sessions/{WRONG_TOKEN}"),
        await http.get(f"/v1/{CONTENT}"),
        await http.get("/v1/snapshots/path-secret"),
        await http.get("/v1/sessions/path-secret/lineage"),
        await http.post(f"/v1/sessions/{session_id}/messages", json={"role": CONTENT, "content": CONTENT}),
        await http.post(f"/v1/sessions/{session_id}/messages", content=f'{{"role": "user", "content": "{CONTENT}'.encode()),
        await http.post(
            f"/v1/sessions/{session_id}/messages", json={"role": "user", "content": CONTENT, "append_id": "append-secret-2", "a": 1}
        ),
        await http.post("/v1/snapshots", json={"session_id": CONTENT, "commit_msg": COMMIT}),
        await http.request("DELETE", f"/v1/sessions/{session_id}", params={"reason": REASON}),
        await http.get(f"/v1/sessions/{session_id}"),
    ]
    for answer in refused:
        await line_of(hub, answer.headers["x-request-id"])
    assert found_in(hub, [*KINDS, hub.token]) == []


async def test_not_even_at_the_level_of_debug(database):
    async with hub_of_its_own(database, log_level="debug") as (hub, rest):
        session_id = await rest.create(meta={"x": META})
        await rest.append(session_id, CONTENT)
        await rest.texts(session_id)
        for name, arguments in (
            ("append_message", {"session_id": session_id, "message": {"role": "user", "content": CONTENT}}),
            ("append_message", {"session_id": session_id, "message": CONTENT}),
            ("read_session", {"session_id": session_id}),
            (CONTENT, {}),
        ):
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
            answer = await rest.http.post("/mcp", json=call, headers={"accept": "application/json, text/event-stream"})
            assert answer.status_code == 200
            await line_of(hub, answer.headers["x-request-id"])
        assert found_in(hub, [*KINDS, hub.token]) == []


@asynccontextmanager
async def hub_of_its_own(dsn: str, **settings: str) -> AsyncIterator[tuple[HubProcess, Rest]]:
    with running_hub(dsn, **settings) as hub:
        async with hub.client() as http:
            yield hub, Rest(http, "p")


async def test_a_fault_in_the_database_is_told_by_code_and_what_it_says_stays_out_of_answer_and_log(database):
    async with hub_of_its_own(database) as (hub, rest):
        session_id = await rest.create()
        for code in ("22P05", "23505", "P0001", "XX000"):
            break_function(database, "read_page", code)
            break_function(database, "append_events", code)
            break_function(database, "append_message", code)
            path = f"/v1/sessions/{session_id}"
            for broken in (
                await rest.http.get(path),
                await rest.http.post(f"{path}/messages", json={"role": "user", "content": CONTENT}),
            ):
                assert (broken.status_code, broken.json()["code"]) == (500, "internal")
                assert CONTENT not in broken.text
                line = await line_of(hub, broken.headers["x-request-id"])
                assert (line["code"], line["sqlstate"], line["status"]) == ("internal", code, 500)
        assert found_in(hub, KINDS) == []
        assert (await rest.http.get("/healthz")).status_code == 200


async def test_waiters_are_told_of_a_fault_of_the_hub_s_own_and_the_hub_lives_on(database):
    """A function whose rows are not what was agreed makes such a fault, in the task that reads for all who wait."""
    async with hub_of_its_own(database) as (hub, rest):
        session_id = await rest.create()
        answers: dict[str, httpx2.Response] = {}
        record = {"agent": "a", "version": "1", "records": [CONTENT]}  # not a message, which would be handed to them unread

        async def wait(path: str, after_seq: int) -> None:
            answers[path] = await rest.http.get(path, params={"wait": 30, "after_seq": after_seq})

        for number, (function, path) in enumerate((("read_page", f"/v1/sessions/{session_id}"), ("read_log", "/v1/log")), 1):
            definition = definition_of(database, function)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait, path, number)
                await becomes(rest.http, waiting=1)
                answer_nonsense(database, function)
                await rest.call("POST", f"/v1/sessions/{session_id}/native", record)
            run(database, definition)
            assert (answers[path].status_code, answers[path].json()["code"]) == (500, "internal")
            assert (await line_of(hub, answers[path].headers["x-request-id"]))["code"] == "internal"
            assert await rest.texts(session_id) == []
        faults = [line for line in hub.log_lines() if line["event"] == "fault"]
        assert len(faults) >= 2
        assert all(fault["trace"] for fault in faults)
        assert found_in(hub, KINDS) == []


async def test_a_fault_in_a_commit_is_told_to_those_in_it_and_the_hub_lives_on(database):
    async with hub_of_its_own(database) as (hub, rest):
        session_id = await rest.create()
        definition = definition_of(database, "append_events")
        close_short_way(database)
        run(database, f"create or replace function store.{signature_of(database, 'append_events')} language sql as $$ {NO_ROWS} $$")
        broken = await rest.http.post(f"/v1/sessions/{session_id}/messages", json={"role": "user", "content": CONTENT})
        assert (broken.status_code, broken.json()["code"]) == (500, "internal")
        run(database, definition)
        await rest.append(session_id, "and on")
        assert await rest.texts(session_id) == ["and on"]
        assert [line["logger"] for line in hub.log_lines() if line["event"] == "fault"] == ["tasuki.committer"]
        assert found_in(hub, KINDS) == []


def break_function(dsn: str, name: str, code: str) -> None:
    """Let a function raise, with text in every place where an error has some."""
    run(dsn, RAISES.format(signature=signature_of(dsn, name), text=CONTENT, code=code))


def answer_nonsense(dsn: str, name: str) -> None:
    """Let a function answer two rows with the same seq, which no reader may ever see."""
    signature = signature_of(dsn, name)
    known = {"bigint": "7", "bytea": "'{}'::bytea", "text": f"'{CONTENT}'"}
    columns = [column.split(maxsplit=1) for column in signature.partition("TABLE(")[2].rstrip(")").split(", ")]
    row = ", ".join(f"null::{kind}" if column == "deleted_seq" else known.get(kind, f"null::{kind}") for column, kind in columns)
    run(dsn, f"create or replace function store.{signature} language sql as $$ values ({row}), ({row}) $$")


def signature_of(dsn: str, name: str) -> str:
    return str(run(dsn, SIGNATURE.format(name=name)))


def definition_of(dsn: str, name: str) -> str:
    return str(run(dsn, f"select pg_get_functiondef('store.{name}'::regproc)"))


def run(dsn: str, statement: str) -> Any:
    with psycopg.connect(dsn, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return (cursor.fetchone() or [None])[0] if cursor.description else None


async def line_of(hub: HubProcess, request_id: str) -> dict[str, Any]:
    """The one line of a request."""

    async def look() -> list[dict[str, Any]]:
        return [line for line in hub.log_lines() if line.get("request_id") == request_id and line["event"] == "request"]

    lines = await eventually(look, bool)
    assert len(lines) == 1
    return lines[0]


def found_in(hub: HubProcess, secrets: list[str]) -> list[str]:
    """The lines of the log that hold any of these."""
    return [line for line in hub.log().splitlines() for secret in secrets if secret in line]
