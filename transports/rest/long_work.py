"""Long work as a stream of JSON lines: `{"progress": …}` while it goes on, at the end `{"result": …}` or `{"error": …}`.

When the client goes away, the work is cancelled; it is such that this harms nothing.
"""

import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from starlette.types import Receive, Scope, Send

from eventstore.errors import Internal, StoreError
from eventstore.wire.codec import dump

PROGRESS_EVERY_S = 0.5
OnProgress = Callable[[dict[str, Any]], Awaitable[None]]
Work = Callable[[OnProgress], Awaitable[dict[str, Any]]]


class LongWork:
    """The answer of one piece of work."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._said_at = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"application/x-ndjson"), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_watch, receive, tasks.cancel_scope)
            await self._run(send)
            tasks.cancel_scope.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _run(self, send: Send) -> None:
        async def on_progress(progress: dict[str, Any]) -> None:
            if time.monotonic() - self._said_at >= PROGRESS_EVERY_S:
                self._said_at = time.monotonic()
                await _line(send, {"progress": progress})

        try:
            await _line(send, {"result": await self._work(on_progress)})
        except StoreError as error:
            problem = {"code": error.code, "detail": error.detail, "retryable": error.retryable, **error.facts}
            await _line(send, {"error": problem})
        except Exception:
            await _line(send, {"error": {"code": Internal.code, "detail": Internal.title, "retryable": False}})
            raise


async def _watch(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


async def _line(send: Send, value: dict[str, Any]) -> None:
    await send({"type": "http.response.body", "body": dump(value).encode() + b"\n", "more_body": True})
