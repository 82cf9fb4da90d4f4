"""A caller of the hub over REST, as the specifications use one: it says what was answered, and refuses a surprise.

`mcpclient.Mcp` has the same verbs, so that what both skins promise is written once.
"""

import json
from typing import Any

import httpx2


class Refused(Exception):
    """The hub said no: `code` and `detail` over either skin; over REST also `status`, `headers` and the whole `problem`."""

    def __init__(self, code: str, detail: str, response: httpx2.Response | None = None) -> None:
        super().__init__(f"{code}: {detail}"[:500])
        self.code, self.detail = code, detail
        self.status = response.status_code if response is not None else 0
        self.problem: dict[str, Any] = response.json() if response is not None else {}
        self.headers = response.headers if response is not None else httpx2.Headers()


class Rest:
    """One caller in one project."""

    def __init__(self, http: httpx2.AsyncClient, project_id: str) -> None:
        self.http, self.project_id = http, project_id

    async def call(self, method: str, path: str, body: Any = None, **options: Any) -> dict[str, Any]:
        """Return the answer's JSON with the status under `_status`. Raises Refused."""
        content = body if isinstance(body, bytes | str | None) else json.dumps(body)
        response = await self.http.request(method, path, content=content, **options)
        if response.status_code >= 400:
            problem = response.json()
            raise Refused(problem["code"], problem["detail"], response)
        return {**response.json(), "_status": response.status_code}

    async def created(self, **fields: Any) -> dict[str, Any]:
        return await self.call("POST", "/v1/sessions", {"project_id": self.project_id, **fields})

    async def create(self, **fields: Any) -> str:
        """Create a session and return its id."""
        return str((await self.created(**fields))["session_id"])

    async def append(
        self, session_id: str, /, content: Any = "hi", role: Any = "user", *, expected_seq: int | None = None, **fields: Any
    ) -> dict[str, Any]:
        query = {} if expected_seq is None else {"expected_seq": expected_seq}
        body = {"role": role, "content": content, **fields}
        return await self.call("POST", f"/v1/sessions/{session_id}/messages", body, params=query)

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

    async def patch(self, session_id: str, meta: dict[str, Any], append_id: str | None = None) -> dict[str, Any]:
        query = {} if append_id is None else {"append_id": append_id}
        return await self.call("PATCH", f"/v1/sessions/{session_id}", meta, params=query)

    async def delete(self, session_id: str) -> dict[str, Any]:
        return await self.call("DELETE", f"/v1/sessions/{session_id}")

    async def sessions(self, **query: Any) -> dict[str, Any]:
        """A page of the project's sessions."""
        given = {name: value for name, value in query.items() if value is not None}
        return await self.call("GET", "/v1/sessions", params={"project_id": self.project_id, **given})

    async def lineage(self, session_id: str) -> dict[str, Any]:
        return await self.call("GET", f"/v1/sessions/{session_id}/lineage")

    async def snapshot(self, session_id: str, **fields: Any) -> dict[str, Any]:
        return await self.call("POST", "/v1/snapshots", {"session_id": session_id, **fields})

    async def snapshots(self, session_id: str, **query: Any) -> dict[str, Any]:
        """A page of a session's snapshots."""
        given = {name: value for name, value in query.items() if value is not None}
        return await self.call("GET", "/v1/snapshots", params={"session_id": session_id, **given})

    async def forked(self, snapshot_id: str, **fields: Any) -> dict[str, Any]:
        return await self.call("POST", f"/v1/snapshots/{snapshot_id}/fork", fields)

    async def fork(self, snapshot_id: str, **fields: Any) -> str:
        """Fork a snapshot and return the new session's id."""
        return str((await self.forked(snapshot_id, **fields))["session_id"])

    async def log_head(self) -> int:
        return int((await self.call("GET", "/v1/log", params={"limit": 1}))["head_seq"])
