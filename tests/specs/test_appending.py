"""Appending: one message or several, once each, in the order and with the bytes they came with."""

import pytest
from restclient import Refused, Rest


async def test_an_append_answers_with_its_seq_and_the_writers_id(rest: Rest):
    session = await rest.create()
    answer = await rest.append(session, "hi", append_id="k1")
    assert (answer["append_id"], answer["duplicate"], answer["_status"]) == ("k1", False, 201)
    assert [m["seq"] for m in await rest.read(session)] == [answer["seq"]]


async def test_a_writer_without_an_id_gets_one(rest: Rest):
    session = await rest.create()
    answer = await rest.append(session, "hi")
    assert (await rest.read(session))[0]["append_id"] == answer["append_id"]


async def test_a_repeated_id_answers_again_and_writes_nothing(rest: Rest):
    session = await rest.create()
    first = await rest.append(session, "hi", append_id="k1")
    head = await rest.log_head()
    again = await rest.append(session, "hi", append_id="k1")
    assert (again["seq"], again["duplicate"], again["_status"]) == (first["seq"], True, 200)
    assert await rest.log_head() == head


async def test_a_repeat_spelled_otherwise_is_the_same_value_and_a_repeat(rest: Rest):
    session = await rest.create()
    path = f"/v1/sessions/{session}/messages"
    first = await rest.call("POST", path, '{"role":"user","content":"é","append_id":"k","n":1.10}')
    again = await rest.call("POST", path, '{ "n": 1.1, "append_id":"k", "content": "\\u00e9", "role": "user" }')
    assert (again["seq"], again["duplicate"]) == (first["seq"], True)


async def test_the_same_id_with_another_body_is_refused(rest: Rest):
    session = await rest.create()
    first = await rest.append(session, "hi", append_id="k1")
    with pytest.raises(Refused) as refused:
        await rest.append(session, "ho", append_id="k1")
    assert (refused.value.status, refused.value.code) == (409, "append_id_reused")
    assert refused.value.problem["seq"] == first["seq"]


async def test_equal_bodies_under_two_ids_are_two_messages(rest: Rest):
    session = await rest.create()
    await rest.append(session, "yes", append_id="k1")
    await rest.append(session, "yes", append_id="k2")
    assert await rest.texts(session) == ["yes", "yes"]


async def test_an_id_is_the_sessions_own(rest: Rest):
    one, other = await rest.create(), await rest.create()
    first = await rest.append(one, "hi", append_id="k1")
    second = await rest.append(other, "ho", append_id="k1")
    assert second["seq"] == first["seq"] + 1


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


async def test_expected_seq_that_is_not_the_head_is_refused_with_the_head(rest: Rest):
    session = await rest.create()
    first = await rest.append_all(session, [{"role": "user", "content": "a"}], expected_seq=0)
    head = first["results"][0]["seq"]
    with pytest.raises(Refused) as refused:
        await rest.append_all(session, [{"role": "user", "content": "b"}], expected_seq=0)
    assert (refused.value.status, refused.value.code, refused.value.problem["head_seq"]) == (409, "seq_conflict", head)
    await rest.append_all(session, [{"role": "user", "content": "b"}], expected_seq=head)


async def test_a_snapshot_or_a_meta_change_makes_no_writer_stale(rest: Rest):
    session = await rest.create()
    head = (await rest.append(session, "a"))["seq"]
    await rest.snapshot(session)
    await rest.call("PATCH", f"/v1/sessions/{session}", {"title": "t"})
    await rest.append_all(session, [{"role": "user", "content": "b"}], expected_seq=head)


async def test_a_repeat_is_told_before_a_stale_head(rest: Rest):
    session = await rest.create()
    body = {"role": "user", "content": "a", "append_id": "a"}
    first = await rest.append_all(session, [body], expected_seq=0)
    again = await rest.append_all(session, [body], expected_seq=0)
    assert again["duplicate"]
    assert again["results"][0]["seq"] == first["results"][0]["seq"]


async def test_native_is_kept_apart_and_given_when_asked_for(rest: Rest):
    session = await rest.create()
    native = {"agent": "claude-code", "version": "2.1.38", "line": {"a": [1.10, "x"]}}
    await rest.append(session, "hi", native=native)
    assert "native" not in (await rest.read(session))[0]
    assert (await rest.read(session, native=1))[0]["native"] == native


async def test_records_that_are_no_message_are_kept_and_are_no_message(rest: Rest):
    session = await rest.create()
    body = {"agent": "claude-code", "version": "2", "records": [{"type": "progress"}], "append_id": "r1"}
    path = f"/v1/sessions/{session}/native"
    first, again = await rest.call("POST", path, body), await rest.call("POST", path, body)
    assert (first["seq"], first["_status"], again["_status"]) == (again["seq"], 201, 200)
    assert await rest.read(session) == []
    event = (await rest.call("GET", "/v1/log", params={"after_seq": first["seq"] - 1}))["events"][0]
    assert (event["kind"], event["payload"]["records"]) == ("native.recorded", [{"type": "progress"}])


async def test_the_agent_is_filled_in_from_the_session_where_a_message_does_not_say(rest: Rest):
    session = await rest.create(meta={"agent_source": "hermes"})
    await rest.append(session, "a")
    await rest.append(session, "b", metadata={"agent_source": "dsh", "model": "m"})
    other = await rest.create()
    await rest.append(other, "c")
    assert [m["metadata"]["agent_source"] for m in await rest.read(session)] == ["hermes", "dsh"]
    assert (await rest.read(other))[0]["metadata"] == {"agent_source": "unknown"}


async def test_what_a_writer_says_of_place_and_session_is_dropped(rest: Rest):
    session = await rest.create()
    body = {"role": "user", "content": "hi", "session_id": "ses_other", "seq": 99}
    answer = await rest.call("POST", f"/v1/sessions/{session}/messages", body)
    message = (await rest.read(session))[0]
    assert (message["session_id"], message["seq"]) == (session, answer["seq"])


async def test_the_writers_time_is_kept_as_sent_and_orders_nothing(rest: Rest):
    session = await rest.create()
    for moment in ("2030-01-01T00:00:00+09:00", "1999-12-31T23:59:59.123456789Z"):
        await rest.append(session, moment, created_at=moment)
    messages = await rest.read(session)
    assert [m["created_at"] for m in messages] == [m["content"] for m in messages]


async def test_appending_to_what_is_not_there_is_told(rest: Rest):
    with pytest.raises(Refused) as refused:
        await rest.append("ses_nope", "hi")
    assert (refused.value.status, refused.value.code) == (404, "session_not_found")
