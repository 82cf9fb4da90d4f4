"""A model that answers from a script, as OpenAI's chat completions or responses, or Anthropic's messages.

It remembers every request. For agents that really run.
"""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

MODEL = "fake-model"
ANSWER = "The scripted model has read it all."
CALLING = "The scripted model calls a tool."


class ScriptedModel:
    """`requests` are the bodies, in order. It answers each with ANSWER, streamed or not.

    `calls` (`{"name", "args"}`) are made, together, in the next streamed answer to a request that offers tools.
    """

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self.requests: list[dict[str, Any]] = []
        self.calls: list[dict[str, Any]] = []
        self.url = f"http://127.0.0.1:{server.server_address[1]}/v1"

    def conversation(self, marker: str) -> list[dict[str, Any]]:
        """The messages of the newest request whose last user message holds the marker. (Agents also ask for titles.)"""
        for body in reversed(self.requests):
            messages: list[dict[str, Any]] = body.get("messages", [])
            spoken = [message for message in messages if message["role"] == "user"]
            if spoken and marker in json.dumps(spoken[-1]["content"]) and body.get("tools"):
                return messages
        raise AssertionError(f"no request ends with {marker!r}; there were {len(self.requests)}")

    def items(self, marker: str) -> list[dict[str, Any]]:
        """The input of the newest request for a response whose last item holds the marker."""
        for body in reversed(self.requests):
            given: list[dict[str, Any]] = body.get("input", [])
            if given and marker in json.dumps(given[-1].get("content")):
                return given
        raise AssertionError(f"no request ends with {marker!r}; there were {len(self.requests)}")

    def take_calls(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        """The calls to make in the answer to this request, each with an id; they are made once."""
        if not body.get("tools"):
            return []
        calls, self.calls = self.calls, []
        return [{"id": f"call_{uuid4().hex}", "name": call["name"], "arguments": json.dumps(call["args"])} for call in calls]


@contextmanager
def scripted_model() -> Iterator[ScriptedModel]:
    """Serve until the block is left."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            self._send("application/json", json.dumps({"object": "list", "data": [{"id": MODEL, "object": "model"}]}))

        def do_POST(self) -> None:
            body = json.loads(self._body() or b"{}")
            model.requests.append(body)
            if self.path.partition("?")[0].endswith("/messages"):
                self._stream(_blocks(model.take_calls(body)))
            elif self.path.endswith("/responses"):
                self._stream(_response(model.take_calls(body)))
            elif body.get("stream"):
                events = (*_events(model.take_calls(body)), "[DONE]")
                self._send("text/event-stream", "".join(f"data: {event}\n\n" for event in events))
            else:
                message = {"role": "assistant", "content": ANSWER}
                self._send("application/json", json.dumps(_completion("chat.completion", {"message": message}, "stop")))

        def _body(self) -> bytes:
            if self.headers.get("transfer-encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("content-length") or 0))
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body

        def _stream(self, events: Iterator[dict[str, Any]]) -> None:
            lines = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
            self._send("text/event-stream", "".join(lines))

        def _send(self, kind: str, text: str) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    model = ScriptedModel(server)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=10)


Calls = Sequence[dict[str, Any]]


def _events(calls: Calls) -> Iterator[str]:
    delta: dict[str, Any] = {"role": "assistant", "content": ANSWER}
    if calls:
        told = [{"name": call["name"], "arguments": call["arguments"]} for call in calls]
        ids = [{"index": at, "id": call["id"], "type": "function"} for at, call in enumerate(calls)]
        made = [{**one, "function": function} for one, function in zip(ids, told, strict=True)]
        delta = {"role": "assistant", "content": CALLING, "tool_calls": made}
    yield json.dumps(_completion("chat.completion.chunk", {"delta": delta}, None))
    yield json.dumps(_completion("chat.completion.chunk", {"delta": {}}, "tool_calls" if calls else "stop"))


def _blocks(calls: Calls) -> Iterator[dict[str, Any]]:
    usage = {"input_tokens": 10, "output_tokens": 5}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": [], "usage": usage}
    yield {"type": "message_start", "message": message | {"stop_reason": None, "stop_sequence": None}}
    said = {"type": "text_delta", "text": CALLING if calls else ANSWER}
    blocks = [({"type": "text", "text": ""}, said)]
    for call in calls:
        block = {"type": "tool_use", "id": call["id"], "name": call["name"], "input": {}}
        blocks.append((block, {"type": "input_json_delta", "partial_json": call["arguments"]}))
    for index, (block, delta) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    why = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": why, "usage": {"output_tokens": 5}}
    yield {"type": "message_stop"}


def _completion(kind: str, choice: dict[str, Any], finish: str | None) -> dict[str, Any]:
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return {
        "id": "chatcmpl-1",
        "object": kind,
        "created": 1,
        "model": MODEL,
        "choices": [{"index": 0, "finish_reason": finish, **choice}],
        "usage": usage,
    }


def _response(calls: Calls) -> Iterator[dict[str, Any]]:
    text = {"type": "output_text", "text": CALLING if calls else ANSWER, "annotations": []}
    items: list[dict[str, Any]] = [
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
    ]
    for call in calls:
        told = {"call_id": call["id"], "name": call["name"], "arguments": call["arguments"]}
        items.append({"type": "function_call", "id": f"fc_{call['id']}", "status": "completed", **told})
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    response = {"id": "resp_1", "object": "response", "created_at": 1, "model": MODEL, "output": items, "usage": usage}
    yield {"type": "response.created", "response": response | {"status": "in_progress", "output": []}}
    for index, item in enumerate(items):
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": response | {"status": "completed"}}
