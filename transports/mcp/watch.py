"""Listening (2026-07-28): a client names sessions by their resource, and is told when one has something new.

Each listened session is one waiting read at the hub, which costs a place in a list; a notice says "look again" and no more.
Rule: where a session stands is read before the listener is told that it listens, so that nothing said after that is missed.
"""

from collections.abc import Callable
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated, ServerEvent
from mcp.shared.exceptions import MCPError

from eventstore.errors import CursorAhead, StoreError
from transports.mcp.hub import Hub
from transports.mcp.resources import session_of
from transports.mcp.values import decode

LISTENERS_MAX = 5000
SESSIONS_PER_LISTENER_MAX = 100
_WAIT_S = 50.0
_RETRY_S = 1.0


class Watch:
    """The listeners of one process; `stopping` ends them."""

    def __init__(self, stopping: anyio.Event) -> None:
        self._stopping = stopping
        self._listeners = 0

    async def listen(
        self, context: ServerRequestContext[Any, Any], params: types.SubscriptionsListenRequestParams, hub: Hub
    ) -> types.SubscriptionsListenResult:
        """Serve one listener until its client goes away or the server stops. Raises MCPError: too many."""
        uris = list(dict.fromkeys(map(str, params.notifications.resource_subscriptions or [])))
        if self._listeners >= LISTENERS_MAX or len(uris) > SESSIONS_PER_LISTENER_MAX:
            raise MCPError(
                types.INVALID_PARAMS, f"At most {SESSIONS_PER_LISTENER_MAX} resources for each of {LISTENERS_MAX} listeners."
            )
        self._listeners += 1
        try:
            heads = await _heads(hub, uris)
            bus = _Bus()
            handler = ListenHandler(bus, max_subscriptions=1)
            async with anyio.create_task_group() as tasks:
                for uri, head_seq in heads.items():
                    tasks.start_soon(self._follow, hub, uri, head_seq, bus)
                tasks.start_soon(self._close, handler, bus)
                result = await handler(context, params)
                tasks.cancel_scope.cancel()
            return result
        finally:
            self._listeners -= 1

    async def _close(self, handler: ListenHandler, bus: "_Bus") -> None:
        await bus.has_listener.wait()
        await self._stopping.wait()
        handler.close()

    async def _follow(self, hub: Hub, uri: str, head_seq: int, bus: "_Bus") -> None:
        """Publish each time the session has new messages, and when it is deleted, which is the last there is to say."""
        session_id = session_of(uri)
        assert session_id is not None
        await bus.has_listener.wait()
        while not self._stopping.is_set():
            try:
                answer = decode(await hub.read(session_id, head_seq, 1, _WAIT_S))
            except CursorAhead:  # the log was restored: whoever listens must look again
                answer = {"messages": True, "head_seq": 0}
            except StoreError as error:
                if not error.retryable:
                    await bus.publish(ResourceUpdated(uri=uri))
                    return
                await anyio.sleep(_RETRY_S)
                continue
            if answer["messages"]:
                head_seq = answer["head_seq"]
                await bus.publish(ResourceUpdated(uri=uri))


class _Bus(InMemorySubscriptionBus):
    """The notices of one listener; what is published before it is there would be lost."""

    def __init__(self) -> None:
        super().__init__()
        self.has_listener = anyio.Event()

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        unsubscribe = super().subscribe(listener)
        self.has_listener.set()
        return unsubscribe


async def _heads(hub: Hub, uris: list[str]) -> dict[str, int]:
    """Where the sessions stand, by URI. One that is not there never has anything new, and is left out."""
    heads: dict[str, int] = {}

    async def look(uri: str) -> None:
        session_id = session_of(uri)
        try:
            if session_id is not None:
                heads[uri] = decode(await hub.lineage(session_id))["head_seq"]
        except StoreError as error:
            if error.retryable:
                heads[uri] = 0

    async with anyio.create_task_group() as tasks:
        for uri in uris:
            tasks.start_soon(look, uri)
    return heads
