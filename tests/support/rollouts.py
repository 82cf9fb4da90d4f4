"""Rollouts of Codex: lines to build a test's own, and any for Hypothesis, with all that goes wrong in them."""

import json
from typing import Any

from draws import shared
from hypothesis import strategies as st
from jsons import texts, values

Json = dict[str, Any]

TIME = "2026-11-29T10:00:00.000Z"
THREAD = "01a229c0-8ed1-7b80-a3cf-5deb00b690a7"


def meta(**more: Any) -> Json:
    own = {"id": THREAD, "timestamp": TIME, "cwd": "/home/ann/relay", "originator": "codex_exec", "cli_version": "0.171.0"}
    return {"timestamp": TIME, "type": "session_meta", "payload": own | {"source": "cli", "model_provider": "openai"} | more}


def item(kind: str, **fields: Any) -> Json:
    return {"timestamp": TIME, "type": "response_item", "payload": {"type": kind, **fields}}


def user(text: str, **more: Any) -> Json:
    return item("message", role="user", content=[{"type": "input_text", "text": text}], **more)


def assistant(text: str, **more: Any) -> Json:
    return item("message", role="assistant", content=[{"type": "output_text", "text": text}], **more)


def call(call_id: str, arguments: str = "{}", name: str = "exec_command") -> Json:
    return item("function_call", name=name, arguments=arguments, call_id=call_id)


def result(call_id: str, output: Any = "done") -> Json:
    return item("function_call_output", call_id=call_id, output=output)


def event(kind: str, **fields: Any) -> Json:
    return {"timestamp": TIME, "type": "event_msg", "payload": {"type": kind, **fields}}


def compacted(message: str, *history: Json) -> Json:
    """A summary; `history` are lines whose items take the place of all before."""
    held = {"replacement_history": [line["payload"] for line in history]} if history else {}
    return {"timestamp": TIME, "type": "compacted", "payload": {"message": message, **held}}


def rollout(*lines: Json) -> list[bytes]:
    return [json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n" for line in lines]


_long = texts | st.sampled_from(["", "\0", "漢" * 80, "x" * 200, "<environment_context>x", "Process exited with code 1\nOutput:\n"])
_ids = st.sampled_from(["c1", "c2", "ä b", ""]) | texts
_parts = st.one_of(
    st.fixed_dictionaries({"type": st.sampled_from(["input_text", "output_text", "text"]), "text": _long | values}),
    st.fixed_dictionaries({"type": st.just("input_image"), "image_url": _long}, optional={"detail": texts | values}),
    values,
)
_content = _long | st.lists(_parts, max_size=3) | values
_odd = {"id": texts | values, "status": st.sampled_from(["completed", "incomplete", "odd"]) | values, "phase": texts, "odd": values}
_texts = st.lists(st.fixed_dictionaries({"type": st.just("summary_text"), "text": _long | values}) | values, max_size=2)
_fields: dict[str, dict[str, Any]] = {
    "message": {"role": st.sampled_from(["user", "assistant", "developer", "system", "odd"]), "content": _content},
    "agent_message": {"content": _content},
    "reasoning": {"summary": _texts | values, "content": _texts | values, "encrypted_content": _long | values},
    "function_call": {"name": texts | values, "arguments": _long | values, "call_id": _ids | values},
    "custom_tool_call": {"name": texts, "input": _long | values, "call_id": _ids},
    "local_shell_call": {"action": values, "call_id": _ids | values},
    "tool_search_call": {"arguments": values, "call_id": _ids | values},
    "function_call_output": {"call_id": _ids | values, "output": _content | st.fixed_dictionaries({"content": _content})},
    "custom_tool_call_output": {"call_id": _ids, "output": _content},
    "tool_search_output": {"call_id": _ids, "tools": values},
    "compaction": {"encrypted_content": _long | values},
    "web_search_call": {"action": values},
    "new_item": {"x": values},
}
items = st.one_of(
    *(st.fixed_dictionaries({"type": st.just(kind)} | fields, optional=_odd) for kind, fields in _fields.items()), values
)
_payloads: dict[str, Any] = {
    "response_item": items,
    "compacted": st.fixed_dictionaries(
        {}, optional={"message": _long | values, "replacement_history": st.lists(items, max_size=3)}
    ),
    "event_msg": st.one_of(
        st.fixed_dictionaries({"type": st.just("thread_rolled_back"), "num_turns": st.integers(-1, 3) | values}),
        st.fixed_dictionaries({"type": st.just("exec_command_end"), "call_id": _ids, "exit_code": st.integers(-1, 2) | values}),
        values,
    ),
    "turn_context": st.fixed_dictionaries({}, optional={"model": texts | values, "cwd": texts}),
    "session_meta": st.fixed_dictionaries({}, optional={"id": texts | values, "source": values, "git": values}),
    "new_type": values,
}


def rollouts() -> st.SearchStrategy[list[bytes]]:
    """Lines of any kind behind a session's own description, with what the agent never writes among them."""
    return _shared


@st.composite
def _rollouts(draw: Any) -> list[bytes]:
    lines = [meta()] if draw(st.integers(0, 5)) else []
    for _ in range(draw(st.integers(0, 9))):
        kind = draw(st.sampled_from(["response_item"] * 6 + sorted(_payloads)))
        envelope: Json = {"timestamp": TIME, "type": kind, "payload": draw(_payloads[kind])}
        lines.append(
            envelope | draw(st.fixed_dictionaries({}, optional={"timestamp": texts | values, "ordinal": values, "x": values}))
        )
    raws = [json.dumps(line).encode() + b"\n" for line in lines]
    for _ in range(draw(st.integers(0, 1))):
        garbage = draw(st.binary(max_size=40)).replace(b"\n", b" ").replace(b"\r", b" ") + b"\n"
        raws.insert(draw(st.integers(1, len(raws) + 1)), garbage)
    return raws


_shared = shared(_rollouts())
