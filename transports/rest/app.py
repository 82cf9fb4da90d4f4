"""The REST application: routes, and before them what every request goes through: a request id, Host and Origin, the token,
one answer for errors, one log line."""

import logging
import os
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from ipaddress import ip_address
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from eventstore.errors import HostRefused, Internal, MethodNotAllowed, NoSuchRoute, StoreError, Unauthorized, without_text
from eventstore.wire.codec import dump
from transports.rest import query
from transports.rest.errors import problem
from transports.rest.handlers import ClientGone
from transports.rest.openapi import openapi
from transports.rest.paths import Paths, Place
from transports.rest.routes import OPEN_PATHS, OPEN_PREFIXES, OPERATIONS, Operation
from transports.service import Service

log = logging.getLogger("tasuki.request")
_CLIENT_GONE = 499
_Headers = Mapping[bytes, str]
_SESSION_ID = re.compile(r"ses_[0-9a-f-]{36}")


def rest_app(service: Service, mounts: Mapping[str, ASGIApp]) -> ASGIApp:
    """Return the ASGI application. `mounts`: the other skins by path, which requests reach in the same way."""
    by_path: dict[str, dict[str, Operation]] = {}
    for operation in OPERATIONS:
        by_path.setdefault(operation.path, {})[operation.method] = operation
    paths = Paths()
    for path, methods in by_path.items():
        paths.add(path, _Methods(methods))
    document = openapi(OPERATIONS)

    async def show_openapi(request: Request) -> Response:
        return Response(dump(document), media_type="application/json")

    show = Operation("GET", "/openapi.json", show_openapi, "This document", is_open=True)
    paths.add(show.path, _Methods({"GET": show}))
    for path, app in mounts.items():
        paths.add(path, app)
    return _Front(paths, service)


class _Methods:
    """One path: picks the operation by its method."""

    def __init__(self, operations: dict[str, Operation]) -> None:
        get = operations.get("GET")
        self._operations = operations | ({"HEAD": get} if get and get.answers_head else {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        operation = self._operations.get(scope["method"])
        if operation is None:
            allow = ", ".join(sorted(self._operations))
            raise MethodNotAllowed(f"{scope['method']} is not allowed here; allowed: {allow}.", allow=allow)
        request = Request(scope, receive)
        query.check_names(request, operation.query)
        response = await operation.handler(request)
        await response(scope, receive, send)


class _Front:
    """What every request goes through."""

    def __init__(self, paths: Paths, service: Service) -> None:
        self._paths, self._service = paths, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        began = time.perf_counter()
        place, scope["path_params"] = self._paths.find(scope["path"])
        route = place.path if place else ""
        facts: dict[str, Any] = {"request_id": os.urandom(8).hex(), "method": scope["method"], "route": route}
        scope["tasuki.log"] = facts
        answer = _Answer(send, facts["request_id"], self._service)
        try:
            await self._enter(place, scope, receive, answer)
        except (ClientGone, ClientDisconnect):
            answer.status = _CLIENT_GONE
        except StoreError as error:
            await self._fail(error, scope, receive, answer)
        except Exception as error:
            log.exception("fault", extra={"facts": facts}, exc_info=without_text(error))
            await self._fail(Internal(), scope, receive, answer)
        finally:
            facts |= {"status": answer.status, "duration_ms": round((time.perf_counter() - began) * 1000, 2)}
            if not _SESSION_ID.fullmatch(facts.get("session_id", "")):  # what only looks like an id is nobody's business
                facts.pop("session_id", None)
            log.info("request", extra={"facts": facts})

    async def _enter(self, place: Place | None, scope: Scope, receive: Receive, answer: "_Answer") -> None:
        headers = {name: value.decode("latin-1") for name, value in reversed(scope["headers"])}  # the first of a name counts
        service = self._service
        _check_site(headers, service)
        path = scope["path"]
        if path not in OPEN_PATHS and not path.startswith(OPEN_PREFIXES):
            principal, client = await service.access.principal(_token(headers)), _client(headers)
            scope["tasuki.principal"] = replace(principal, client=client) if client else principal
        scope["tasuki.service"] = service
        if place is None or place.app is None:
            raise NoSuchRoute(f"There is nothing at {path[:200]!a}. /openapi.json lists what there is.")
        await place.app(scope, receive, answer)

    async def _fail(self, error: StoreError, scope: Scope, receive: Receive, answer: "_Answer") -> None:
        if not answer.status:
            scope["tasuki.log"] |= {"code": error.code} | {name: error.facts[name] for name in ("sqlstate",) if name in error.facts}
            await problem(error, answer.request_id)(scope, receive, answer)


class _Answer:
    """Sends an answer with the headers that every one carries, and remembers its status."""

    def __init__(self, send: Send, request_id: str, service: Service) -> None:
        self._send, self._service, self.request_id, self.status = send, service, request_id, 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            ids = ((b"tasuki-log-id", self._service.log_id), (b"x-request-id", self.request_id))
            message = {**message, "headers": [*message["headers"], *((name, text.encode()) for name, text in ids)]}
        await self._send(message)


def _token(headers: _Headers) -> str:
    scheme, _, token = headers.get(b"authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthorized("Send the token as `Authorization: Bearer <token>`.")
    return token.strip()


def _client(headers: _Headers) -> str:
    """What the client calls itself, for messages that do not say which agent they come from."""
    name = headers.get(b"tasuki-client", "")[:100]
    return name if name.isprintable() else ""


def _check_site(headers: _Headers, service: Service) -> None:
    """Refuse names that this hub was not told to serve (a page elsewhere could have bound one to our address). Addresses and
    localhost are what they say."""
    host = headers.get(b"host", "")
    if not _is_address(host) and _name(host) not in service.settings.allowed_hosts:
        raise HostRefused(f"Host {host[:100]!a} is not served here. Add it to TASUKI_ALLOWED_HOSTS.")
    origin = headers.get(b"origin")
    if origin is not None and origin.partition("://")[2] != host and origin not in service.settings.allowed_origins:
        raise HostRefused(f"Origin {origin[:100]!a} may not call this hub. Add it to TASUKI_ALLOWED_ORIGINS.")


@lru_cache(maxsize=256)
def _is_address(host: str) -> bool:
    name = _name(host)
    if name == "localhost":
        return True
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _name(host: str) -> str:
    """A Host header's name, without port and brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0].lower() if host.count(":") == 1 else host.lower()
