"""Listening (2026-07-28): a client names sessions by their resource, and is told when one has something new.

Each listened session is one waiting read at the hub, which costs a place in a list; a notice says "look again" and no more.
"""

from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp.shared.exceptions import MCPError

from eventstore.errors import StoreError
from transports.mcp.hub import Hub
from transports.mcp.resources import session_of

LISTENERS_MAX = 5000
SESSIONS_PER_LISTENER_MAX = 100
_WAIT_S = 50.0
_RETRY_S = 1.0


class Watch:
    """The listeners of one server process; `stopping` ends them."""

    def __init__(self, stopping: anyio.Event) -> None:
        self._stopping = stopping
        self._listeners = 0

    async def listen(
        self, context: ServerRequestContext[Any, Any], params: types.SubscriptionsListenRequestParams, hub: Hub
    ) -> types.SubscriptionsListenResult:
        """Serve one listener until its client goes away or the server stops."""
        uris = list(dict.fromkeys(params.notifications.resource_subscriptions or []))
        if self._listeners >= LISTENERS_MAX or len(uris) > SESSIONS_PER_LISTENER_MAX:
            raise MCPError(
                types.INVALID_PARAMS, f"At most {SESSIONS_PER_LISTENER_MAX} resources for each of {LISTENERS_MAX} listeners."
            )
        bus = InMemorySubscriptionBus()
        handler = ListenHandler(bus, max_subscriptions=1)
        self._listeners += 1
        try:
            async with anyio.create_task_group() as tasks:
                for uri in uris:
                    tasks.start_soon(_follow, hub, uri, bus)
                tasks.start_soon(self._close, handler)
                result = await handler(context, params)
                tasks.cancel_scope.cancel()
            return result
        finally:
            self._listeners -= 1

    async def _close(self, handler: ListenHandler) -> None:
        await self._stopping.wait()
        handler.close()


async def _follow(hub: Hub, uri: str, bus: InMemorySubscriptionBus) -> None:
    """Publish each time the session has new messages. One that is not there never has any."""
    session_id = session_of(str(uri))
    if session_id is None:
        return
    after_seq = None
    while True:
        try:
            if after_seq is None:
                after_seq = (await hub.lineage(session_id))["head_seq"]
            answer = await hub.read(session_id, after_seq, 1, _WAIT_S)
        except StoreError as error:
            if not error.retryable:
                return
            await anyio.sleep(_RETRY_S)
            continue
        if answer["messages"]:
            after_seq = answer["head_seq"]
            await bus.publish(ResourceUpdated(uri=str(uri)))
