"""Transcripts: of Claude Code, as long as wanted, with lines as sessions have them: most are progress, a few hold most of it."""

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

from bench.messages import text

SESSION_ID = "5e551017-9c1f-4a52-8f3e-2f6d0c6c1b11"
PROGRESS_LINES = 10
_BEGAN = datetime(2026, 3, 1, 8, tzinfo=UTC)
_ENVELOPE: dict[str, object] = {"isSidechain": False, "userType": "external", "cwd": "/home/ann/relay", "sessionId": SESSION_ID}
_ENVELOPE |= {"version": "2.1.39", "gitBranch": "main"}


def transcript(size_bytes: int, long_line_bytes: int = 0) -> Iterator[bytes]:
    """Yield lines of about `size_bytes` in all; in the middle, where one is wanted, a tool's result of `long_line_bytes`."""
    writer = _Writer()
    while writer.size < (size_bytes - long_line_bytes) // 2:
        yield from writer.turn()
    if long_line_bytes:
        yield from writer.turn(long_line_bytes)
    while writer.size < size_bytes:
        yield from writer.turn()


class _Writer:
    """Writes one line after another, each the child of the one before."""

    def __init__(self) -> None:
        self.size = self._count = 0
        self._parent: str | None = None
        self._draw = random.Random(7)

    def turn(self, result_bytes: int = 0) -> Iterator[bytes]:
        """A question, thinking, an answer, a call with its progress, and its result."""
        number, draw = self._count, self._draw
        call = f"toolu_{number:020d}"
        yield self._line("user", {"message": {"role": "user", "content": text(150, number % 97)}})
        thinking: dict[str, object] = {
            "type": "thinking",
            "thinking": text(400, number % 89),
            "signature": f"{draw.getrandbits(2000):0500x}",
        }
        tool_use: dict[str, object] = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": text(120, number % 83)}}
        answer: dict[str, object] = {"type": "text", "text": text(300, number % 79)}
        for block in (thinking, answer, tool_use):
            yield self._line("assistant", {"message": self._reply(number, block)})
        for step in range(PROGRESS_LINES):
            data = {"type": "bash_progress", "output": text(450, step), "elapsedTimeSeconds": step}
            yield self._line("progress", {"data": data, "toolUseID": f"bash-progress-{step}", "parentToolUseID": call})
        said = _again(result_bytes or 4000, number % 73)
        block = {"tool_use_id": call, "type": "tool_result", "content": said, "is_error": False}
        more = {} if result_bytes else {"toolUseResult": {"stdout": said, "stderr": "", "interrupted": False}}
        yield self._line("user", {"message": {"role": "user", "content": [block]}, **more})

    def _reply(self, number: int, block: dict[str, object]) -> dict[str, object]:
        usage = {"input_tokens": 10 + number, "output_tokens": 200, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 9}
        reply = {"id": f"msg_{number:020d}", "type": "message", "role": "assistant", "model": "claude-opus-4-6"}
        return {**reply, "content": [block], "stop_reason": None, "stop_sequence": None, "usage": usage}

    def _line(self, kind: str, body: dict[str, object]) -> bytes:
        uuid = str(UUID(int=self._draw.getrandbits(128), version=4))
        moment = (_BEGAN + timedelta(seconds=self._count)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        record = {"parentUuid": self._parent, **_ENVELOPE, "type": kind, **body, "uuid": uuid, "timestamp": moment}
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        self._parent, self._count, self.size = uuid, self._count + 1, self.size + len(line)
        return line


def _again(size: int, seed: int) -> str:
    """Words of exactly so many characters, quickly."""
    block = text(2000, seed) + "\n"
    return (block * (size // len(block) + 1))[:size]
