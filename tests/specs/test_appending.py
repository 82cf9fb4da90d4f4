"""Appending: one message or several, once each, in the order and with the bytes they came with."""

from typing import Any

import pytest
from mcpclient import Caller
from restclient import Refused, Rest


@pytest.mark.stdio
async def test_an_append_answers_with_its_seq_and_the_writers_id(caller: Caller):
    session = await caller.create()
    answer = await caller.append(session, "hi", append_id="k1")
    assert (answer["append_id"], answer["duplicate"]) == ("k1", False)
    assert [m["seq"] for m in await caller.read(session)] == [answer["seq"]]


@pytest.mark.stdio
async def test_a_writer_without_an_id_gets_one(caller: Caller):
    session = await caller.create()
    answer = await caller.append(session, "hi")
    assert (await caller.read(session))[0]["append_id"] == answer["append_id"]


@pytest.mark.stdio
async def test_a_repeated_id_answers_again_and_writes_nothing(caller: Caller):
    session = await caller.create()
    first = await caller.append(session, "hi", append_id="k1")
    head = await caller.log_head()
    again = await caller.append(session, "hi", append_id="k1")
    assert (again["seq"], first["duplicate"], again["duplicate"]) == (first["seq"], False, True)
    assert await caller.log_head() == head


async def test_a_repeat_through_another_skin_is_a_repeat(caller: Caller, rest: Rest):
    session = await rest.create()
    message: dict[str, Any] = {"thinking": {"content": "é 字", "encrypted": False}, "n": 1.10, "append_id": "k1"}
    first = await rest.append(session, "hi", **message)
    again = await caller.append(session, "hi", **message)
    assert (again["seq"], again["duplicate"]) == (first["seq"], True)


@pytest.mark.stdio
async def test_the_same_id_with_another_body_is_refused(caller: Caller):
    session = await caller.create()
    await caller.append(session, "hi", append_id="k1")
    with pytest.raises(Refused) as refused:
        await caller.append(session, "ho", append_id="k1")
    assert refused.value.code == "append_id_reused"


async def test_equal_bodies_under_two_ids_are_two_messages(caller: Caller):
    session = await caller.create()
    await caller.append(session, "yes", append_id="k1")
    await caller.append(session, "yes", append_id="k2")
    assert await caller.texts(session) == ["yes", "yes"]


async def test_an_id_is_the_sessions_own(caller: Caller):
    one, other = await caller.create(), await caller.create()
    first = await caller.append(one, "hi", append_id="k1")
    second = await caller.append(other, "ho", append_id="k1")
    assert second["seq"] == first["seq"] + 1


@pytest.mark.stdio
async def test_expected_seq_that_is_not_the_head_is_refused_with_the_head(caller: Caller):
    session = await caller.create()
    head = (await caller.append(session, "a", expected_seq=0))["seq"]
    with pytest.raises(Refused, match=rf"\b{head}\b") as refused:
        await caller.append(session, "b", expected_seq=0)
    assert refused.value.code == "seq_conflict"
    await caller.append(session, "b", expected_seq=head)


async def test_a_snapshot_or_a_meta_change_makes_no_writer_stale(caller: Caller):
    session = await caller.create()
    head = (await caller.append(session, "a"))["seq"]
    await caller.snapshot(session)
    await caller.patch(session, {"title": "t"})
    await caller.append(session, "b", expected_seq=head)


async def test_a_repeat_is_told_before_a_stale_head(caller: Caller):
    session = await caller.create()
    first = await caller.append(session, "a", append_id="a", expected_seq=0)
    again = await caller.append(session, "a", append_id="a", expected_seq=0)
    assert (again["seq"], again["duplicate"]) == (first["seq"], True)


async def test_a_message_comes_back_as_the_value_it_was(caller: Caller):
    session = await caller.create()
    said: dict[str, Any] = {
        "role": "assistant",
        "content": [{"type": "text", "text": "é 字 😀 \u0000 \u007f"}, {"type": "image_url", "image_url": {"url": "data:,x"}}],
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"not": json'}}],
        "thinking": {"content": None, "encrypted": True, "items": [{"data": "gAAA", "signature": "s"}]},
        "metadata": {"usage": {"input_tokens": 1.5, "n": 10**17}, "agent_source": "hermes"},
        "of_their_own": [None, True, {"deep": [[]]}],
    }
    await caller.append(session, **said)
    message = (await caller.read(session))[0]
    assert {name: message[name] for name in said} == said


async def test_a_tool_result_names_its_call(caller: Caller):
    session = await caller.create()
    with pytest.raises(Refused) as refused:
        await caller.append(session, "out", role="tool")
    assert refused.value.code == "invalid_message"
    await caller.append(session, "out", role="tool", tool_call_id="c1")
    assert (await caller.read(session))[0]["tool_call_id"] == "c1"


@pytest.mark.stdio
@pytest.mark.parametrize("fields", [{"role": "wizard"}, {"role": None}, {"content": 5}, {"tool_calls": {}}, {"created_at": "now"}])
async def test_what_is_no_message_is_refused_and_not_written(caller: Caller, fields: dict):
    session, head = await caller.create(), await caller.log_head()
    with pytest.raises(Refused) as refused:
        await caller.append(session, **fields)
    assert refused.value.code == "invalid_message"
    assert await caller.log_head() == head


async def test_native_is_kept_apart(caller: Caller, rest: Rest):
    session = await caller.create()
    native = {"agent": "claude-code", "version": "2.1.38", "line": {"a": [1.10, "x"]}}
    await caller.append(session, "hi", native=native)
    assert "native" not in (await caller.read(session))[0]
    assert (await rest.read(session, native=1))[0]["native"] == native


async def test_the_agent_is_filled_in_from_the_session_where_a_message_does_not_say(caller: Caller):
    session = await caller.create(meta={"agent_source": "hermes"})
    await caller.append(session, "a")
    await caller.append(session, "b", metadata={"agent_source": "dsh", "model": "m"})
    assert [m["metadata"]["agent_source"] for m in await caller.read(session)] == ["hermes", "dsh"]


async def test_what_a_writer_says_of_place_and_session_is_dropped(caller: Caller):
    session = await caller.create()
    answer = await caller.append(session, "hi", session_id="ses_other", seq=99)
    message = (await caller.read(session))[0]
    assert (message["session_id"], message["seq"]) == (session, answer["seq"])


async def test_the_writers_time_is_kept_as_sent_and_orders_nothing(caller: Caller):
    session = await caller.create()
    for moment in ("2030-01-01T00:00:00+09:00", "1999-12-31T23:59:59.123456789Z"):
        await caller.append(session, moment, created_at=moment)
    messages = await caller.read(session)
    assert [m["created_at"] for m in messages] == [m["content"] for m in messages]


async def test_a_secret_is_gone_before_it_is_stored_and_the_answer_counts_it(caller: Caller):
    session = await caller.create()
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    answer = await caller.append(session, f"token {secret}")
    assert sum(answer["redactions"].values()) == 1
    assert secret not in (await caller.texts(session))[0]


@pytest.mark.stdio
async def test_appending_to_what_is_not_there_is_told(caller: Caller):
    with pytest.raises(Refused) as refused:
        await caller.append("ses_nope", "hi")
    assert refused.value.code == "session_not_found"


# --- over REST alone: several messages in one request, native records, the statuses, the bytes as they came


async def test_a_first_answer_is_201_and_its_repeat_200(rest: Rest):
    session = await rest.create()
    assert [(await rest.append(session, "hi", append_id="k1"))["_status"] for _ in "12"] == [201, 200]


async def test_refusals_have_their_status_and_their_facts(rest: Rest):
    session = await rest.create()
    first = await rest.append(session, "hi", append_id="k1")
    with pytest.raises(Refused) as refused:
        await rest.append(session, "ho", append_id="k1")
    assert (refused.value.status, refused.value.problem["seq"]) == (409, first["seq"])
    with pytest.raises(Refused) as refused:
        await rest.append(session, "ho", expected_seq=0)
    assert (refused.value.status, refused.value.problem["head_seq"]) == (409, first["seq"])
    with pytest.raises(Refused) as refused:
        await rest.append("ses_nope", "hi")
    assert refused.value.status == 404


async def test_a_repeat_spelled_otherwise_is_the_same_value_and_a_repeat(rest: Rest):
    session = await rest.create()
    path = f"/v1/sessions/{session}/messages"
    first = await rest.call("POST", path, '{"role":"user","content":"é","append_id":"k","n":1.10}')
    again = await rest.call("POST", path, '{ "n": 1.1, "append_id":"k", "content": "\\u00e9", "role": "user" }')
    assert (again["seq"], again["duplicate"]) == (first["seq"], True)


async def test_several_messages_get_consecutive_seqs_in_their_order(rest: Rest):
    session = await rest.create()
    answer = await rest.append_all(session, [{"role": "user", "content": str(n)} for n in range(5)])
    seqs = [result["seq"] for result in answer["results"]]
    assert seqs == list(range(seqs[0], seqs[0] + 5))
    assert await rest.texts(session) == ["0", "1", "2", "3", "4"]


async def test_one_bad_message_stops_all_of_its_request(rest: Rest):
    session, head = await rest.create(), await rest.log_head()
    with pytest.raises(Refused) as refused:
        await rest.append_all(session, [{"role": "user", "content": "good"}, {"role": "wizard", "content": "bad"}])
    assert (refused.value.status, refused.value.code, refused.value.problem["index"]) == (422, "invalid_message", 1)
    assert await rest.log_head() == head


async def test_repeats_in_a_request_keep_their_seqs_and_the_rest_is_written(rest: Rest):
    session = await rest.create()
    first = await rest.append(session, "a", append_id="a")
    answer = await rest.append_all(
        session, [{"role": "user", "content": "a", "append_id": "a"}, {"role": "user", "content": "b", "append_id": "b"}]
    )
    assert [r["duplicate"] for r in answer["results"]] == [True, False]
    assert answer["results"][0]["seq"] == first["seq"]
    assert await rest.texts(session) == ["a", "b"]


async def test_a_request_that_repeats_itself_writes_once(rest: Rest):
    session = await rest.create()
    twice = {"role": "user", "content": "a", "append_id": "a"}
    answer = await rest.append_all(session, [twice, twice])
    assert [r["duplicate"] for r in answer["results"]] == [False, True]
    assert len({r["seq"] for r in answer["results"]}) == 1
    with pytest.raises(Refused, match="another message of this request"):
        await rest.append_all(session, [{**twice, "append_id": "b"}, {**twice, "append_id": "b", "content": "c"}])


async def test_expected_seq_may_stand_in_the_body_of_a_list(rest: Rest):
    session = await rest.create()
    first = await rest.append_all(session, [{"role": "user", "content": "a", "append_id": "a"}], expected_seq=0)
    again = await rest.append_all(session, [{"role": "user", "content": "a", "append_id": "a"}], expected_seq=0)
    assert (again["duplicate"], again["results"][0]["seq"]) == (True, first["results"][0]["seq"])
    with pytest.raises(Refused) as refused:
        await rest.append_all(session, [{"role": "user", "content": "b"}], expected_seq=0)
    assert refused.value.code == "seq_conflict"


async def test_records_that_are_no_message_are_kept_and_are_no_message(rest: Rest):
    session = await rest.create()
    body = {"agent": "claude-code", "version": "2", "records": [{"type": "progress"}], "append_id": "r1"}
    path = f"/v1/sessions/{session}/native"
    first, again = await rest.call("POST", path, body), await rest.call("POST", path, body)
    assert (first["seq"], first["_status"], again["_status"]) == (again["seq"], 201, 200)
    assert await rest.read(session) == []
    event = (await rest.call("GET", "/v1/log", params={"after_seq": first["seq"] - 1}))["events"][0]
    assert (event["kind"], event["payload"]["records"]) == ("native.recorded", [{"type": "progress"}])


async def test_an_agent_that_nobody_names_is_unknown_unless_the_client_says_who_it_is(rest: Rest):
    session = await rest.create()
    await rest.append(session, "a")
    await rest.call("POST", f"/v1/sessions/{session}/messages", {"role": "user", "content": "b"}, headers={"Tasuki-Client": "mine"})
    assert [m["metadata"] for m in await rest.read(session)] == [{"agent_source": "unknown"}, {"agent_source": "mine"}]
