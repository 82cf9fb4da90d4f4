"""Results over MCP: a model's context is not flooded, nothing is lost, and what MCP cannot carry is said."""

import json
from typing import Any

import pytest
from mcpclient import Mcp, text_of
from restclient import Refused, Rest

from transports.mcp.tokens import count

TOOL_OUTPUT = "".join(f"{n:07} ok 字\n" for n in range(800_000))  # 12 MB


@pytest.fixture(params=["mcp_modern", "mcp_handshake", "mcp_stdio"])
def mcp(request: pytest.FixtureRequest) -> Mcp:
    found: Mcp = request.getfixturevalue(request.param)
    return found


async def tokens(mcp: Mcp, tool: str, **arguments: Any) -> int:
    """What a result takes of a context, its text and its structured content together."""
    answer = await mcp.answer(tool, **arguments)
    assert not answer.is_error
    return count(text_of(answer)) + count(json.dumps(answer.structured_content, ensure_ascii=False))


async def test_12_mb_of_a_tools_output_are_cut_and_all_of_it_can_be_had(mcp: Mcp, rest: Rest):
    session = await rest.create()
    first = (await rest.append(session, "run it"))["seq"]
    seq = (await rest.append(session, TOOL_OUTPUT, role="tool", tool_call_id="c1"))["seq"]
    await rest.append(session, "done")

    assert await tokens(mcp, "read_session", session_id=session) <= 8000
    assert await tokens(mcp, "read_session", session_id=session, after_seq=first) <= 8000
    page = await mcp.page(session, after_seq=first)
    (cut,) = page["messages"]
    assert (cut["seq"], page["next_after_seq"], page["has_more"]) == (seq, seq, True)
    assert cut["cut"]["total_chars"] == len(TOOL_OUTPUT)

    kept = len(cut["content"])
    assert cut["content"] == TOOL_OUTPUT[:kept]
    for offset, max_tokens in ((kept, 8000), (kept * 2, 100_000), (len(TOOL_OUTPUT) - 100, 8000)):
        (one,) = (await mcp.page(session, seq - 1, limit=1, offset=offset, max_tokens=max_tokens))["messages"]
        end = offset + len(one["content"])
        assert one["content"] == TOOL_OUTPUT[offset:end]
        assert one["cut"].get("next_offset", len(TOOL_OUTPUT)) == end
        assert await tokens(mcp, "read_session", session_id=session, after_seq=seq - 1, offset=offset) <= 8000
    whole = json.loads(await mcp.resource(cut["cut"]["uri"]))
    assert (whole["content"], whole["seq"], whole["tool_call_id"]) == (TOOL_OUTPUT, seq, "c1")


async def test_following_the_offsets_gives_the_content_exactly(mcp: Mcp, rest: Rest):
    session = await rest.create()
    said = TOOL_OUTPUT[:200_000] + "\n" * 1000 + '"' * 1000
    seq = (await rest.append(session, said))["seq"]
    (one,) = (await mcp.page(session))["messages"]
    got = one["content"]
    while (offset := one["cut"].get("next_offset")) is not None:
        (one,) = (await mcp.page(session, seq - 1, limit=1, offset=offset))["messages"]
        got += one["content"]
    assert got == said


async def test_pages_that_are_cut_give_every_message_once(mcp: Mcp, rest: Rest):
    session = await rest.create()
    texts = [f"{n} 资料库迁移前一定要先备份" * (1 + n % 7) for n in range(300)]
    await rest.append_all(session, [{"role": "user", "content": text} for text in texts])
    assert await tokens(mcp, "read_session", session_id=session, limit=1000) <= 8000
    assert await mcp.texts(session, limit=1000) == texts


async def test_a_call_with_large_arguments_is_had_field_by_field(mcp: Mcp, rest: Rest):
    session = await rest.create()
    arguments = json.dumps({"path": "a.py", "content": "x = '字'\n" * 30_000})
    calls = [{"id": "c1", "type": "function", "function": {"name": "Write", "arguments": arguments}}]
    seq = (await rest.append(session, "writing", role="assistant", tool_calls=calls))["seq"]
    assert await tokens(mcp, "read_session", session_id=session) <= 8000
    (one,) = (await mcp.page(session))["messages"]
    assert (one["content"], list(one["cut"]["fields"])) == ("writing", ["tool_calls"])
    got, offset = "", 0
    while offset is not None:
        cut = (await mcp.page(session, seq - 1, field="tool_calls", offset=offset, max_tokens=60_000))["messages"][0]["cut"]
        got, offset = got + cut["piece"], cut.get("next_offset")
    assert json.loads(got) == calls


async def test_a_cut_message_of_a_deleted_parent_is_had_through_the_fork(mcp_modern: Mcp, rest: Rest):
    session = await rest.create()
    await rest.append(session, "y" * 100_000)
    fork = await rest.fork((await rest.snapshot(session))["snapshot_id"])
    await rest.delete(session)
    (one,) = (await mcp_modern.page(fork))["messages"]
    assert json.loads(await mcp_modern.resource(one["cut"]["uri"]))["content"] == "y" * 100_000


async def test_lists_of_large_items_are_cut_and_give_every_item_once(mcp: Mcp, rest: Rest):
    made = [await rest.create(meta={"title": f"t{n}", "large": "m" * (60_000 if n % 5 == 0 else 500)}) for n in range(30)]
    taken = [await rest.snapshot(made[0], commit_msg="c" * 3000) for _ in range(20)]
    assert await tokens(mcp, "list_sessions", project_id=rest.project_id, limit=1000) <= 8000
    assert await tokens(mcp, "list_snapshots", session_id=made[0], limit=1000) <= 8000
    assert await _walk(mcp.sessions, "sessions", "session_id") == made[::-1]
    listed = await _walk(lambda **query: mcp.snapshots(made[0], **query), "snapshots", "snapshot_id")
    assert listed == [one["snapshot_id"] for one in taken]


async def test_the_answer_to_a_patch_of_large_meta_is_cut(mcp: Mcp, rest: Rest):
    session = await rest.create(meta={"large": "m" * 60_000})
    assert await tokens(mcp, "update_session_meta", session_id=session, meta={"n": 1}) <= 8000
    assert (await rest.sessions())["sessions"][0]["meta"] == {"large": "m" * 60_000, "n": 1}


async def test_what_mcp_cannot_carry_is_replaced_and_the_result_says_so(mcp: Mcp, rest: Rest):
    session = await rest.create()
    content, numbers = (
        '"x\\ud83dy \\u0000 \\ud83d\\ude00"',
        '"n":0.1234567890123456789,"far":1e999,"ok":[1.10,12345678901234567890]',
    )
    source = f'{{"role":"user","content":{content},{numbers}}}'
    seq = (await rest.call("POST", f"/v1/sessions/{session}/messages", source))["seq"]
    page = await mcp.page(session)
    (message,) = page["messages"]
    assert message["content"] == "x\ufffdy \0 😀"
    assert (message["n"], message["far"] > 1e308, message["ok"]) == (0.12345678901234568, True, [1.1, 12345678901234567890])
    assert "replaced" in page["note"]
    assert source[1:] in await mcp.resource(f"session://{session}/messages/{seq}"), "the resource has it as it came"

    await rest.append(session, "as it is 😀 \0")
    assert "note" not in await mcp.page(session, after_seq=seq)


async def test_what_was_purged_is_told_as_such(mcp: Mcp, rest: Rest):
    session = await rest.create(meta={"title": "hush"})
    seqs = [(await rest.append(session, text))["seq"] for text in ("a", "hush", "c")]
    await rest.snapshot(session, commit_msg="hush")
    assert (await rest.http.post("/v1/admin/purge", json={"seq": seqs[1]})).status_code == 200
    assert (await mcp.page(session))["messages"][1] == {"session_id": session, "seq": seqs[1], "purged": True}
    assert f"#{seqs[1]} was purged" in text_of(await mcp.answer("read_session", session_id=session))
    assert json.loads(await mcp.resource(f"session://{session}/messages/{seqs[1]}"))["purged"] is True
    assert (await rest.http.post("/v1/admin/purge", json={"session_id": session})).status_code == 200
    for tool, arguments in (
        ("read_session", {"session_id": session}),
        ("list_snapshots", {"session_id": session}),
        ("list_sessions", {"project_id": rest.project_id}),
    ):
        answer = await mcp.answer(tool, **arguments)
        assert not answer.is_error, text_of(answer)
        assert "hush" not in text_of(answer) + json.dumps(answer.structured_content)
    assert "hush" not in json.dumps(await mcp.lineage(session))


async def test_refusals_say_what_to_do(mcp: Mcp, rest: Rest):
    session = await rest.create()
    refusals: tuple[tuple[Any, str, str], ...] = (
        (mcp.page("ses_nope"), "session_not_found", "list_sessions"),
        (mcp.fork("snap_0"), "snapshot_not_found", "list_snapshots"),
        (mcp.page(session, after_seq=10**9), "cursor_ahead", "after_seq=0"),
        (mcp.append(session, "x", expected_seq=10**9), "seq_conflict", "new head"),
        (mcp.call("append_message", session_id=session, message={"messages": []}), "invalid_message", "role"),
        (mcp.call("append_message", session_id=session, message="hi"), "invalid_request", "message"),
        (mcp.call("append_message", session_id=session), "invalid_request", "message"),
        (mcp.page(session, after_sec=3), "invalid_request", "after_sec"),
    )
    for attempt, code, advice in refusals:
        with pytest.raises(Refused) as refused:
            await attempt
        assert (refused.value.code, advice in refused.value.detail) == (code, True), refused.value


async def test_null_for_an_argument_that_may_be_left_out_is_as_if_it_was(mcp: Mcp):
    session = await mcp.create(meta=None, append_id=None)
    await mcp.append(session, "hi")
    page = await mcp.call("read_session", session_id=session, after_seq=None, limit=None, wait_seconds=None, offset=None)
    assert [m["content"] for m in page["messages"]] == ["hi"]


async def _walk(listed: Any, name: str, key: str) -> list[str]:
    found, page = [], await listed(limit=1000)
    while True:
        found += [one[key] for one in page[name]]
        if "next" not in page:
            return found
        page = await listed(limit=1000, cursor=page["next"])
