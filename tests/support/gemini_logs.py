"""Logs of Gemini CLI for Hypothesis, with all that goes wrong in them, and what stands in one that we wrote."""

from typing import Any

from draws import shared
from hypothesis import strategies as st
from jsons import texts, values
from standard_sessions import PNG

from adapters.gemini.records import items_of
from adapters.session import Session
from adapters.written import Written
from eventstore.wire.codec import dump, parse

Json = dict[str, Any]

_ids = st.sampled_from(["a", "b", "c", "d"]) | texts
_call_ids = st.sampled_from(["call_1", "call_2", "", "x"]) | texts
_names = st.sampled_from(["run_shell_command", "read_file"]) | texts
_signed = {"thoughtSignature": st.just("U0lH")}
_response = st.fixed_dictionaries(
    {"response": st.fixed_dictionaries({"output": texts | st.just("x" * 99)}) | st.fixed_dictionaries({"error": texts}) | values},
    optional={"id": _call_ids, "name": _names, "parts": values, "more": values},
)
_part = (
    st.builds(lambda text: {"text": text}, texts | st.just("x" * 99))
    | st.fixed_dictionaries({"text": texts, "thought": st.just(True) | values}, optional=_signed)
    | st.fixed_dictionaries(
        {"functionCall": st.fixed_dictionaries({"name": _names}, optional={"id": _call_ids, "args": values})}, optional=_signed
    )
    | st.fixed_dictionaries({"functionResponse": _response}, optional={"more": values})
    | st.just({"inlineData": {"mimeType": "image/png", "data": PNG}})
    | st.fixed_dictionaries({"inlineData": st.fixed_dictionaries({"mimeType": texts, "data": texts | values})})
    | st.just({"fileData": {"mimeType": "image/png", "fileUri": "https://example.org/a.png"}})
    | values
)
_content = st.lists(_part, max_size=4) | texts | _part
_calls = st.lists(
    st.fixed_dictionaries(
        {"id": _call_ids, "name": _names},
        optional={
            "args": st.dictionaries(texts, values, max_size=2) | values,
            "result": st.lists(_part, max_size=3) | texts | values | st.fixed_dictionaries({"functionResponse": _response}),
            "status": st.sampled_from(["success", "error", "cancelled"]) | values,
            "agentId": texts | st.just("agent-1"),
            "resultDisplay": values,
        },
    )
    | values,
    max_size=3,
)
_times = st.sampled_from(["2026-11-30T00:00:47.423Z", "now", ""])
records = st.fixed_dictionaries(
    {"id": _ids, "type": st.sampled_from(["user", "gemini", "gemini", "info", "error", "odd"]), "content": _content},
    optional={
        "timestamp": _times | values,
        "thoughts": st.lists(st.fixed_dictionaries({"subject": texts, "description": texts}) | values, max_size=2) | values,
        "tokens": st.dictionaries(st.sampled_from(["input", "output", "cached", "thoughts", "total"]), st.integers(-1, 9)) | values,
        "model": st.just("gemini-2.5-flash") | values,
        "toolCalls": _calls | values,
        "field_of_next_year": values,
    },
)
_set = st.fixed_dictionaries(
    {}, optional={"messages": st.lists(records | values, max_size=3) | values, "lastUpdated": _times, "summary": texts}
)
_header = st.fixed_dictionaries(
    {"sessionId": st.just("dde903a7-0f36-4107-ac37-842e268b9211"), "projectHash": st.just("fb08")},
    optional={
        "kind": st.sampled_from(["main", "subagent"]),
        "summary": texts,
        "messages": st.lists(records, max_size=2),
        "directories": st.lists(texts),
    },
)
line_values = (
    records
    | records
    | _header
    | st.fixed_dictionaries({"$set": _set | values}, optional={"more": values})
    | st.fixed_dictionaries({"$rewindTo": _ids})
    | values
)
logs = shared(st.lists(line_values.map(lambda value: dump(value).encode() + b"\n"), max_size=8))


def foreign(session: Session) -> Session:
    """As from an agent that is not Gemini CLI."""
    return Session(session.meta | {"agent_source": "other", "native_session_id": "s1"}, session.entries)


def all_records(written: Written) -> list[Json]:
    """Every message record, dead ones too, in the order of the lines."""
    found: list[Json] = []
    for line in written.records:
        value = parse(line.decode())
        if isinstance(value, dict):
            found += items_of(value) if "$set" in value else [value] if "id" in value else []
    return found
