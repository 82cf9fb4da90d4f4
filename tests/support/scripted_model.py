"""A model that answers from a script, as OpenAI's chat completions or responses, or Anthropic's messages.

It remembers every request. For agents that really run.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "fake-model"
ANSWER = "The scripted model has read it all."


class ScriptedModel:
    """`requests` are the bodies, in order. It answers each with ANSWER, streamed or not."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self.requests: list[dict[str, Any]] = []
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
                self._send(
                    "text/event-stream", "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in _blocks())
                )
            elif self.path.endswith("/responses"):
                events = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in _response())
                self._send("text/event-stream", "".join(events))
            elif body.get("stream"):
                self._send("text/event-stream", "".join(f"data: {event}\n\n" for event in (*_events(), "[DONE]")))
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


def _events() -> Iterator[str]:
    yield json.dumps(_completion("chat.completion.chunk", {"delta": {"role": "assistant", "content": ANSWER}}, None))
    yield json.dumps(_completion("chat.completion.chunk", {"delta": {}}, "stop"))


def _blocks() -> Iterator[dict[str, Any]]:
    usage = {"input_tokens": 10, "output_tokens": 5}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": [], "usage": usage}
    yield {"type": "message_start", "message": message | {"stop_reason": None, "stop_sequence": None}}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ANSWER}}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 5}}
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


def _response() -> Iterator[dict[str, Any]]:
    text = {"type": "output_text", "text": ANSWER, "annotations": []}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    response = {"id": "resp_1", "object": "response", "created_at": 1, "model": MODEL, "output": [item], "usage": usage}
    yield {"type": "response.created", "response": response | {"status": "in_progress", "output": []}}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": response | {"status": "completed"}}
