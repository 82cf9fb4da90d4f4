"""Handlers that exchange whole sessions with agents: a file in, files out."""

from collections import deque

import anyio.lowlevel
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from adapters.target import Target
from eventstore.errors import InvalidRequest
from eventstore.wire.codec import dump
from eventstore.wire.requests import check_project_id
from transports.rest import query
from transports.rest.handlers import JSON, UnlessGone, note, principal, service, session_id_of


async def export_session(request: Request) -> UnlessGone:
    agent = query.text(request, "to")
    if not agent:
        raise InvalidRequest("`to` is needed: the agent to write the session for.")
    provider, _, model = (query.text(request, "model") or "").rpartition("/")
    target = Target(
        cwd=query.text(request, "cwd") or "", version=query.text(request, "version") or "", provider=provider, model=model
    )
    session_id = session_id_of(request)

    async def answer() -> Response:
        return _Pieces(await service(request).export(session_id, agent, target))

    return UnlessGone(answer)


async def import_file(request: Request) -> Response:
    hub = service(request)
    agent, project_id = query.text(request, "agent"), check_project_id(query.text(request, "project_id"))
    if request.headers.get("content-type", "").lower().startswith("multipart/"):
        raise InvalidRequest("Send the file itself as the body, as `curl --data-binary @FILE` does, not a form.")
    raw = await query.raw_body(request, hub.settings.request_bytes_max)
    if not raw:
        raise InvalidRequest("The body is empty; it must be the agent's file.")
    written = await hub.import_file(principal(request), raw, agent, project_id)
    note(request, session_id=written.answer["session_id"])
    return Response(dump(written.answer | {"log_id": hub.log_id}), 200 if written.duplicate else 201, media_type=JSON)


class _Pieces(Response):
    """An answer in pieces, each let go of when it is sent. It does not watch for the client: who sends it does."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = deque(pieces)
        super().__init__(headers={"Content-Length": str(sum(map(len, pieces)))}, media_type=JSON)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        while self._pieces:
            await anyio.lowlevel.checkpoint()  # to a client that is gone all can be sent at once: the watch comes in between
            piece = self._pieces.popleft()
            await send({"type": "http.response.body", "body": piece, "more_body": bool(self._pieces)})
