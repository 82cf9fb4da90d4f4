"""What a model was shown, in one form for all APIs: who said what, which calls were made, and what came of them.

For proving that a session arrived: what the hub has of it is looked for in what the agent sent to its model.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

Json = dict[str, Any]


class Said(NamedTuple):
    """`kind` is user, assistant, call or result. `text` is without spaces, which agents trim and join; of a call its arguments."""

    kind: str
    text: str
    name: str = ""


def shown_to(requests: Sequence[Json], marker: str) -> list[Said]:
    """All that the first request with tools and the marker shows. (Agents also ask for titles.)"""
    for body in requests:
        if body.get("tools") and marker in json.dumps(_items(body)):
            return [said for item in _items(body) for said in _of_item(item) if said.text or said.kind in ("call", "result")]
    raise AssertionError(f"no request holds {marker!r}; there were {len(requests)}")


def said_in(messages: Sequence[Json]) -> list[Said]:
    """The same of the hub's messages, less what an agent's harness put in."""
    said: list[Said] = []
    for message in messages:
        if message["metadata"].get("origin") != "harness":
            said += _of_item(message)
    return [one for one in said if one.text or one.kind == "call"]


def assert_arrived(wanted: Sequence[Said], shown: Sequence[Said]) -> None:
    """All texts and calls are there, in their order, with nothing called besides; results of calls in parallel in any order."""
    calls = [(said.name, said.text) for said in wanted if said.kind == "call"]
    assert [(said.name, said.text) for said in shown if said.kind == "call"] == calls
    at = called_at = 0  # the place that we are at, and that of the first of the calls made last
    kind = ""
    for said in wanted:
        since = called_at if said.kind == "result" else at
        found = [index for index in range(since, len(shown)) if _holds(shown[index], said)]
        assert found, f"{said} was not shown, or in another order"
        if said.kind != "result":
            at = found[0]
        if said.kind == "call" and kind != "call":
            called_at = at
        kind = said.kind


def _holds(shown: Said, wanted: Said) -> bool:
    if wanted.kind == "call":
        return shown == wanted
    return shown.kind == wanted.kind and wanted.text in shown.text


def _items(body: Json) -> list[Json]:
    items: list[Json] = body.get("messages") or body.get("input") or body.get("contents") or []
    return items


def _of_item(item: Json) -> Iterator[Said]:
    """What one message, item or turn says, of any API."""
    role = {"model": "assistant"}.get(item.get("role", ""), item.get("role", ""))
    if item.get("type") == "function_call":
        yield _call(item["name"], item["arguments"])
    elif item.get("type") == "function_call_output":
        yield Said("result", _text(item["output"]))
    elif role == "tool":
        yield Said("result", _text(item["content"]))
    elif role in ("user", "assistant"):
        for part in _parts(item):
            yield from _of_part(role, part)
        for call in item.get("tool_calls") or ():
            yield _call(call["function"]["name"], call["function"]["arguments"])


def _parts(item: Json) -> list[Json]:
    content = item.get("parts") or item.get("content") or []
    return [{"text": content}] if isinstance(content, str) else content


def _of_part(role: str, part: Json) -> Iterator[Said]:
    if part.get("type") == "tool_use":
        yield _call(part["name"], part["input"])
    elif part.get("type") == "tool_result":
        yield Said("result", _text(part.get("content")))
    elif "functionCall" in part:
        yield _call(part["functionCall"]["name"], part["functionCall"]["args"])
    elif "functionResponse" in part:
        yield Said("result", _text(list(part["functionResponse"]["response"].values())))
    elif not part.get("thought"):
        yield Said(role, _text(part.get("text")))


def _call(name: str, arguments: Any) -> Said:
    meant = json.loads(arguments) if isinstance(arguments, str) else arguments
    return Said("call", json.dumps(meant, sort_keys=True), name)


def _text(content: Any) -> str:
    """Its text without spaces."""
    if isinstance(content, list):
        return "".join(_text(part.get("text") if isinstance(part, dict) else part) for part in content)
    return "".join(content.split()) if isinstance(content, str) else ""
