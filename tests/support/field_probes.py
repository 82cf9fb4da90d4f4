"""Messages in which one thing stands that may be kept or lost, for each thing that a standard message can say."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from standard_sessions import PNG

from adapters.registry import WRITERS
from adapters.session import Session
from adapters.target import Target
from eventstore.wire.codec import dump, parse

Json = dict[str, Any]
NOW_MS = 1_800_000_000_000
TIME = "2026-03-01T10:00:00.000Z"
# What a session says of itself, and how it is told that it arrived.
META = {
    "the session's title": ("title", "⟦title⟧"),
    "the working directory": ("cwd", "/⟦cwd⟧"),
    "the git branch": ("git_branch", "⟦branch⟧"),
}


@dataclass(frozen=True, eq=False)
class Probe:
    """`paths`: what of a message of `role` is looked for in a report; `places`: fields that only some agents' readers fill."""

    what: str
    role: str
    messages: list[Json]
    paths: tuple[str, ...]
    places: tuple[str, ...] = ()

    @property
    def is_always(self) -> bool:
        return not self.places


def _user(content: Any = "go on", **more: Any) -> Json:
    return {"role": "user", "content": content, "append_id": "u", **more}


def _assistant(content: Any = "done", **more: Any) -> Json:
    return {"role": "assistant", "content": content, "append_id": "a", **more}


def _calls(arguments: str = '{"x": 1}') -> list[Json]:
    return [{"id": "call_1", "type": "function", "function": {"name": "read", "arguments": arguments}}]


def _result(content: Any = "said", **more: Any) -> list[Json]:
    result = {"role": "tool", "append_id": "t", "tool_call_id": "call_1", "content": content, **more}
    return [_user(), _assistant(None, tool_calls=_calls()), result]


def _thought(**thinking: Any) -> list[Json]:
    return [_user(), _assistant(thinking=thinking)]


def _metadata(what: str, role: str, name: str, value: Any, place: str | None = None) -> Probe:
    said = {"metadata": {name: value}}
    messages = {"user": [_user(**said)], "assistant": [_user(), _assistant(**said)], "tool": _result(**said)}[role]
    return Probe(what, role, messages, (f"metadata.{name}",), (place or f"metadata.{name}",))


def _image(url: str) -> list[Json]:
    return [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": url}}]


_png = f"data:image/png;base64,{PNG}"
_pdf = {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PNG}"}}
_usage = {"input_tokens": 5, "output_tokens": 6, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 8}
_compaction = _user("Summary: …", metadata={"origin": "harness", "compaction": {"trigger": "auto", "pre_tokens": 9}})

PROBES = [
    Probe("what the user wrote", "user", [_user()], ("content",)),
    Probe("an image", "user", [_user(_image(_png))], ("content",)),
    Probe("an image by its address", "user", [_user(_image("https://example.org/a.png"))], ("content",)),
    Probe(
        "a PDF", "user", [_user([*_image(_png)[:1], _pdf])], ("content",), ("content[].file.file_data", "content[].file.filename")
    ),
    Probe("what the agent answered", "assistant", [_user(), _assistant()], ("content",)),
    Probe(
        "thinking that nobody signed",
        "assistant",
        _thought(content="hm", items=[{"text": "hm"}]),
        ("thinking",),
        ("thinking.items[].text",),
    ),
    Probe(
        "signed thinking",
        "assistant",
        _thought(content="hm", items=[{"text": "hm", "signature": "sig", "provider": "anthropic"}]),
        ("thinking",),
        ("thinking.items[].signature", "thinking.items[]"),
    ),
    Probe(
        "encrypted thinking",
        "assistant",
        _thought(encrypted=True, items=[{"data": "abc", "provider": "openai"}]),
        ("thinking",),
        ("thinking.items[].data", "thinking.items[]"),
    ),
    Probe("a tool call: its name and arguments", "assistant", _result(), ("tool_calls",), ("tool_calls[].id",)),
    Probe(
        "arguments that are no JSON object",
        "assistant",
        [_user(), _assistant(None, tool_calls=_calls("{not"))],
        ("tool_calls[].function.arguments",),
        ("tool_calls[].function.arguments",),
    ),
    Probe("a tool's result", "tool", _result(), ("content", "tool_call_id"), ("tool_call_id", "tool_calls[].id")),
    Probe("an image in a tool's result", "tool", _result(_image(_png)), ("content",), ("content[].image_url",)),
    _metadata("that a tool failed", "tool", "is_error", True, "metadata.is_error"),
    Probe(
        "a result whose call is not in the session",
        "tool",
        [_user(), {**_result()[2], "tool_call_id": "gone"}],
        ("content", "tool_call_id"),
        ("tool_call_id", "tool_calls[].id"),
    ),
    Probe("when it was said", "user", [_user(created_at=TIME)], ("created_at",), ("created_at",)),
    _metadata("the model", "assistant", "model", "large"),
    _metadata("the provider", "assistant", "provider", "acme"),
    _metadata("tokens used", "assistant", "usage", _usage, "metadata.usage.input_tokens"),
    _metadata("which lines are one reply", "assistant", "reply_id", "r1"),
    _metadata("that a reply ended well", "assistant", "status", "complete", "metadata.status"),
    _metadata("that a reply failed", "assistant", "status", "error", "metadata.status"),
    Probe("a compaction's summary", "user", [_compaction], ("content",), ("metadata.compaction",)),
    Probe("how it came to a compaction", "user", [_compaction], ("metadata.compaction",), ("metadata.compaction",)),
    Probe(
        "text of its harness (reminders, caveats)",
        "user",
        [_user("reminder", metadata={"origin": "harness"}), _user()],
        ("content",),
        ("metadata.origin",),
    ),
    Probe(
        "its system prompt, where it keeps one",
        "system",
        [{"role": "system", "content": "be brief", "append_id": "s"}, _user()],
        ("content",),
    ),
    _metadata("its own ids of messages", "user", "native_id", "n1"),
    Probe(
        "its own records (all that no message says)",
        "user",
        [_user(native={"agent": "another", "record": {"x": 1}})],
        ("native",),
    ),
]


@cache
def _written(agent: str, session: str) -> tuple[str, Json]:
    said = parse(session)
    target = Target(now_ms=NOW_MS, provider="acme", model="large")
    done = WRITERS[agent].write(Session(said["meta"], tuple(said["entries"])), target)
    records = [record.decode() if isinstance(record, bytes) else dump(record) for record in done.records]
    return "\n".join(records), done.report


def written(agent: str, messages: list[Json], meta: Json | None = None) -> tuple[str, Json]:
    """Return what an agent's writer makes of messages that another agent wrote, as text, and its report."""
    told = {"agent_source": "another", "cwd": "/relay", **(meta or {})}
    return _written(agent, dump({"meta": told, "entries": messages}))
