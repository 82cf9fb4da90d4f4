"""Noise for /mcp: requests of both protocol eras as clients send them, most of them bent, broken or cut. The same on every run.

A string that is sent as content, CANARY among it, must be found in no log.
"""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

CANARY = "canary-7f3a"
_HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
_MODERN = "2026-07-28"
_META = "io.modelcontextprotocol/"
_CLIENT = {"name": "noise", "version": "1"}
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_VERBS = "GET DELETE PUT OPTIONS HEAD PATCH get".split()
_HEADER_NAMES = (
    "Accept Content-Type MCP-Protocol-Version Mcp-Method Mcp-Name Mcp-Session-Id Last-Event-ID Mcp-Param-X Content-Encoding"
    " Expect Origin Tasuki-Client Authorization Host Cookie"
).split()
_HEADER_VALUES = (
    b"|*/*|application/json|text/event-stream|text/plain; q=0|application/json; charset=utf-16|\xff\xe9|2024-11-05|2025-11-25"
    b"|2026-07-28|2099-01-01|tools/call|=?base64?4pyT?=|=?base64?!?=|" + b"x" * 9000
).split(b"|")
Headers = list[tuple[str, bytes]]


@dataclass
class Asked:
    """One HTTP request. `is_cut`: its end never comes."""

    verb: str
    headers: Headers
    body: bytes
    is_chunked: bool = False
    is_cut: bool = False

    @property
    def may_wait(self) -> bool:
        """The answer can take its time, so the client leaves after a moment."""
        return self.is_cut or any(word in self.body for word in (b"read_session", b"subscriptions/listen"))


class Noise:
    """Draws requests; `sessions` and `snapshots` are ids that exist, `quiet` a session that nobody writes to and its head."""

    def __init__(self, seed: int, sessions: list[str], snapshots: list[str], quiet: tuple[str, int]) -> None:
        self._dice = random.Random(seed)
        self._sessions, self._snapshots, self._quiet = sessions, snapshots, quiet

    def draw(self) -> Asked:
        dice = self._dice
        method, params = self._call()
        is_modern = dice.random() < 0.5
        message: Any = {"jsonrpc": "2.0", "id": dice.choice([1, 7, "a", dice.randrange(10**6)]), "method": method, "params": params}
        if method.startswith("notifications/"):
            del message["id"]
        if is_modern:
            capabilities = {f"{_META}protocolVersion": _MODERN, f"{_META}clientCapabilities": {}}
            params["_meta"] = {**capabilities, **({"progressToken": 1} if dice.random() < 0.3 else {})}
        headers = self._headers(method, params, is_modern)
        for _ in range(dice.choice([0, 1, 1, 2, 4])):
            if "arguments" in params and dice.random() < 0.6:
                params["arguments"] = self._bent(params["arguments"])
            else:
                message = self._bent(message)
        if dice.random() < 0.15:
            headers = self._other_headers(headers)
        body = self._spelled(message)
        if dice.random() < 0.1:
            body = self._damaged(body)
        verb = dice.choice(_VERBS) if dice.random() < 0.05 else "POST"
        return Asked(verb, headers, body, is_chunked=dice.random() < 0.05, is_cut=dice.random() < 0.01)

    def _call(self) -> tuple[str, dict[str, Any]]:
        dice = self._dice
        if dice.random() < 0.6:
            name, arguments = self._tool()
            return "tools/call", {"name": name, "arguments": arguments}
        uri = f"session://{self._session()}{dice.choice(['', '/messages/0', '/messages/3', '/x'])}"
        others: list[tuple[str, dict[str, Any]]] = [
            ("initialize", {"protocolVersion": dice.choice(_HANDSHAKE), "capabilities": {}, "clientInfo": _CLIENT}),
            ("notifications/initialized", {}),
            ("notifications/cancelled", {"requestId": 1, "reason": CANARY}),
            ("notifications/progress", {"progressToken": 1, "progress": 0.5}),
            ("notifications/unheard-of", {"text": CANARY}),
            ("ping", {}),
            ("tools/list", dice.choice([{}, {"cursor": "1"}])),
            ("resources/list", dice.choice([{}, {"cursor": dice.choice(["1", "-1", "x", "9" * 40])}])),
            ("resources/templates/list", {}),
            ("resources/read", {"uri": uri}),
            ("resources/subscribe", {"uri": uri}),
            ("server/discover", {}),
            ("subscriptions/listen", {"notifications": {"resourceSubscriptions": [uri]}}),
            ("prompts/get", {"name": "handoff", "arguments": {"session_id": self._session()}}),
            ("prompts/list", {}),
            ("completion/complete", {"ref": {"type": "ref/prompt", "name": "handoff"}, "argument": {"name": "a", "value": "b"}}),
            ("logging/setLevel", {"level": "debug"}),
            ("tasks/get", {"taskId": "1"}),
            (dice.choice(["", "tools", "tools/call/", "rpc.discover", "\u0000", "TOOLS/LIST", "é"]), {}),
        ]
        return dice.choice(others)

    def _tool(self) -> tuple[str, dict[str, Any]]:
        dice = self._dice
        session_id = self._session()
        content = dice.choice([f"{CANARY} hello", "", None, [{"type": "text", "text": CANARY}], "\ud83d", "a\u0000b", "字" * 50])
        message = {"role": dice.choice(["user", "assistant", "tool", "system"]), "content": content, "tool_call_id": "c"}
        reads = [(session_id, 0, 0), (session_id, 10**6, 30), (*self._quiet, 0), (*self._quiet, 30)]
        read_id, after_seq, wait_s = dice.choice(reads)
        arguments: dict[str, dict[str, Any]] = {
            "create_session": {"project_id": "noise", "meta": {"title": CANARY}, "append_id": f"k{dice.randrange(50)}"},
            "append_message": {"session_id": session_id, "message": message},
            "read_session": {"session_id": read_id, "after_seq": after_seq, "wait_seconds": wait_s},
            "create_snapshot": {"session_id": session_id, "commit_msg": CANARY},
            "list_snapshots": {"session_id": session_id, "limit": dice.choice([1, 50, 1000])},
            "load_snapshot": {"snapshot_id": dice.choice(self._snapshots), "append_id": f"k{dice.randrange(50)}"},
            "list_sessions": {"project_id": "noise", "limit": 5, "cursor": dice.choice(["1", "x", "-5"])},
            "update_session_meta": {"session_id": session_id, "meta": {"title": CANARY, "n": dice.random()}},
            "search_messages": {"query": CANARY, "project_id": "noise", "limit": 5},
            "no_such_tool": {"text": CANARY},
        }
        name = dice.choice(list(arguments))
        return name, arguments[name]

    def _session(self) -> str:
        return self._dice.choice(
            [*self._sessions, *self._sessions, "ses_", "ses_0193fb9c-9f3a-7c21-8d0e-3f5b7a1c2d4e", "../x", "\ud800"]
        )

    def _headers(self, method: str, params: dict[str, Any], is_modern: bool) -> Headers:
        headers: Headers = [("Accept", b"application/json, text/event-stream"), ("Content-Type", b"application/json")]
        if not is_modern:
            version = ("MCP-Protocol-Version", self._dice.choice(_HANDSHAKE).encode())
            return [*headers, version] if self._dice.random() < 0.7 else headers
        headers += [("MCP-Protocol-Version", _MODERN.encode()), ("Mcp-Method", _latin(method))]
        return headers + ([("Mcp-Name", _latin(params[_NAMED[method]]))] if method in _NAMED else [])

    def _other_headers(self, headers: Headers) -> Headers:
        """Leave one out, send one twice, or put another value in one."""
        dice = self._dice
        at = dice.randrange(len(headers))
        match dice.randrange(4):
            case 0:
                return headers[:at] + headers[at + 1 :]
            case 1:
                return [*headers, headers[at]]
            case 2:
                return [*headers[:at], (headers[at][0], dice.choice(_HEADER_VALUES)), *headers[at + 1 :]]
        return [*headers, (dice.choice(_HEADER_NAMES), dice.choice(_HEADER_VALUES))]

    def _bent(self, message: Any) -> Any:
        """The message with one place in it changed; now and then wrapped whole."""
        dice = self._dice
        if dice.random() < 0.06:
            return dice.choice([[message], [message, message], [], {"x": message}, None, 1, "x", True])
        path = self._path(message)
        if not path:
            return self._value()
        return _changed(
            message, path, dice.choice([lambda old: self._value(), lambda old: [old], lambda old: {"a": old}, None, _renamed])
        )

    def _path(self, value: Any) -> list[Any]:
        """The way to a random place of a value."""
        path: list[Any] = []
        while isinstance(value, dict | list) and value and (not path or self._dice.random() < 0.7):
            key = self._dice.choice(list(value)) if isinstance(value, dict) else self._dice.randrange(len(value))
            path.append(key)
            value = value[key]
        return path

    def _value(self) -> Any:
        dice = self._dice
        values: list[Any] = [
            None,
            True,
            False,
            0,
            -1,
            1.5,
            2**31,
            2**63,
            10**30,
            -(10**400),
            1e308,
            float("nan"),
            float("inf"),
            -0.0,
        ]
        values += [
            "",
            " ",
            "x",
            "\u0000",
            "\ud800",
            "\udfff\ud800",
            "1",
            "null",
            "字",
            "\u202e",
            "x" * 300,
            [],
            {},
            [[]],
            {"": ""},
            {"__proto__": {}},
        ]
        if dice.random() < 0.03:
            return dice.choice(
                ["x" * 200_000, list(range(5000)), {str(n): n for n in range(2000)}, _deep(60), _deep(120), _deep(300)]
            )
        return dice.choice(values)

    def _spelled(self, message: Any) -> bytes:
        dice = self._dice
        text = json.dumps(message, indent=dice.choice([None, None, None, 1]))
        if dice.random() < 0.04:  # one key twice
            key = dice.choice(['"id"', '"method"', '"name"', '"params"', '"role"'])
            text = text.replace(key, f"{key}: {dice.choice(['1', 'null', chr(34) + 'x' + chr(34)])}, {key}", 1)
        return text.encode()

    def _damaged(self, body: bytes) -> bytes:
        dice = self._dice
        at = dice.randrange(len(body) + 1)
        ways: list[Callable[[], bytes]] = [
            lambda: b"",
            lambda: body[:at],
            lambda: body[:at] + bytes([dice.randrange(256)]) + body[at + 1 :],
            lambda: body[:at] + b"\xff\xfe\x80" + body[at:],
            lambda: b"\xef\xbb\xbf" + body,
            lambda: body.decode().encode("utf-16"),
            lambda: body + body,
            lambda: b" " * 5000 + body,
            lambda: b"[" * dice.choice([10, 200, 1000, 100_000]) + body,
            lambda: (
                b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
                + _deep_text(dice.choice([100, 900, 5000, 90_000]))
                + b"}"
            ),
            lambda: b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}',
            lambda: b"{" + body,
            lambda: b'"' + b"\\ud83d" * 2000 + b'"',
            lambda: b"x" * 1_200_000,
        ]
        return dice.choice(ways)()


def _changed(value: Any, path: list[Any], change: Any) -> Any:
    """The value with what lies at the path changed, or taken out where `change` is None."""
    key, *rest = path
    copy = dict(value) if isinstance(value, dict) else list(value)
    if rest:
        copy[key] = _changed(value[key], rest, change)
    elif change is None:
        del copy[key]
    elif change is _renamed and isinstance(copy, dict):
        copy[f"{key}_"] = copy.pop(key)
    else:
        copy[key] = change(value[key])
    return copy


def _renamed(old: Any) -> Any:
    return old


def _deep(levels: int) -> Any:
    value: Any = CANARY
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


def _deep_text(levels: int) -> bytes:
    return b'{"name":' * levels + b"1" + b"}" * levels


def _latin(text: str) -> bytes:
    return text.encode("latin-1", "replace").replace(b"\x00", b"?")
