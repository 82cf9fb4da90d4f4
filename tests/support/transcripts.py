"""Claude Code transcripts for Hypothesis: lines of any kind, with what the agent never writes among them."""

import json
from typing import Any

from draws import shared
from hypothesis import strategies as st

texts = st.text(st.characters(), max_size=90) | st.sampled_from(["\0", "\ud800\udc00x", "\ud800", "漢" * 80, "x" * 200])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
blocks = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": texts | values}),
    st.fixed_dictionaries({"type": st.just("tool_use"), "id": texts, "name": texts, "input": values}),
    st.fixed_dictionaries({"type": st.just("tool_result"), "tool_use_id": texts, "content": values}),
    st.fixed_dictionaries({"type": st.just("thinking"), "thinking": texts, "signature": values}),
    values,
)


odd_message = st.fixed_dictionaries({}, optional=dict.fromkeys(["id", "model", "role", "stop_reason", "usage", "type"], values))
_envelope = [
    "timestamp",
    "version",
    "sessionId",
    "agentId",
    "cwd",
    "isMeta",
    "isCompactSummary",
    "isApiErrorMessage",
    "toolUseResult",
]
odd_record = st.fixed_dictionaries({}, optional=dict.fromkeys(_envelope, values))


def transcripts() -> st.SearchStrategy[list[bytes]]:
    """Lines of any kind in one growing chain, with what the agent never writes among them."""
    return _shared


@st.composite
def _transcripts(draw: Any) -> list[bytes]:
    lines: list[bytes] = []
    parent = None
    for number in range(draw(st.integers(0, 8))):
        kind = draw(st.sampled_from(["user", "assistant", "progress", "new-type", "garbage"]))
        if kind == "garbage":
            lines.append(draw(st.binary(max_size=40)).replace(b"\n", b" ") + b"\n")
            continue
        content = draw(texts | st.lists(blocks, max_size=3) | values)
        record = (
            {"message": {"content": content} | draw(odd_message)}
            | draw(odd_record)
            | draw(st.dictionaries(texts, values, max_size=2))
        )
        lines.append(json.dumps(record | {"type": kind, "uuid": f"u{number}", "parentUuid": parent}).encode() + b"\n")
        parent = f"u{number}"
    return lines


_shared = shared(_transcripts())
