"""A model that answers from a script, as Google's Gemini API, and remembers every request. For agents that really run."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "gemini-2.5-flash"
ANSWER = "The scripted model has read it all."
CALLING = "The scripted model calls a tool."
SNAPSHOT = "<state_snapshot><overall_goal>The scripted model summed it up.</overall_goal></state_snapshot>"


class ScriptedGemini:
    """`requests` are the bodies, in order. It answers each with ANSWER, a request for a summary with SNAPSHOT.

    `calls` are made, together, in the answer to the next message of a user's.
    """

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self.requests: list[dict[str, Any]] = []
        self.calls: list[dict[str, Any]] = []
        self.prompt_tokens = 10
        self.url = f"http://127.0.0.1:{server.server_address[1]}"

    def conversation(self, marker: str) -> list[dict[str, Any]]:
        """The contents of the newest request whose last turn holds the marker. (Agents also ask for titles.)"""
        for body in reversed(self.requests):
            contents: list[dict[str, Any]] = body.get("contents", [])
            if contents and marker in json.dumps(contents[-1]["parts"]) and body.get("tools"):
                return contents
        raise AssertionError(f"no request ends with {marker!r}; there were {len(self.requests)}")

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        self.requests.append(body)
        last = body.get("contents", [{}])[-1].get("parts", [])
        parts: list[dict[str, Any]] = [{"text": "**Plan** I read.", "thought": True}]
        if any("state_snapshot" in part.get("text", "") for part in last):
            parts = [{"text": SNAPSHOT}]
        elif self.calls and not any("functionResponse" in part for part in last):
            parts += [{"text": CALLING}, *({"functionCall": call} for call in self.calls)]
            self.calls = []
        else:
            parts.append({"text": ANSWER})
        usage = {"promptTokenCount": self.prompt_tokens, "candidatesTokenCount": 5, "totalTokenCount": self.prompt_tokens + 5}
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": MODEL}


@contextmanager
def scripted_gemini() -> Iterator[ScriptedGemini]:
    """Serve until the block is left."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
            if "countTokens" in self.path:
                self._send("application/json", json.dumps({"totalTokens": model.prompt_tokens}))
            elif "stream" in self.path:
                self._send("text/event-stream", f"data: {json.dumps(model.answer(body))}\n\n")
            else:
                self._send("application/json", json.dumps(model.answer(body)))

        def _send(self, kind: str, text: str) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    model = ScriptedGemini(server)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=10)
