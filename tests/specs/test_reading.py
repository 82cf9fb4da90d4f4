"""Reading and tailing: pages by cursor, waiting for what comes, a stream of every event."""

import json
from collections.abc import AsyncIterator

import anyio
import httpx2
import pytest
from mcpclient import Caller
from restclient import Refused, Rest
from tails import becomes


@pytest.mark.stdio
async def test_pages_are_cut_by_limit_and_say_where_to_go_on(caller: Caller):
    session = await caller.create()
    await caller.append_all(session, [{"role": "user", "content": str(n)} for n in range(7)])
    first = await caller.page(session, limit=3)
    assert ([m["content"] for m in first["messages"]], first["has_more"]) == (["0", "1", "2"], True)
    assert first["next_after_seq"] == first["messages"][-1]["seq"]
    assert await caller.texts(session, limit=3) == list("0123456")


async def test_a_page_says_where_the_head_is_and_that_there_is_no_more(caller: Caller):
    session = await caller.create()
    assert (await caller.page(session))["head_seq"] == 0
    head = (await caller.append(session, "a"))["seq"]
    page = await caller.page(session)
    assert (page["session_id"], page["next_after_seq"], page["head_seq"], page["has_more"]) == (session, head, head, False)


@pytest.mark.stdio
async def test_a_wait_ends_with_the_first_message_that_comes(caller: Caller, rest: Rest):
    session = await caller.create()
    answers = []

    async def wait() -> None:
        answers.append(await caller.page(session, wait=30))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await becomes(rest.http, waiting=1)
        await rest.append(session, "woke")
    assert [m["content"] for m in answers[0]["messages"]] == ["woke"]


async def test_who_waited_and_who_reads_later_get_the_same_bytes(rest: Rest):
    session = await rest.create()
    messages = [
        '{"role":"user","content":"\\ud800 \\u0000 é","native":{"b":1.50,"a":null}}',
        '{"role":"assistant","content":"secret AKIA' + "Q3EGWJ7XLMZ4PTNS" + '","metadata":{"n":123456789012345678901}}',
        '{"role":"user",\n"content":[{"type":"text","text":"x"}]}',
    ]
    path, waits = f"/v1/sessions/{session}", {}

    async def wait(native: int) -> None:
        query = {"after_seq": 0, "wait": 30, "native": native}
        waits[native] = (await rest.http.get(path, params=query)).content

    async with anyio.create_task_group() as tasks, rest.http.stream("GET", f"{path}/events", timeout=30) as stream:
        for native in (0, 1):
            tasks.start_soon(wait, native)
        await becomes(rest.http, waiting=3)
        await rest.call("POST", f"{path}/messages", f'{{"messages":[{",".join(messages)}]}}')
        streamed = b""
        async for data in stream.aiter_bytes():
            streamed += data
            if streamed.count(b"event: message.appended") == 3 and streamed.endswith(b"\n\n"):
                break
    for native in (0, 1):
        assert (await rest.http.get(path, params={"after_seq": 0, "native": native})).content == waits[native]
    async with rest.http.stream("GET", f"{path}/events", timeout=30) as stream:
        async for again in stream.aiter_bytes():
            if again.startswith(b"event"):
                break
    assert again == streamed[streamed.index(b"event") :]


@pytest.mark.stdio
async def test_a_wait_for_nothing_ends_with_an_empty_page_and_the_cursor(caller: Caller):
    session = await caller.create()
    head = (await caller.append(session, "a"))["seq"]
    page = await caller.page(session, after_seq=head, wait=0.2)
    assert (page["messages"], page["next_after_seq"], page["head_seq"], page["has_more"]) == ([], head, head, False)


async def test_a_waiter_on_a_fork_is_not_woken_by_its_parent(caller: Caller, rest: Rest):
    session = await caller.create()
    fork = await caller.fork((await caller.snapshot(session))["snapshot_id"])
    answers = []

    async def wait() -> None:
        answers.append(await caller.page(fork, wait=30))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await becomes(rest.http, waiting=1)
        await rest.append(session, "parent")
        await rest.append(fork, "child")
    assert [m["content"] for m in answers[0]["messages"]] == ["child"]


@pytest.mark.stdio
@pytest.mark.parametrize("wait", [0, 5])
async def test_a_cursor_beyond_the_log_is_refused_at_once(caller: Caller, wait: int):
    session = await caller.create()
    with pytest.raises(Refused) as refused:
        await caller.page(session, after_seq=10**9, wait=wait)
    assert refused.value.code == "cursor_ahead"


async def test_a_page_names_its_history(caller: Caller, rest: Rest):
    session = await caller.create()
    assert (await caller.page(session))["log_id"] == (await rest.call("GET", "/healthz"))["log_id"]


async def test_arguments_out_of_range_or_unknown_are_refused(caller: Caller):
    session = await caller.create()
    for query in ({"after_seq": -1}, {"after_seq": "x"}, {"limit": 0}, {"limit": 1001}, {"wait": -1}, {"after": 3}):
        with pytest.raises(Refused) as refused:
            await caller.page(session, **query)
        assert refused.value.code == "invalid_request", query


# --- over REST alone: pages by bytes, the log, the stream, another log's cursor


async def test_a_page_is_cut_by_bytes_but_never_below_one_message(rest: Rest):
    session = await rest.create()
    for n in range(3):
        await rest.append(session, str(n) * 3_000_000)
    page = await rest.page(session)
    assert (len(page["messages"]), page["has_more"]) == (1, True)
    assert [text[0] for text in await rest.texts(session)] == ["0", "1", "2"]


async def test_the_whole_log_is_read_and_tailed_in_order(rest: Rest):
    head = await rest.log_head()
    session = await rest.create(meta={"n": 1})
    await rest.append(session, "a", append_id="k")
    await rest.snapshot(session, commit_msg="m")
    page = await rest.call("GET", "/v1/log", params={"after_seq": head})
    assert [e["seq"] for e in page["events"]] == [head + 1, head + 2, head + 3]
    assert [e["kind"] for e in page["events"]] == ["session.created", "message.appended", "snapshot.created"]
    assert page["events"][1]["append_id"] == "k"
    assert page["events"][1]["payload"]["content"] == "a"
    answers = []

    async def wait() -> None:
        answers.append(await rest.call("GET", "/v1/log", params={"after_seq": head + 3, "wait": 30}))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await becomes(rest.http, waiting=1)
        await rest.append(session, "b")
    assert [e["payload"]["content"] for e in answers[0]["events"]] == ["b"]


async def test_a_stream_gives_every_kind_from_the_start_and_what_comes(rest: Rest):
    session = await rest.create()
    await rest.append(session, "two\nlines")
    async with rest.http.stream("GET", f"/v1/sessions/{session}/events") as stream:
        events = sse(stream)
        assert [(await anext(events))[0] for _ in "12"] == ["session.created", "message.appended"]
        await rest.call("PATCH", f"/v1/sessions/{session}", {"title": "t"})
        kind, _, data = await anext(events)
        assert (kind, data) == ("session.meta_updated", {"title": "t"})
        await rest.call("DELETE", f"/v1/sessions/{session}")
        assert (await anext(events))[0] == "session.deleted"
        assert [event async for event in events] == [], "the stream ends with its session"


async def test_a_stream_resumes_after_the_last_event_id(rest: Rest):
    session = await rest.create()
    seqs = [(await rest.append(session, text))["seq"] for text in ("a", "b")]
    headers = {"Last-Event-ID": str(seqs[0])}
    async with rest.http.stream("GET", f"/v1/sessions/{session}/events", headers=headers) as stream:
        kind, last_id, data = await anext(sse(stream))
    assert (kind, last_id, data["content"]) == ("message.appended", str(seqs[1]), "b")


async def test_a_stream_of_a_fork_begins_with_what_it_inherits(rest: Rest):
    session = await rest.create()
    await rest.append(session, "a")
    fork = await rest.fork((await rest.snapshot(session))["snapshot_id"])
    async with rest.http.stream("GET", f"/v1/sessions/{fork}/events") as stream:
        events = sse(stream)
        assert [(await anext(events))[0] for _ in "12"] == ["message.appended", "session.forked"]


async def test_json_with_line_breaks_survives_a_stream(rest: Rest):
    session = await rest.create()
    await rest.call(
        "POST",
        f"/v1/sessions/{session}/messages",
        '{"role":"user",\r\n "content":\n["x"\r, {"type":"text"}]}'.replace('["x"\r, ', "["),
    )
    async with rest.http.stream(
        "GET", f"/v1/sessions/{session}/events", headers={"Last-Event-ID": str((await rest.log_head()) - 1)}
    ) as stream:
        _, _, data = await anext(sse(stream))
    assert data["content"] == [{"type": "text"}]


async def test_the_cursor_of_another_history_is_refused(rest: Rest):
    session = await rest.create()
    for query in ({"after_seq": 10**9}, {"after_seq": 0, "log_id": "log_other"}):
        with pytest.raises(Refused) as refused:
            await rest.page(session, **query)
        assert (refused.value.status, refused.value.code) == (409, "cursor_ahead")
    page = await rest.page(session)
    assert (await rest.page(session, log_id=page["log_id"]))["log_id"] == page["log_id"]


async def test_every_answer_names_its_history(rest: Rest):
    for path in ("/healthz", "/v1/log", "/v1/nothing"):
        assert (await rest.http.get(path)).headers["tasuki-log-id"].startswith("log_")


async def test_parameters_out_of_range_or_unknown_are_refused(rest: Rest):
    session = await rest.create()
    for query in ("after_seq=x", "after_seq=-1", "limit=0", "limit=1001", "wait=-1", "wait=61", "wait=nan", "native=2", "after=3"):
        with pytest.raises(Refused) as refused:
            await rest.call("GET", f"/v1/sessions/{session}?{query}")
        assert (refused.value.status, refused.value.code) == (400, "invalid_request"), query


async def sse(stream: httpx2.Response) -> AsyncIterator[tuple[str, str, dict]]:
    """Server-sent events as (kind, id, data)."""
    fields: dict[str, list[str]] = {}
    async for line in stream.aiter_lines():
        name, _, value = line.partition(": ")
        if line and name:
            fields.setdefault(name, []).append(value)
        elif not line and "event" in fields:
            yield fields["event"][0], fields["id"][0], json.loads("\n".join(fields["data"]))
            fields = {}
        elif not line:
            fields = {}
