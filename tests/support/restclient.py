"""A caller of the hub over REST, as the specifications use one: it says what was answered, and refuses a surprise."""

import json
from typing import Any

import httpx2


class Refused(Exception):
    """The hub said no; `code` and `status` say how."""

    def __init__(self, response: httpx2.Response) -> None:
        super().__init__(response.text[:500])
        self.status = response.status_code
        self.problem: dict[str, Any] = response.json()
        self.code: str = self.problem["code"]
        self.headers = response.headers


class Rest:
    """One caller in one project."""

    def __init__(self, http: httpx2.AsyncClient, project_id: str) -> None:
        self.http, self.project_id = http, project_id

    async def call(self, method: str, path: str, body: Any = None, **options: Any) -> dict[str, Any]:
        """Return the answer's JSON with the status under `_status`. Raises Refused."""
        content = body if isinstance(body, bytes | str | None) else json.dumps(body)
        response = await self.http.request(method, path, content=content, **options)
        if response.status_code >= 400:
            raise Refused(response)
        return {**response.json(), "_status": response.status_code}

    async def create(self, **fields: Any) -> str:
        """Create a session and return its id."""
        answer = await self.call("POST", "/v1/sessions", {"project_id": self.project_id, **fields})
        return str(answer["session_id"])

    async def append(self, session_id: str, content: Any = "hi", role: str = "user", **fields: Any) -> dict[str, Any]:
        return await self.call("POST", f"/v1/sessions/{session_id}/messages", {"role": role, "content": content, **fields})

    async def append_all(self, session_id: str, messages: list[Any], **fields: Any) -> dict[str, Any]:
        return await self.call("POST", f"/v1/sessions/{session_id}/messages", {"messages": messages, **fields})

    async def page(self, session_id: str, after_seq: int = 0, **query: Any) -> dict[str, Any]:
        return await self.call("GET", f"/v1/sessions/{session_id}", params={"after_seq": after_seq, **query})

    async def read(self, session_id: str, limit: int = 100, **query: Any) -> list[dict[str, Any]]:
        """All messages, page by page."""
        messages: list[dict[str, Any]] = []
        after, more = 0, True
        while more:
            page = await self.page(session_id, after, limit=limit, **query)
            messages += page["messages"]
            after, more = page["next_after_seq"], page["has_more"]
        return messages

    async def texts(self, session_id: str, limit: int = 100) -> list[Any]:
        return [message["content"] for message in await self.read(session_id, limit)]

    async def snapshot(self, session_id: str, **fields: Any) -> dict[str, Any]:
        return await self.call("POST", "/v1/snapshots", {"session_id": session_id, **fields})

    async def fork(self, snapshot_id: str, **fields: Any) -> str:
        return str((await self.call("POST", f"/v1/snapshots/{snapshot_id}/fork", fields))["session_id"])

    async def log_head(self) -> int:
        return int((await self.call("GET", "/v1/log", params={"limit": 1}))["head_seq"])
