"""Handlers of the administrator: projections listed, rebuilt, verified."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from eventstore.wire.codec import dump
from eventstore.wire.requests import purge_body
from transports.rest import query
from transports.rest.handlers import JSON, body_of, service
from transports.rest.long_work import LongWork, OnProgress


async def list_projections(request: Request) -> Response:
    return Response(dump(await service(request).projections()), media_type=JSON)


async def rebuild_projection(request: Request) -> LongWork:
    hub, name = service(request), request.path_params["name"]
    hub.check_projection(name)
    return LongWork(lambda on_progress: hub.rebuild_projection(name, on_progress))


async def list_archive_jobs(request: Request) -> Response:
    status, cursor = query.text(request, "status"), query.text(request, "cursor")
    return Response(await service(request).archive_jobs(status, query.limit(request), cursor), media_type=JSON)


async def archive_status(request: Request) -> Response:
    return Response(dump(await service(request).archive.status()), media_type=JSON)


async def retry_archive(request: Request) -> Response:
    return Response(dump({"retried": await service(request).archive.retry()}), media_type=JSON)


async def verify_archive(request: Request) -> LongWork:
    hub = service(request)

    async def work(on_progress: OnProgress) -> dict[str, Any]:
        return await hub.archive.verify()

    return LongWork(work)


async def purge(request: Request) -> LongWork:
    hub = service(request)
    session_id, seq = purge_body(await body_of(request))
    if session_id is not None:
        await hub.check_session(session_id)
    return LongWork(lambda on_progress: hub.purge(session_id, seq, on_progress))


async def verify_projection(request: Request) -> LongWork:
    hub, name = service(request), request.path_params["name"]
    hub.check_projection(name)
    return LongWork(lambda on_progress: hub.verify_projection(name, on_progress))
