"""Whatever JSON can say is kept byte by byte, or refused by name; and nobody's content stops anybody else's."""

import json
from collections.abc import Callable

import anyio
import pytest
from restclient import Refused, Rest

from eventstore.wire.codec import NESTING_MAX, Document, items, parse_object

DEADLINE_S = 120
MIB = 1024 * 1024
STRINGS = {
    "nul": r'"a\u0000b\u0000"',
    "lone surrogates": r'"\ud83d x \uDE00 \udfff\ud800"',
    "a pair in escapes": r'"\ud83d\ude00"',
    "four bytes": '"😀 𝔘 \U0010ffff"',
    "right to left": '"שלום \u202e مرحبا \u200f"',
    "empty": '""',
    "controls": r'"\u0001\u001f\b\f\/"',
    "line ends that are none": '"\u2028\u2029\x7f\ufeff\uffff"',
    "json in a string": r'"{\"a\":\"\\u0000\"}"',
    "not json in a string": r'"{\"a\": [1,"',
}
NUMBERS = ["18446744073709551617", "-0", "1E400", "1e-400", "0.10", "-1.5e+3", "1e99999999999999999999", "9" * 5000]
OTHERS = ["null", "{}", "[]", "[ ]", '{ "z" : 1 ,\n "a" : 2 }', r'{"\u0000":{"\ud800":""},"":null," ":[[]]}', "[1,[2.0,[true]]]"]
VALUES = [*STRINGS.values(), *NUMBERS, *OTHERS]


async def send(rest: Rest, session: str, body: str) -> dict[str, object]:
    return await rest.call("POST", f"/v1/sessions/{session}/messages", body)


async def stored(rest: Rest, session: str, query: str = "") -> list[Document]:
    """The session's messages as the text that came over the wire."""
    answer = await rest.http.get(f"/v1/sessions/{session}?limit=1000{query}")
    assert answer.status_code == 200
    return [parse_object(item) for item in items(parse_object(answer.content.decode()).source("messages"))]


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


# --- kept


@pytest.mark.parametrize("text", STRINGS.values(), ids=STRINGS)
async def test_a_string_is_kept_byte_by_byte_wherever_it_stands(rest: Rest, text: str):
    session = await rest.create()
    call = f'{{"id":{text},"type":"function","function":{{"name":{text},"arguments":{text}}}}}'
    fields = {
        "role": '"assistant"',
        "content": text,
        "tool_calls": f"[{call}]",
        "thinking": f'{{"content":{text},"items":[{{"text":{text},{text}:{text}}}]}}',
        "metadata": f'{{{text}:{text},"agent_source":{text},"model":{text},"deep":[{{"a":{text}}}]}}',
        "native": f"{{{text}:[{text}]}}",
        "x-own": text,
    }
    await send(rest, session, "{" + ",".join(f'"{name}":{value}' for name, value in fields.items()) + "}")
    await send(rest, session, f'{{"role":"user","content":[{{"type":"text","text":{text}}},{{"type":{text},{text}:{text}}}]}}')
    first, second = await stored(rest, session, "&native=1")
    assert {name: first.source(name) for name in fields} == fields
    assert second.source("content") == f'[{{"type":"text","text":{text}}},{{"type":{text},{text}:{text}}}]'


@pytest.mark.parametrize("value", VALUES, ids=[value[:24] for value in VALUES])
async def test_a_value_is_kept_in_fields_metadata_native_and_records(rest: Rest, value: str):
    session = await rest.create()
    await send(rest, session, f'{{"role":"user","x":{value},"metadata":{{"x":{value}}},"native":{{"x":{value}}}}}')
    (message,) = await stored(rest, session, "&native=1")
    assert message.source("x") == value
    assert parse_object(message.source("metadata")).source("x") == value
    assert parse_object(message.source("native")).source("x") == value
    await rest.call("POST", f"/v1/sessions/{session}/native", f'{{"agent":"a","version":"1","records":[{value}, {value}]}}')
    log = await rest.http.get("/v1/log", params={"after_seq": await rest.log_head() - 1})
    (event,) = items(parse_object(log.content.decode()).source("events"))
    assert parse_object(parse_object(event).source("payload")).source("records") == f"[{value}, {value}]"


@pytest.mark.parametrize("value", VALUES, ids=[value[:24] for value in VALUES])
async def test_a_value_is_kept_in_the_meta_of_sessions_and_snapshots(rest: Rest, value: str):
    body = f'{{"project_id":{json.dumps(rest.project_id)},"meta":{{"x":{value}}}}}'
    session = str((await rest.call("POST", "/v1/sessions", body))["session_id"])
    snapshot = await rest.call("POST", "/v1/snapshots", f'{{"session_id":"{session}","meta":{{"x":{value}}},"commit_msg":"c"}}')

    async def read(path: str) -> Document:
        return parse_object((await rest.http.get(path)).content.decode())

    lists = await read(f"/v1/sessions?project_id={rest.project_id}")
    for shown in (parse_object(items(lists.source("sessions"))[0]), await read(f"/v1/sessions/{session}/lineage")):
        assert parse_object(shown.source("meta")).source("x") == value
    one = await read(f"/v1/snapshots/{snapshot['snapshot_id']}")
    assert parse_object(one.source("meta")).source("x") == value


@pytest.mark.parametrize("text", STRINGS.values(), ids=STRINGS)
async def test_a_title_agent_or_commit_message_of_any_text_is_listed_and_found(rest: Rest, text: str):
    body = f'{{"project_id":{json.dumps(rest.project_id)},"meta":{{"title":{text},"agent_source":{text}}}}}'
    session = str((await rest.call("POST", "/v1/sessions", body))["session_id"])
    snapshot = await rest.call("POST", "/v1/snapshots", f'{{"session_id":"{session}","commit_msg":{text}}}')
    await rest.append(session, "hi")
    patched = await rest.call("PATCH", f"/v1/sessions/{session}", f'{{"more":{text}}}')
    assert patched["meta"] == json.loads(f'{{"title":{text},"agent_source":{text},"more":{text}}}')
    assert (await rest.call("GET", f"/v1/snapshots/{snapshot['snapshot_id']}"))["commit_msg"] == json.loads(text)
    assert [
        s["session_id"] for s in (await rest.call("GET", "/v1/sessions", params={"project_id": rest.project_id}))["sessions"]
    ] == [session]


async def test_a_fields_place_is_kept_and_the_servers_own_come_first(rest: Rest):
    session = await rest.create()
    body = '{"z":1,"content":"hi","seq":99,"b":2,"session_id":"ses_theirs","native":{"n":1},"role":"user","a":3}'
    await send(rest, session, body)
    (message,) = await stored(rest, session)
    assert list(message.fields) == ["session_id", "seq", "append_id", "created_at", "metadata", "z", "content", "b", "role", "a"]
    assert message.fields["session_id"] == session
    assert message.source("seq") != "99"
    (message,) = await stored(rest, session, "&native=1")
    assert list(message.fields)[-1] == "native"


async def test_white_space_between_fields_is_all_that_is_not_kept(rest: Rest):
    session = await rest.create()
    await send(rest, session, ' {"role" : "user" ,\n\t"content":[ { "type" : "text" , "text" : "a" } ] , "x" : { } } ')
    (message,) = await stored(rest, session)
    assert message.text.endswith('"role" : "user","content":[ { "type" : "text" , "text" : "a" } ],"x" : { }}')


@pytest.mark.parametrize("value", VALUES, ids=[value[:24] for value in VALUES])
async def test_a_repeat_of_it_is_known_and_another_value_is_not(rest: Rest, value: str):
    session = await rest.create()
    body = f'{{"role":"user","append_id":"k","x":{value}}}'
    first, again = await send(rest, session, body), await send(rest, session, f" {body} ")
    assert (again["seq"], again["duplicate"], again["_status"]) == (first["seq"], True, 200)
    with pytest.raises(Refused) as refused:
        await send(rest, session, '{"role":"user","append_id":"k","x":"another"}')
    assert refused.value.code == "append_id_reused"


# --- refused by name


@pytest.mark.parametrize(
    "body",
    [
        '{"role":"user","role":"user"}',
        '{"role":"user","metadata":{"a":1,"a":1}}',
        r'{"role":"user","metadata":{"a":[{"b":1,"\u0062":2}]}}',
        '{"role":"user","native":{"x":{"":1,"":2}}}',
        r'{"messages":[{"role":"user"},{"role":"user","x":{"\ud800":1,"\uD800":2}}]}',
        '{"role":"user","x":NaN}',
        '{"role":"user","x":-Infinity}',
        '{"role":"user","x":01}',
        '{"role":"user","x":"\n"}',
        '{"role":"user"} {"role":"user"}',
        '{"role":"user",}',
        "",
        "null",
    ],
)
async def test_what_is_no_json_to_keep_is_refused_and_nothing_of_it_is_written(rest: Rest, body: str):
    session = await rest.create()
    for path in (f"/v1/sessions/{session}/messages", f"/v1/sessions/{session}/native", "/v1/sessions", "/v1/snapshots"):
        with pytest.raises(Refused) as refused:
            await rest.call("POST", path, body)
        assert (refused.value.status, refused.value.code) in [(400, "invalid_json"), (400, "invalid_request")]
    assert await rest.read(session) == []


@pytest.mark.parametrize(
    "raw", [b'{"role":"user","x":"\xff"}', b'{"role":"user","x":"\xed\xa0\x80"}', b"\xef\xbb\xbf{}", "é{}".encode("utf-16")]
)
async def test_bytes_that_are_no_utf8_are_refused(rest: Rest, raw: bytes):
    session = await rest.create()
    with pytest.raises(Refused) as refused:
        await rest.call("POST", f"/v1/sessions/{session}/messages", raw)
    assert (refused.value.status, refused.value.code) == (400, "invalid_json")


async def test_nesting_is_kept_at_the_limit_and_refused_one_past_it(rest: Rest):
    session = await rest.create()
    for name in ("x", "metadata"):
        value = nested(NESTING_MAX - 1) if name == "x" else f'{{"x":{nested(NESTING_MAX - 2)}}}'
        await send(rest, session, f'{{"role":"user","{name}":{value}}}')
        with pytest.raises(Refused) as refused:
            await send(rest, session, f'{{"role":"user","{name}":{{"deeper":{value}}}}}')
        assert (refused.value.status, refused.value.code) == (400, "invalid_json")
        assert "128" in refused.value.detail
    page = (await rest.http.get(f"/v1/sessions/{session}")).text
    assert f'"role":"user","x":{nested(NESTING_MAX - 1)}}}' in page
    assert f'"x":{nested(NESTING_MAX - 2)}}},"role":"user"' in page
    assert len(json.loads(page)["messages"]) == 2


async def test_meta_at_the_limit_of_nesting_is_read_in_every_list(rest: Rest):
    deep, head = nested(NESTING_MAX - 2), await rest.log_head()
    session = str((await rest.call("POST", "/v1/sessions", f'{{"project_id":"deep","meta":{{"x":{deep}}}}}'))["session_id"])
    await rest.call("PATCH", f"/v1/sessions/{session}", f'{{"y":[{deep}]}}')
    snapshot = await rest.snapshot(session)
    fork = await rest.fork(snapshot["snapshot_id"])
    for path in ("/v1/sessions?project_id=deep", f"/v1/sessions/{fork}/lineage", f"/v1/log?after_seq={head}"):
        assert f'"y":[{deep}]' in (await rest.http.get(path)).text


@pytest.mark.parametrize("session_id", ["%00", "a%00b", "%ed%a0%80", "%ff", "..%2f..", "%F0%9F%98%80", "ses_" + "9" * 3000])
async def test_an_id_that_cannot_be_one_is_not_found(rest: Rest, session_id: str):
    for path in (f"/v1/sessions/{session_id}", f"/v1/sessions/{session_id}/lineage", f"/v1/sessions/{session_id}/events"):
        with pytest.raises(Refused) as refused:
            await rest.call("GET", path)
        assert (refused.value.status, refused.value.code) in [(404, "session_not_found"), (404, "no_such_route")]
    for method, path in (("POST", f"/v1/snapshots/{session_id}/fork"), ("GET", f"/v1/snapshots/{session_id}")):
        with pytest.raises(Refused) as refused:
            await rest.call(method, path)
        assert (refused.value.status, refused.value.code) in [(404, "snapshot_not_found"), (404, "no_such_route")]


@pytest.mark.parametrize("text", [r'"\u0000"', r'"\ud800"', '"😀"', '"' + "s" * 10_000 + '"', '""'])
async def test_a_session_id_in_a_body_that_cannot_be_one_is_not_found(rest: Rest, text: str):
    with pytest.raises(Refused) as refused:
        await rest.call("POST", "/v1/snapshots", f'{{"session_id":{text}}}')
    assert (refused.value.status, refused.value.code) == (404, "session_not_found")


@pytest.mark.parametrize("append_id", [r'"\u0000"', r'"\ud800"', '""', '"' + "k" * 201 + '"', "1", "[]", "{}"])
async def test_an_append_id_that_cannot_be_one_is_refused(rest: Rest, append_id: str):
    session = await rest.create()
    project = json.dumps(rest.project_id)
    for path, body in {
        f"/v1/sessions/{session}/messages": f'{{"role":"user","append_id":{append_id}}}',
        f"/v1/sessions/{session}/native": f'{{"agent":"a","version":"1","records":[],"append_id":{append_id}}}',
        "/v1/sessions": f'{{"project_id":{project},"append_id":{append_id}}}',
        "/v1/snapshots": f'{{"session_id":"{session}","append_id":{append_id}}}',
    }.items():
        with pytest.raises(Refused) as refused:
            await rest.call("POST", path, body)
        assert (refused.value.status, refused.value.code) in [(400, "invalid_request"), (422, "invalid_message")]


# --- large


def sized(size: int, head: str = '{"role":"user","content":"') -> str:
    """A message of exactly this many bytes: words, four-byte characters, escapes."""
    unit = 'some words 😀 and \\u00e9\\ud800 {\\"a\\": 1} '
    count = (size - len(head) - 2) // len(unit.encode())
    body = head + unit * count
    return body + "x" * (size - len(body.encode()) - 2) + '"}'


async def test_a_message_of_16_mib_is_kept_and_one_byte_more_is_refused_by_limit_and_item(rest: Rest):
    session, neighbour = await rest.create(), await rest.create()
    body = sized(16 * MIB)
    assert len(body.encode()) == 16 * MIB
    with anyio.fail_after(DEADLINE_S):
        await send(rest, session, body)
        (message,) = await stored(rest, session)
        assert message.source("content") == parse_object(body).source("content")
        with pytest.raises(Refused) as refused:
            await send(rest, session, sized(16 * MIB + 1))
        assert (refused.value.status, refused.value.code) == (413, "too_large")
        assert (refused.value.problem["limit"], refused.value.problem["index"]) == ("message_bytes_max", 0)
        with pytest.raises(Refused) as refused:
            await send(rest, session, f'{{"messages":[{{"role":"user"}},{sized(16 * MIB + 1)}]}}')
        assert (refused.value.status, refused.value.problem["index"]) == (413, 1)
        assert len(await stored(rest, session)) == 1
        await rest.append(neighbour, "hi")


async def test_natives_and_records_are_measured_too(rest: Rest):
    session = await rest.create()
    large = sized(16 * MIB, '{"role":"user","native":{"x":"')[:-1] + "}}"
    with anyio.fail_after(DEADLINE_S), pytest.raises(Refused) as refused:
        await send(rest, session, large)
    assert (refused.value.status, refused.value.problem["limit"]) == (413, "message_bytes_max")
    records = sized(16 * MIB, '{"agent":"a","version":"1","records":["')[:-1] + "]}"
    with anyio.fail_after(DEADLINE_S), pytest.raises(Refused) as refused:
        await rest.call("POST", f"/v1/sessions/{session}/native", records)
    assert (refused.value.status, refused.value.problem["limit"]) == (413, "message_bytes_max")


async def test_a_thousand_messages_are_taken_at_once_and_one_more_is_refused(rest: Rest):
    session = await rest.create()
    one = '{"role":"user","content":"\\u0000"}'
    answer = await send(rest, session, f'{{"messages":[{",".join([one] * 1000)}]}}')
    results = answer["results"]
    assert isinstance(results, list)
    seqs = [result["seq"] for result in results]
    assert seqs == list(range(seqs[0], seqs[0] + 1000))
    with pytest.raises(Refused) as refused:
        await send(rest, session, f'{{"messages":[{",".join([one] * 1001)}]}}')
    assert (refused.value.status, refused.value.problem["limit"]) == (413, "request_messages_max")
    assert len(await stored(rest, session)) == 1000


async def test_meta_is_taken_at_64_kib_and_refused_one_byte_past_it(rest: Rest):
    def meta(size: int) -> str:
        return f'{{"x":"{"é" * ((size - 8) // 2)}"}}'

    assert len(meta(64 * 1024).encode()) == 64 * 1024
    project = json.dumps(rest.project_id)
    session = str((await rest.call("POST", "/v1/sessions", f'{{"project_id":{project},"meta":{meta(64 * 1024)}}}'))["session_id"])
    await rest.call("POST", "/v1/snapshots", f'{{"session_id":"{session}","meta":{meta(64 * 1024)}}}')
    for path, body in {
        "/v1/sessions": f'{{"project_id":{project},"meta":{meta(64 * 1024 + 2)}}}',
        "/v1/snapshots": f'{{"session_id":"{session}","meta":{meta(64 * 1024 + 2)}}}',
        "/v1/snapshots?": f'{{"session_id":"{session}","commit_msg":{json.dumps("x" * 64 * 1024)}}}',
    }.items():
        with pytest.raises(Refused) as refused:
            await rest.call("POST", path, body)
        assert (refused.value.status, refused.value.problem["limit"]) == (413, "meta_bytes_max")
    with pytest.raises(Refused) as refused:
        await rest.call("PATCH", f"/v1/sessions/{session}", '{"y":1}')
    assert (refused.value.status, refused.value.problem["limit"]) == (413, "meta_bytes_max")


async def test_a_patch_is_measured_itself_and_by_what_it_makes_of_the_meta_but_a_repeat_is_told_first(rest: Rest):
    session = await rest.create()
    large, path = "x" * 40 * 1024, f"/v1/sessions/{session}"
    first = await rest.call("PATCH", path, {"a": large}, params={"append_id": "k"})
    await rest.call("PATCH", path, {"a": None, "b": large})
    again = await rest.call("PATCH", path, {"a": large}, params={"append_id": "k"})
    assert (again["seq"], again["duplicate"], again["meta"]) == (first["seq"], True, {"a": large})
    for patch in ({"a": large}, {f"gone {number}": None for number in range(6000)}):
        with pytest.raises(Refused) as refused:
            await rest.call("PATCH", path, patch)
        assert (refused.value.status, refused.value.problem["limit"]) == (413, "meta_bytes_max")
    listed = await rest.call("GET", "/v1/sessions", params={"project_id": rest.project_id})
    assert [one["meta"] for one in listed["sessions"]] == [{"b": large}]


async def test_a_list_of_large_sessions_is_cut_at_4_mib_and_goes_on_from_there(rest: Rest):
    meta = {"x": "x" * 60 * 1024}
    sessions = [await rest.create(meta=meta) for _ in range(80)]
    snapshots = [(await rest.snapshot(sessions[0], meta=meta))["snapshot_id"] for _ in range(80)]
    lists = {"sessions": {"project_id": rest.project_id}, "snapshots": {"session_id": sessions[0]}}
    found: dict[str, list[str]] = {}
    for name, query in lists.items():
        sizes, found[name], cursor = [], [], ""
        while cursor is not None:
            answer = await rest.http.get(f"/v1/{name}", params={**query, "limit": 1000, "cursor": cursor})
            sizes.append(len(answer.content))
            found[name] += [one[f"{name[:-1]}_id"] for one in answer.json()[name]]
            cursor = answer.json()["next"]
        assert len(sizes) == 2
        assert max(sizes) < 4.2 * MIB
    assert found == {"sessions": sessions[::-1], "snapshots": snapshots}


# --- neighbours


async def test_nobodys_content_stops_a_neighbour(rest: Rest):
    """Thirty writers of what is kept, and as many of what is refused, at once with thirty who only say hi."""
    head = await rest.log_head()
    sessions = [await rest.create() for _ in range(6)]
    good: list[int] = []
    refusals: list[str] = []

    async def write(session: str, body: str, done: Callable[[dict[str, object]], None]) -> None:
        try:
            done(await send(rest, session, body))
        except Refused as refused:
            refusals.append(refused.code)

    def noted(answer: dict[str, object]) -> None:
        good.append(int(str(answer["seq"])))

    kept = [f'{{"role":"user","content":{text},"metadata":{{"x":{value}}}}}' for text in STRINGS.values() for value in OTHERS[:3]]
    bad = ['{"role":"nobody"}', '{"role":"user","x":{"a":1,"a":2}}', '{"role":"user","append_id":"\\u0000"}'] * 10
    with anyio.fail_after(DEADLINE_S):
        async with anyio.create_task_group() as tasks:
            for number, body in enumerate(
                body for three in zip(kept, bad, ['{"role":"user","content":"hi"}'] * 30, strict=True) for body in three
            ):
                tasks.start_soon(write, sessions[number % 6], body, noted)
    assert (len(good), len(refusals)) == (60, 30)
    assert set(refusals) == {"invalid_message", "invalid_json"}
    assert sorted(good) == list(range(head + 7, head + 67))
    assert sum([len(await stored(rest, session)) for session in sessions]) == 60
