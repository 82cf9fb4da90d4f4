"""Server-sent events: a session's events from a seq on, for as long as the client stays."""

import anyio
from anyio.lowlevel import checkpoint
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from eventstore.errors import InvalidRequest, StoreError
from eventstore.read import SessionRef
from transports.rest import query
from transports.rest.handlers import note, service
from transports.service import Service

PING_S = 15.0
RETRY_S = 1.0
_DELETION = b"event: session.deleted\n"


class EventStream:
    """The answer of one stream, an ASGI application of its own since it writes as events come."""

    def __init__(self, hub: Service, ref: SessionRef, after_seq: int) -> None:
        self._hub, self._ref, self._after_seq, self._log_id = hub, ref, after_seq, hub.log_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [
            (b"content-type", b"text/event-stream; charset=utf-8"),
            (b"cache-control", b"no-store"),
            (b"x-accel-buffering", b"no"),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await _write(send, b"retry: 1000\n\n")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch, receive, tasks.cancel_scope)
            await self._follow(send)
            tasks.cancel_scope.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _follow(self, send: Send) -> None:
        """Write what comes until the session is deleted, the server stops, or the log is another one, whose seqs say nothing of
        where this stream stands. The client comes again from its last id."""
        while not self._hub.tails.stopping.is_set():
            try:
                page = await self._hub.next_events(self._ref, self._after_seq, PING_S)
            except StoreError as error:
                if not error.retryable:
                    return
                await anyio.sleep(RETRY_S)
                continue
            if self._hub.log_id != self._log_id:
                return
            if not page.seqs:
                await _write(send, b": nothing yet\n\n")
                continue
            if "" not in page.encoded:
                page.encoded[""] = b"".join(page.items)
            await _write(send, page.encoded[""])
            await checkpoint()
            self._after_seq = page.seqs[-1]
            if page.items[-1].startswith(_DELETION):
                return

    async def _watch(self, receive: Receive, scope: anyio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        scope.cancel()


async def follow_events(request: Request) -> EventStream:
    """Open a stream from `Last-Event-ID`, else from `after_seq`."""
    hub, session_id = service(request), request.path_params["session_id"]
    note(request, session_id=session_id[:80])
    after_seq = query.seq(request, "after_seq") or 0
    last_id = request.headers.get("last-event-id", "")
    if last_id:
        if not (last_id.isascii() and last_id.isdecimal() and len(last_id) <= 18):
            raise InvalidRequest("Last-Event-ID must be the id of an event of this stream, its seq.")
        after_seq = int(last_id)
    ref = await hub.open_stream(session_id, after_seq, query.text(request, "log_id"))
    return EventStream(hub, ref, after_seq)


async def _write(send: Send, data: bytes) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": True})
