"""Records as Gemini CLI writes them, by hand, and what our reader makes of them."""

import json

from adapters.conversion import Json
from adapters.gemini.reader import read

HEADER = {"sessionId": "dde903a7-0f36-4107-ac37-842e268b9211", "projectHash": "f0", "startTime": "2026-11-30T00:00:47.423Z"}
SHELL = "run_shell_command"


def lines(*records: object) -> list[bytes]:
    return [json.dumps(record).encode() + b"\n" for record in (HEADER, *records)]


def user(native_id: str, *parts: object, **more: object) -> Json:
    content = [{"text": part} if isinstance(part, str) else part for part in parts]
    return {"id": native_id, "timestamp": "2026-11-30T00:00:48.000Z", "type": "user", "content": content, **more}


def reply(native_id: str, content: object = "", **more: object) -> Json:
    return {"id": native_id, "timestamp": "2026-11-30T00:00:49.000Z", "type": "gemini", "content": content, **more}


def response(call_id: str, output: object, **more: object) -> Json:
    return {"functionResponse": {"id": call_id, "name": SHELL, "response": {"output": output}, **more}}


def call(call_id: str, *result: object, status: str = "success", **more: object) -> Json:
    return {"id": call_id, "name": SHELL, "args": {"command": call_id}, "result": list(result), "status": status, **more}


def bodies(*records: object, is_final: bool = True) -> list[Json]:
    return [message.body for message in read(lines(*records), is_final=is_final).messages]
