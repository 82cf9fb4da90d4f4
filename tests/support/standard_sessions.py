"""Standard sessions for Hypothesis: what agents say, with everything that goes wrong in real ones.

Parallel calls, missing, doubled and early results, ids used again, arguments that are no JSON, media, thinking, empty and
huge content, NUL and lone surrogates. Every text that was said carries a mark of its own (`⟦n⟧`), so that a test can tell
whether it arrived, and where.
"""

import re
from typing import Any

from draws import shared
from hypothesis import strategies as st
from jsons import texts, values

from adapters.session import Session
from eventstore.wire.codec import dump, parse

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
MARK = re.compile("⟦[0-9]+⟧")
Json = dict[str, Any]

_said = texts | st.sampled_from(
    ["", " ", "\0", "\ud800 half", "漢字" * 40, "x" * 70_000, "<command-name>x", "[Request interrupted by user]"]
)
_ids = st.sampled_from(["call_1", "call_2", "call_3", "", "ä b", "toolu_1", "x" * 150]) | texts
_media = st.sampled_from(
    [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,!!"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PNG}"}},
        {"type": "input_audio", "input_audio": {"data": PNG, "format": "wav"}},
        {"type": "hologram", "x": [1]},
    ]
)
_arguments = st.dictionaries(texts, values, max_size=3).map(dump) | st.sampled_from(
    ["", "{", "null", "[1]", '{"a": 1, "a": 2}', '{"n":12345678901234567890123,"f":1.10}', '{"s":"\\ud800"}', "\0"]
)
_usage = st.dictionaries(
    st.sampled_from(["input_tokens", "output_tokens", "cache_read_input_tokens", "reasoning_tokens"]), st.integers(-1, 9)
)
_metadata = st.fixed_dictionaries(
    {},
    optional={
        "origin": st.sampled_from(["human", "agent", "harness"]),
        "status": st.sampled_from(["complete", "interrupted", "error", "odd"]),
        "model": st.sampled_from(["gpt-5", "claude-opus-4-6", ""]),
        "usage": _usage | values,
        "is_error": st.booleans() | st.none(),
        "reply_id": st.sampled_from(["r1", "r2"]) | values,
        "compaction": st.fixed_dictionaries({}, optional={"trigger": texts, "pre_tokens": st.integers(-1, 9), "more": values})
        | st.booleans(),
        "native_id": texts,
        "subagent": st.just({"agent_id": "a1"}),
        "odd": values,
    },
)
_times = st.datetimes().map(lambda moment: f"{moment.isoformat()}Z") | st.sampled_from(
    ["2999-01-01T00:00:00Z", "2026-03-01t10:00:00.123456+02:00"]
)
_items = st.fixed_dictionaries({}, optional={"text": texts, "data": texts, "signature": texts, "provider": texts, "model": texts})
_thinking = st.fixed_dictionaries(
    {}, optional={"content": texts | st.none(), "encrypted": st.booleans(), "items": st.lists(_items, max_size=2)}
)


class _Marks:
    def __init__(self) -> None:
        self.count = 0

    def on(self, text: str) -> str:
        self.count += 1
        return f"{text}⟦{self.count}⟧"


@st.composite
def messages(draw: Any, marks: _Marks, number: int) -> Json:
    role = draw(st.sampled_from(["user", "assistant", "tool", "assistant", "tool", "system"]))
    body: Json = {"role": role, "append_id": f"m{number}"}
    body["content"] = draw(st.none() | _said.map(marks.on) | _said | st.lists(_media | _said.map(marks.on).map(_text), max_size=3))
    if role == "tool":
        body["tool_call_id"] = draw(_ids.filter(bool))
    if role == "assistant":
        body["tool_calls"] = draw(st.lists(st.builds(_call, _ids, texts.map(marks.on) | texts, _arguments), max_size=3))
    body |= draw(
        st.fixed_dictionaries({}, optional={"thinking": _thinking, "metadata": _metadata, "created_at": _times, "extra": values})
    )
    return body


def sessions() -> st.SearchStrategy[Session]:
    """Sessions from nowhere in particular, as they come back from a hub: parsed from their own JSON text."""
    return _shared


@st.composite
def _sessions(draw: Any) -> Session:
    marks = _Marks()
    said = [draw(messages(marks, number)) for number in range(draw(st.integers(0, 9)))]
    natives = draw(st.lists(st.just({"agent": "hermes", "version": "22", "records": [{"x": 1}]}), max_size=1))
    meta = draw(st.fixed_dictionaries({"agent_source": st.just("hermes")}, optional={"title": texts, "cwd": st.just("/work")}))
    return Session(meta, tuple(parse(dump(entry)) for entry in [*said, *natives]))


_shared = shared(_sessions(), 500)


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _call(name: str, tool: str, arguments: str) -> Json:
    return {"id": name, "type": "function", "function": {"name": tool, "arguments": arguments}}


def marks_in(value: Any) -> list[str]:
    """The marks in a value's texts, in the order they stand."""
    return MARK.findall(dump(value))
