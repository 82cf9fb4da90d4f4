"""Requests that no client in its senses would send: right ones with something wrong in body, query, path or headers.

Everything is drawn from one `Random`, so that a run can be had again.
"""

import json
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

DEEP = "[" * 200 + "]" * 200
TEXTS = [
    "",
    " ",
    "\0",
    "\ud800",
    "\udfff\ud83d",
    "😀",
    "\u202e",
    "'; drop table log; --",
    "../..",
    "%00",
    "x" * 30_000,
    "ses_",
    "snap_1",
]
NUMBERS = ["0", "-1", "-0", "0.5", "1e999", "-1e-999", "9" * 40, "18446744073709551616", "9223372036854775807", "01", "NaN", "1e5"]
QUERIES = [
    "",
    "0",
    "-1",
    "1.5",
    "1e9",
    "9" * 18,
    "9" * 40,
    "nan",
    "inf",
    "%00",
    "%ff",
    "%F0%9F%98%80",
    "null",
    "true",
    "1 ",
    "+1",
    "٣",
    "a" * 500,
]
NAMES = [
    "after_seq",
    "limit",
    "wait",
    "native",
    "log_id",
    "cursor",
    "q",
    "project_id",
    "session_id",
    "append_id",
    "expected_seq",
    "reason",
    "to",
    "version",
    "cwd",
    "model",
    "x",
    "",
]
NO_WAIT = ["0", "0.01", "-1", "nan", "1e400", "x", "61"]

READING_TOOLS = ["list_sessions", "read_session", "list_snapshots", "no_such_tool"]  # what is written is counted by REST's answers


class Source(str):
    """JSON text that is put in as it is."""


@dataclass(frozen=True)
class Request:
    """One request. `is_whole`: its framing is right, so that it must be answered and the connection may be used again."""

    method: str
    path: str
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    is_whole: bool = True
    version: str = "HTTP/1.1"

    def encoded(self, host: str, token: str) -> bytes:
        """The bytes on the wire. A header of the request's own stands in the place of the usual one."""
        usual = {"host": host, "authorization": f"Bearer {token}", "content-length": str(len(self.body))}
        own = {name.lower() for name, _ in self.headers}
        if "transfer-encoding" in own:
            del usual["content-length"]
        lines = [f"{self.method} {self.path} {self.version}"]
        lines += [f"{name}: {value}" for name, value in usual.items() if name not in own]
        lines += [f"{name}: {value}" for name, value in self.headers]
        return "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n" + self.body


@dataclass
class Mutator:
    """Draws requests about some sessions and snapshots."""

    random: Random
    project: str
    sessions: list[str] = field(default_factory=list)
    snapshots: list[str] = field(default_factory=list)

    def request(self) -> Request:
        """A right request four times in ten, else one with one to three things wrong."""
        request, value = self._right()
        wrongs = self.random.choice([0, 0, 0, 0, 1, 1, 1, 1, 2, 3])
        for _ in range(wrongs):
            way = self.random.choice([self._value, self._value, self._text, self._query, self._path, self._headers])
            if way == self._value:
                value = self._value(value)
                request = replace(request, body=dumped(value).encode("utf-8", "surrogatepass"))
            else:
                request = way(request)
        return request

    def _right(self) -> tuple[Request, Any]:
        draw = self.random.random
        session, snapshot = self.random.choice(self.sessions), self.random.choice(self.snapshots)
        path = f"/v1/sessions/{session}"
        if draw() < 0.25:
            views = ["/v1/sessions", "/v1/snapshots", "/v1/log", "/healthz", "/readyz", "/schema/message.v1.json", "/openapi.json"]
            own = [path, f"{path}/lineage", f"{path}/events", f"/v1/snapshots/{snapshot}", f"/v1/diff?a={session}&b={snapshot}"]
            own += [f"{path}/export?to={agent}" for agent in ("messages", "claude-code", "hermes", "opencode")]
            return Request("GET", self.random.choice(views + own)), None
        if draw() < 0.01:
            return Request("DELETE", path), None
        if draw() < 0.08:
            call = {
                "name": self.random.choice(READING_TOOLS),
                "arguments": {"session_id": session, "project_id": self.project, "limit": 2},
            }
            value = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
            return Request("POST", "/mcp", dumped(value).encode()), value
        method, target, value = self.random.choice(
            [
                ("POST", f"{path}/messages", self._message()),
                ("POST", f"{path}/messages", self._message()),
                ("POST", f"{path}/messages", {"messages": [self._message() for _ in range(3)]}),
                ("POST", f"{path}/native", {"agent": "a", "version": "1", "records": [1, {"x": None}]}),
                ("POST", "/v1/sessions", {"project_id": self.project, "meta": {"title": "t"}} | self._maybe_id()),
                ("PATCH", path, {"a": 1, "b": {"c": None}}),
                ("POST", "/v1/snapshots", {"session_id": session, "commit_msg": "m"} | self._maybe_id()),
                ("POST", f"/v1/snapshots/{snapshot}/fork", {"meta": {}} | self._maybe_id()),
            ]
        )
        return Request(method, target, dumped(value).encode()), value

    def _message(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "user", "content": self.random.choice(["hi", *TEXTS]), "metadata": {"x": [1, {"y": 2}]}}
        return message | self._maybe_id()

    def _maybe_id(self) -> dict[str, Any]:
        return {"append_id": f"k{self.random.randrange(12)}"} if self.random.random() < 0.3 else {}

    def _value(self, value: Any) -> Any:
        """The value with one place in it taken by something else."""
        if isinstance(value, dict) and value and self.random.random() < 0.8:
            name = self.random.choice(list(value))
            way = self.random.randrange(5)
            if way == 0:
                return {other: value[other] for other in value if other != name}
            if way == 1:
                return value | {self.random.choice([*TEXTS, "role", "seq", "messages", "native"]): self._strange()}
            if way == 2:
                return Source(dumped(value)[:-1] + f",{dumped(name)}:1}}")  # a key twice
            return value | {name: self._value(value[name])}
        if isinstance(value, list) and value and self.random.random() < 0.7:
            at = self.random.randrange(len(value))
            return [*value[:at], self._value(value[at]), *value[at + 1 :]]
        return self._strange()

    def _strange(self) -> Any:
        kinds: list[Any] = [None, True, [], {}, [None], {"": {}}, Source(DEEP), "\ud800" * 50, 0, -5, 1.5]
        return self.random.choice([*kinds, *TEXTS, *map(Source, NUMBERS), ["x"] * 1200])

    def _text(self, request: Request) -> Request:
        """The body with bytes changed, cut off, doubled or put in."""
        body = bytearray(request.body or b"{}")
        at = self.random.randrange(len(body))
        way = self.random.randrange(5)
        if way == 0:
            body[at] ^= 1 << self.random.randrange(8)
        elif way == 1:
            del body[at:]
        elif way == 2:
            body[at:at] = body[at : at + 40] * 20
        elif way == 3:
            body[at:at] = self.random.choice(
                [b"\xff", b"\x00", b"\xed\xa0\x80", b"[" * 300, b'"', b"{", b"}", b"\\u", b"\xef\xbb\xbf"]
            )
        else:
            body = bytearray(self.random.randbytes(self.random.randrange(200)))
        return replace(request, body=bytes(body))

    def _query(self, request: Request) -> Request:
        pairs = []
        for _ in range(self.random.randrange(1, 4)):
            name = self.random.choice(NAMES)
            pairs.append(f"{name}={self.random.choice(NO_WAIT if name == 'wait' else QUERIES).replace(' ', '+')}")
        return replace(request, path=request.path + ("&" if "?" in request.path else "?") + "&".join(pairs))

    def _path(self, request: Request) -> Request:
        path = request.path
        at = self.random.randrange(len(path))
        odd = self.random.choice(["%00", "%ff", "%2e%2e", "/", "//", "%", "..", "é", "%F0%9F%98%80", "a" * 2000, ";", "\\"])
        moved = [
            path[:at] + odd + path[at:],
            path[:at],
            path + odd,
            path.replace("ses_", odd),
            path.replace("snap_", f"snap_{'9' * 30}"),
        ]
        return replace(request, path="/" + self.random.choice(moved).lstrip("/"))

    def _headers(self, request: Request) -> Request:
        name, value, is_whole = self.random.choice(
            [
                ("Content-Type", "text/plain; charset=utf-16", True),
                ("Authorization", self.random.choice(["", "Bearer", "Bearer x", "Basic eDp4", "Bearer \udcff", "bearer  "]), True),
                ("Host", self.random.choice(["", "evil.example", "[::1", "127.0.0.1:x", "a" * 300]), True),
                ("Origin", self.random.choice(["null", "http://evil.example", "://", ""]), True),
                ("Last-Event-ID", self.random.choice(QUERIES).replace("%", ""), True),
                ("Content-Encoding", self.random.choice(["gzip", "identity", "br", ""]), True),
                ("Expect", "100-continue", True),
                ("X-Long", "x" * 30_000, True),
                ("Tasuki-Client", self.random.choice(["", "x" * 500, "é", "a b"]), True),
                ("Content-Length", self.random.choice(["-1", "x", "", "9" * 30, str(len(request.body) + 7)]), False),
                ("Content-Length", str(max(0, len(request.body) - 3)), False),
                ("Transfer-Encoding", self.random.choice(["chunked", "gzip", "chunked, chunked"]), False),
                ("Bad Name", "x", False),
                ("X-Nul", "\0", False),
            ]
        )
        method = self.random.choice([request.method] * 8 + ["PUT", "OPTIONS", "HEAD", "TRACE", "brew", "GET", "POST"])
        is_whole = is_whole and request.is_whole and method != "HEAD"
        return replace(request, method=method, headers=(*request.headers, (name, value)), is_whole=is_whole)


def dumped(value: Any) -> str:
    """JSON of a value; a Source stands in it as it is."""
    if isinstance(value, Source):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{dumped(member)}" for name, member in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(dumped, value)) + "]"
    return json.dumps(value)
