"""What the tools ask of a hub: JSON in, JSON out. In the server it is the service itself, over stdio a REST client."""

import json
from typing import Any, Protocol

from eventstore.access import Principal
from eventstore.prepare import Written
from eventstore.wire.codec import dump
from transports.service import Service


class Hub(Protocol):
    """A hub as one caller sees it. Answers are those of REST; every method raises StoreError."""

    async def create_session(self, body: dict[str, Any]) -> dict[str, Any]: ...
    async def append(self, session_id: str, message: dict[str, Any], expected_seq: int | None) -> dict[str, Any]: ...
    async def read(self, session_id: str, after_seq: int, limit: int, wait_s: float) -> dict[str, Any]: ...
    async def update_meta(self, session_id: str, meta: dict[str, Any], append_id: str | None) -> dict[str, Any]: ...
    async def create_snapshot(self, body: dict[str, Any]) -> dict[str, Any]: ...
    async def fork(self, snapshot_id: str, body: dict[str, Any]) -> dict[str, Any]: ...
    async def list_sessions(self, project_id: str | None, limit: int, cursor: str | None) -> dict[str, Any]: ...
    async def list_snapshots(self, session_id: str, limit: int, cursor: str | None) -> dict[str, Any]: ...
    async def lineage(self, session_id: str) -> dict[str, Any]: ...


class LocalHub:
    """The hub of this process, for one caller."""

    def __init__(self, service: Service, who: Principal) -> None:
        self._service, self._who = service, who

    async def create_session(self, body: dict[str, Any]) -> dict[str, Any]:
        written = await self._service.create_session(self._who, json.dumps(body))
        return _plain(written) | {"log_id": self._service.log_id}

    async def append(self, session_id: str, message: dict[str, Any], expected_seq: int | None) -> dict[str, Any]:
        return _plain(await self._service.append(self._who, session_id, json.dumps(message), expected_seq))

    async def read(self, session_id: str, after_seq: int, limit: int, wait_s: float) -> dict[str, Any]:
        _, page = await self._service.read(session_id, after_seq, limit, wait_s, False, None)
        after = page.seqs[-1] if page.seqs else after_seq
        return {
            "session_id": session_id,
            "messages": [json.loads(item) for item in page.items],
            "next_after_seq": after,
            "head_seq": page.head_seq,
            "has_more": bool(page.seqs) and after < page.head_seq,
            "log_id": self._service.log_id,
        }

    async def update_meta(self, session_id: str, meta: dict[str, Any], append_id: str | None) -> dict[str, Any]:
        return _plain(await self._service.patch_meta(self._who, session_id, json.dumps(meta), append_id))

    async def create_snapshot(self, body: dict[str, Any]) -> dict[str, Any]:
        return _plain(await self._service.create_snapshot(self._who, json.dumps(body)))

    async def fork(self, snapshot_id: str, body: dict[str, Any]) -> dict[str, Any]:
        return _plain(await self._service.fork(self._who, snapshot_id, json.dumps(body)))

    async def list_sessions(self, project_id: str | None, limit: int, cursor: str | None) -> dict[str, Any]:
        return _decoded(await self._service.list_sessions(project_id, None, limit, cursor))

    async def list_snapshots(self, session_id: str, limit: int, cursor: str | None) -> dict[str, Any]:
        return _decoded(await self._service.list_snapshots(session_id, limit, cursor))

    async def lineage(self, session_id: str) -> dict[str, Any]:
        return _decoded(await self._service.lineage(session_id))


def _plain(written: Written) -> dict[str, Any]:
    return _decoded(dump(written.answer).encode())


def _decoded(answer: bytes) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(answer)
    return decoded
