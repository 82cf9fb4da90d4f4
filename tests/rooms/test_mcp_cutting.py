"""Cutting: a result fits a model's context whatever the messages are, and what was cut can be had, exactly."""

import base64
import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_types import CallToolResult

from eventstore.errors import InvalidRequest
from transports.mcp.results import TOKENS_DEFAULT, TOKENS_MAX, TOKENS_MIN, page_of, result, with_short
from transports.mcp.tokens import count
from transports.mcp.transcript import page, piece
from transports.mcp.values import encode

SESSION = "ses_01a22a70-1223-7eff-9b62-8d5845a62bb1"
WORDS = "def test(): assert read('字') == \"\\x00\" # ok\n\t"


def message(seq: int = 1, **fields: Any) -> dict[str, Any]:
    return {
        "session_id": SESSION,
        "seq": seq,
        "append_id": f"01a22a70-aa0c-7f46-b71f-{seq:012}",
        "created_at": "2026-11-30T03:11:08.176Z",
        "metadata": {"agent_source": "claude-code", "model": "m-1"},
        "role": "assistant",
        "content": "hi",
        **fields,
    }


def answer_of(*messages: dict[str, Any], head_seq: int = 0) -> dict[str, Any]:
    last = messages[-1]["seq"] if messages else 0
    head = head_seq or last
    place = {"next_after_seq": last, "head_seq": head, "has_more": last < head, "log_id": "log_1.2.3"}
    return {"session_id": SESSION, "messages": list(messages), **place}


def call(name: str, arguments: str) -> dict[str, Any]:
    return {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}


LARGE = {
    "12 MB of a tool's output": message(role="tool", tool_call_id="c1", content="line 1\n" * 1_714_286),
    "12 MB that are no words": message(content=base64.b64encode(random.Random(1).randbytes(9_000_000)).decode()),
    "quotes and control characters": message(content='"\\\u0000\u0007' * 20_000),
    "one emoji after another": message(content="👩‍💻" * 20_000),
    "10,000 small parts": message(content=[{"type": "text", "text": f"part {n}"} for n in range(10_000)]),
    "an image": message(content=[{"type": "image_url", "image_url": {"url": "data:image/png;base64," + "iVBORw0K" * 60_000}}]),
    "huge arguments": message(content=None, tool_calls=[call("Write", json.dumps({"content": WORDS * 20_000}))]),
    "1,000 calls": message(content="calling", tool_calls=[call(f"tool_{n}", '{"a": 1}') for n in range(1000)]),
    "huge thinking": message(thinking={"content": "hm " * 100_000, "encrypted": False, "items": [{"signature": "s" * 90_000}]}),
    "huge metadata": message(metadata={f"key {n}": "v" * 200 for n in range(20_000)}),
    "metadata of one long word": message(metadata={"model": "m" * 1_000_000, "agent_source": "a" * 1_000_000}),
    "nested metadata": message(metadata={"a": [[["x" * 50] * 30] * 30] * 30}),
    "20,000 fields of its own": message(**{f"field {n}": n for n in range(20_000)}),
    "a field with a long name": message(**{"n" * 100_000: 1}),
    "a long call id": message(role="tool", tool_call_id="c" * 500_000),
}
BUDGETS = (TOKENS_MIN, TOKENS_DEFAULT, 30_000)


def readable(answer: CallToolResult) -> str:
    """The text of a tool's answer."""
    return str(answer.content[0].model_dump()["text"])


def tokens(text: str, structured: dict[str, Any]) -> int:
    """What both take."""
    return count(text) + count(encode(structured))


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("kind", LARGE)
def test_one_large_message_is_cut_to_the_budget_and_says_so(kind: str, budget: int):
    shown, text = page(answer_of(LARGE[kind]), budget)
    assert tokens(text, shown) <= budget
    (one,) = shown["messages"]
    assert (one["session_id"], one["seq"], one["role"]) == (SESSION, 1, LARGE[kind]["role"])
    assert one["cut"]["uri"] == f"session://{SESSION}/messages/1"
    assert (shown["next_after_seq"], shown["has_more"]) == (1, False)
    if budget == TOKENS_DEFAULT and "next_offset" in one["cut"]:
        assert tokens(text, shown) > budget / 3, "and uses it"


@pytest.mark.parametrize("kind", LARGE)
def test_what_was_cut_of_a_field_is_had_by_following_the_offsets_exactly(kind: str):
    whole = LARGE[kind]
    if isinstance(whole["content"], str):
        whole = {**whole, "content": whole["content"][:1_000_000]}
    cut = page(answer_of(whole), TOKENS_DEFAULT)[0]["messages"][0]["cut"]
    fields = [*cut.get("fields", ()), *(["content"] if "next_offset" in cut else [])]
    for field in fields:
        put_together = "".join(pieces(whole, field))
        value = whole[field]
        assert put_together == value if isinstance(value, str) else json.loads(put_together) == value


def pieces(whole: dict[str, Any], field: str) -> list[str]:
    found: list[str] = []
    offset: int | None = 0
    while offset is not None:
        shown, text = piece(answer_of(whole), field, offset, TOKENS_MAX)
        assert tokens(text, shown) <= TOKENS_MAX
        assert len(result(text, shown).model_dump_json()) < 2**20, "an event of a stream takes no more"
        cut = shown["messages"][0]["cut"]
        found.append(shown["messages"][0]["content"] if field == "content" else cut["piece"])
        assert found[-1] in text
        assert cut["kept_chars"] == len(found[-1])
        assert cut["total_chars"] == len(whole[field] if isinstance(whole[field], str) else encode(whole[field]))
        offset = cut.get("next_offset")
    return found


def test_the_text_has_the_calls_that_give_the_rest():
    whole = message(seq=7, role="tool", tool_call_id="c1", content="x" * 1_000_000, thinking={"content": "y" * 1_000_000})
    shown, text = page(answer_of(whole), TOKENS_DEFAULT)
    offset = shown["messages"][0]["cut"]["next_offset"]
    assert f"read_session(session_id='{SESSION}', after_seq=6, limit=1, offset={offset}) of 1000000 characters" in text
    assert "; or (field='thinking', offset=0) for 1000014 characters" in text
    assert f"resource session://{SESSION}/messages/7" in text


def test_a_field_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(InvalidRequest, match=r"tool_calls.*append_id, content"):
        piece(answer_of(message()), "tool_calls", 0, TOKENS_DEFAULT)


def test_an_offset_at_the_end_gives_nothing_more():
    shown, _ = piece(answer_of(message(content="abc")), "content", 3, TOKENS_DEFAULT)
    (one,) = shown["messages"]
    assert (one["content"], "next_offset" in one["cut"]) == ("", False)


@pytest.mark.parametrize("text", ["hello", "我们先备份数据库。" * 10, "\n" * 200, "word " * 300])
def test_a_page_of_many_shows_the_leading_ones_and_how_to_go_on(text: str):
    messages = [message(seq, content=text) for seq in range(1, 1001)]
    shown, told = page(answer_of(*messages, head_seq=5000), TOKENS_DEFAULT)
    assert tokens(told, shown) <= TOKENS_DEFAULT
    kept = shown["messages"]
    assert kept == messages[: len(kept)]
    assert (shown["left_out"], shown["next_after_seq"], shown["has_more"]) == (1000 - len(kept), len(kept), True)
    assert f"read_session(session_id='{SESSION}', after_seq={len(kept)})" in told
    assert tokens(told, shown) > TOKENS_DEFAULT / 2, "and uses the budget"


def test_a_large_message_that_is_not_the_first_waits_for_its_own_page():
    shown, _ = page(answer_of(message(1), message(2, content="x" * 1_000_000), message(3)), TOKENS_DEFAULT)
    assert ([m["seq"] for m in shown["messages"]], shown["next_after_seq"], shown["left_out"]) == ([1], 1, 2)
    assert "cut" not in shown["messages"][0]


def test_what_fits_is_shown_as_it_is():
    messages = [message(1, content=[{"type": "text", "text": "a"}]), message(2, tool_calls=[call("bash", "{}")])]
    shown, text = page(answer_of(*messages), TOKENS_DEFAULT)
    assert shown == answer_of(*messages)
    assert text.splitlines()[0] == "#1 assistant (claude-code m-1, 2026-11-30T03:11:08.176Z)"
    assert "  → call_1 bash {}" in text


@pytest.mark.parametrize("size", [10, 60_000])
def test_a_list_is_cut_to_the_budget_and_its_cursor_goes_on(size: int):
    sessions = [{"session_id": SESSION, "seq": seq, "meta": {"title": "t" * size}} for seq in range(400, 0, -1)]
    answer = page_of({"sessions": sessions, "next": "1"}, "sessions", lambda one: one["meta"]["title"], "none")
    shown = answer.structured_content
    assert shown is not None
    assert tokens(readable(answer), shown) <= TOKENS_DEFAULT
    kept = shown["sessions"]
    assert (shown["next"], shown["left_out"]) == (str(kept[-1]["seq"]), 400 - len(kept))
    assert ("cut" in kept[0]) == (size > 10)
    assert f"cursor='{shown['next']}'" in readable(answer)


def test_the_end_of_a_list_has_no_next():
    answer = page_of({"sessions": [], "next": None}, "sessions", str, "none")
    assert (answer.structured_content, readable(answer)) == ({"sessions": []}, "none")


def test_meta_in_an_answer_is_cut_too():
    meta = {f"k{n}": "v" * 100 for n in range(500)}
    shown, note = with_short({"ok": True, "meta": meta}, "meta", f"session://{SESSION}")
    assert count(encode(shown)) <= TOKENS_DEFAULT
    assert (shown["cut"], SESSION in note) == ({"uri": f"session://{SESSION}"}, True)
    assert with_short({"meta": {"a": 1}}, "meta", "") == ({"meta": {"a": 1}}, "")


def test_what_cannot_be_carried_is_replaced_and_said():
    answer = result("x\ud83dy", {"content": "x\ud83dy", "\udc00": ["😀"]})
    assert answer.structured_content is not None
    note = answer.structured_content.pop("note")
    assert answer.structured_content == {"content": "x\ufffdy", "\ufffd": ["😀"]}
    assert readable(answer) == f"x\ufffdy\n{note}"
    assert "note" not in (result("😀", {"a": 1.5}).structured_content or {})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=80),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=30), inner, max_size=30),
    max_leaves=60,
)
contents = (
    st.none()
    | st.text(st.characters(codec=None)).map(lambda text: text * 50)
    | st.lists(
        st.fixed_dictionaries({"type": st.text(max_size=9)}, optional={"text": st.text().map(lambda text: text * 50)}), max_size=9
    )
)


@settings(max_examples=60, deadline=None)
@given(contents, st.dictionaries(st.text(max_size=30), json_values, max_size=4), st.dictionaries(st.text(), json_values))
def test_any_message_fits_the_smallest_budget(content: Any, metadata: dict[str, Any], more: dict[str, Any]):
    whole = {**more, **message(content=content, metadata=metadata)}
    shown, text = page(answer_of(whole), TOKENS_MIN)
    assert tokens(text, shown) <= TOKENS_MIN
    if "cut" not in shown["messages"][0]:
        assert shown["messages"] == [whole]
