"""The hub of this process, for one caller."""

import json
from typing import Any

from eventstore.access import Principal
from eventstore.prepare import Written
from eventstore.views import SessionFilter
from eventstore.wire.codec import dump, quote
from transports.service import Service


class LocalHub:
    """A `Hub` that asks the service."""

    def __init__(self, service: Service, who: Principal) -> None:
        self._service, self._who = service, who

    async def create_session(self, body: dict[str, Any]) -> str:
        written = await self._service.create_session(self._who, json.dumps(body))
        return dump(written.answer | {"log_id": self._service.log_id})

    async def append(self, session_id: str, message: dict[str, Any], expected_seq: int | None) -> str:
        return _text(await self._service.append(self._who, session_id, json.dumps(message), expected_seq))

    async def read(self, session_id: str, after_seq: int, limit: int, wait_s: float) -> str:
        ref, page = await self._service.read(session_id, after_seq, limit, wait_s, False, None)
        after = page.seqs[-1] if page.seqs else after_seq
        has_more = "true" if page.seqs and after < page.head_seq else "false"
        messages = b",".join(page.items).decode()
        place = f'"next_after_seq":{after},"head_seq":{page.head_seq},"has_more":{has_more},"log_id":{quote(self._service.log_id)}'
        return f'{{"session_id":{quote(ref.session_id)},"messages":[{messages}],{place}}}'

    async def update_meta(self, session_id: str, meta: dict[str, Any], append_id: str | None) -> str:
        return _text(await self._service.patch_meta(self._who, session_id, json.dumps(meta), append_id))

    async def create_snapshot(self, body: dict[str, Any]) -> str:
        return _text(await self._service.create_snapshot(self._who, json.dumps(body)))

    async def fork(self, snapshot_id: str, body: dict[str, Any]) -> str:
        return _text(await self._service.fork(self._who, snapshot_id, json.dumps(body)))

    async def list_sessions(self, project_id: str | None, limit: int, cursor: str | None) -> str:
        return (await self._service.list_sessions(SessionFilter(project_id), limit, cursor)).decode()

    async def list_snapshots(self, session_id: str, limit: int, cursor: str | None) -> str:
        return (await self._service.list_snapshots(session_id, limit, cursor)).decode()

    async def lineage(self, session_id: str) -> str:
        return (await self._service.lineage(session_id)).decode()


def _text(written: Written) -> str:
    return dump(written.answer)
