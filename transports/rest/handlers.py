"""Handlers: decode, call the service, encode. One for each route of DESIGN's REST section; no rule lives here."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from anyio.lowlevel import checkpoint
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from eventstore.access import Principal
from eventstore.errors import InvalidRequest, StoreError
from eventstore.prepare import Written
from eventstore.read import Page
from eventstore.views import SessionFilter
from eventstore.wire.codec import Source, dump, quote
from eventstore.wire.message import message_schema
from transports.rest import query
from transports.service import Service

JSON = "application/json"


class ClientGone(Exception):
    """The client closed its connection: there is nobody to answer."""


def service(request: Request) -> Service:
    found: Service = request.scope["tasuki.service"]
    return found


def principal(request: Request) -> Principal:
    found: Principal = request.scope["tasuki.principal"]
    return found


def note(request: Request, **facts: Any) -> None:
    """Let the request's log line say more: ids and seqs, never content."""
    request.scope["tasuki.log"].update(facts)


async def create_session(request: Request) -> Response:
    hub = service(request)
    written = await hub.create_session(principal(request), await body_of(request))
    note(request, session_id=written.answer["session_id"])
    return _written(request, written, {"log_id": hub.log_id})


async def list_sessions(request: Request) -> Response:
    wanted = SessionFilter(
        query.text(request, "project_id"),
        query.text(request, "agent"),
        query.text(request, "q"),
        query.moment(request, "since"),
        query.moment(request, "before"),
    )
    page = await service(request).list_sessions(wanted, query.limit(request), query.text(request, "cursor"))
    return Response(page, media_type=JSON)


async def read_session(request: Request) -> "Response | UnlessGone":
    hub = service(request)
    after_seq, limit, native = query.seq(request, "after_seq") or 0, query.limit(request), query.flag(request, "native")
    wait_s, log_id, session_id = query.wait_s(request), query.text(request, "log_id"), session_id_of(request)

    async def answer() -> Response:
        ref, page = await hub.read(session_id, after_seq, limit, wait_s, native, log_id)
        key = (after_seq, limit)
        if key not in page.encoded:
            page.encoded[key] = _page(f'"session_id":{quote(ref.session_id)},"messages":[', page, after_seq, hub.log_id)
        return PageResponse(page.encoded[key])

    return UnlessGone(answer) if wait_s else await answer()


async def read_entries(request: Request) -> Response:
    """A session whole, page by page; one that was purged is `{seq, purged}`."""
    hub, session_id, after_seq = service(request), session_id_of(request), query.seq(request, "after_seq") or 0
    found = await hub.read_entries(session_id, after_seq, query.limit(request), query.text(request, "log_id"))
    entries = [Source((entry or b'{"seq":%d,"purged":true}' % seq).decode()) for seq, entry in found]
    known = {"session_id": session_id, "entries": entries, "next_after_seq": found[-1][0] if found else after_seq}
    return Response(dump(known | {"log_id": hub.log_id}), media_type=JSON)


async def append_messages(request: Request) -> Response:
    expected = query.seq(request, "expected_seq", None)
    written = await service(request).append(principal(request), session_id_of(request), await body_of(request), expected)
    return _written(request, written)


async def record_native(request: Request) -> Response:
    written = await service(request).record_native(principal(request), session_id_of(request), await body_of(request))
    return _written(request, written)


async def patch_session(request: Request) -> Response:
    append_id = query.text(request, "append_id")
    written = await service(request).patch_meta(principal(request), session_id_of(request), await body_of(request), append_id)
    return _written(request, written, status=200)


async def delete_session(request: Request) -> Response:
    reason = query.text(request, "reason") or ""
    written = await service(request).delete_session(principal(request), session_id_of(request), reason)
    return _written(request, written, status=200)


async def lineage(request: Request) -> Response:
    return Response(await service(request).lineage(session_id_of(request)), media_type=JSON)


async def diff(request: Request) -> Response:
    a, b = query.text(request, "a"), query.text(request, "b")
    if not a or not b:
        raise InvalidRequest("`a` and `b` are needed: the session or snapshot on each side.")
    after = {"a": query.seq(request, "after_a") or 0, "b": query.seq(request, "after_b") or 0}
    return Response(await service(request).diff(a, b, query.limit(request), after), media_type=JSON)


async def create_snapshot(request: Request) -> Response:
    written = await service(request).create_snapshot(principal(request), await body_of(request))
    return _written(request, written)


async def list_snapshots(request: Request) -> Response:
    session_id, cursor = query.text(request, "session_id"), query.text(request, "cursor")
    return Response(await service(request).list_snapshots(session_id, query.limit(request), cursor), media_type=JSON)


async def read_snapshot(request: Request) -> Response:
    return Response(await service(request).snapshot(request.path_params["snapshot_id"]), media_type=JSON)


async def fork(request: Request) -> Response:
    written = await service(request).fork(principal(request), request.path_params["snapshot_id"], await body_of(request))
    note(request, session_id=written.answer["session_id"])
    return _written(request, written)


async def fork_by_get(request: Request) -> Response:
    """The same for clients written to the first draft; nothing may cache it or follow it ahead of time."""
    append_id, snapshot_id = query.text(request, "append_id"), request.path_params["snapshot_id"]
    body = dump({"append_id": append_id}) if append_id else ""
    written = await service(request).fork(principal(request), snapshot_id, body)
    note(request, session_id=written.answer["session_id"])
    response = _written(request, written)
    response.headers["Cache-Control"] = "no-store"
    response.headers["Deprecation"] = "true"
    response.headers["Link"] = f'</v1/snapshots/{snapshot_id}/fork>; rel="successor-version"; title="POST"'
    return response


async def read_log(request: Request) -> "Response | UnlessGone":
    hub = service(request)
    after_seq, limit, wait_s = query.seq(request, "after_seq") or 0, query.limit(request), query.wait_s(request)
    log_id = query.text(request, "log_id")

    async def answer() -> Response:
        page = await hub.read_log(after_seq, limit, wait_s, log_id)
        key = (after_seq, limit)
        if key not in page.encoded:
            page.encoded[key] = _page('"events":[', page, after_seq, hub.log_id)
        return PageResponse(page.encoded[key])

    return UnlessGone(answer) if wait_s else await answer()


async def check_log(request: Request) -> Response:
    return Response(dump(await service(request).check_log()), media_type=JSON)


async def new_epoch(request: Request) -> Response:
    return Response(dump(await service(request).new_epoch()), media_type=JSON)


async def healthz(request: Request) -> Response:
    return Response(dump(service(request).health()), media_type=JSON)


async def readyz(request: Request) -> Response:
    await service(request).ready()
    return Response(b'{"status":"ready"}', media_type=JSON)


async def schema(request: Request) -> Response:
    return Response(dump(message_schema()), media_type="application/schema+json")


def session_id_of(request: Request) -> str:
    session_id: str = request.path_params["session_id"]
    note(request, session_id=session_id[:80])
    return session_id


async def body_of(request: Request) -> str:
    return await query.body(request, service(request).settings.request_bytes_max)


def _written(request: Request, written: Written, more: dict[str, Any] | None = None, status: int = 201) -> Response:
    last = written.answer.get("results", [written.answer])[-1]
    note(request, seq=last["seq"])
    return Response(dump(written.answer | (more or {})), 200 if written.duplicate else status, media_type=JSON)


def _page(head: str, page: Page, after_seq: int, log_id: str) -> bytes:
    next_after = page.seqs[-1] if page.seqs else after_seq
    has_more = "true" if page.seqs and next_after < page.head_seq else "false"
    tail = f'],"next_after_seq":{next_after},"head_seq":{page.head_seq},"has_more":{has_more},"log_id":{quote(log_id)}}}'
    if not page.items:
        return f"{{{head}{tail}".encode()
    items = page.items.copy()  # what goes around them is put into the first and the last: a long page is copied once, not thrice
    items[0] = b"{%b%b" % (head.encode(), items[0])
    items[-1] += tail.encode()
    return b",".join(items)


class PageResponse(Response):
    """A page that is JSON already, for which somebody waits."""

    def __init__(self, body: bytes) -> None:
        self.status_code, self.background, self.body = 200, None, body
        self.raw_headers = [(b"content-length", b"%d" % len(body)), (b"content-type", JSON.encode())]


class UnlessGone:
    """An answer that may take a while, an ASGI application of its own: given up when the client goes away meanwhile, and sent
    before anything else is done, the end of the watch for that too."""

    def __init__(self, answer: Callable[[], Awaitable[Response]]) -> None:
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        failure: Exception | None = None
        is_sent = False
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancel_when_gone, receive, tasks.cancel_scope.cancel)
            try:
                await (await self._answer())(scope, receive, send)
                is_sent = True
                await checkpoint()
            except (StoreError, ClientDisconnect) as error:  # as they are, not in a group
                failure = error
            tasks.cancel_scope.cancel()
        if failure:
            raise failure
        if not is_sent:
            raise ClientGone


async def _cancel_when_gone(receive: Receive, cancel: Callable[[], None]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    cancel()
