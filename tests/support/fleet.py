"""A fleet: several hubs on one database, each at an address that it keeps when it is killed and started again."""

import contextlib
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
from hubs import HubProcess

NO_LIMIT = httpx2.Limits(max_connections=None, max_keepalive_connections=None)


class Fleet:
    """Hubs by their place. They share a data directory, and so the token."""

    def __init__(self, dsn: str, folder: Path, settings: list[dict[str, Any]]) -> None:
        self._dsn, self._folder, self._settings = dsn, folder, settings
        self.hubs = [HubProcess(dsn, folder, **own) for own in settings]
        self._ended: list[HubProcess] = []
        self._ports: list[int | None] = []

    def start(self) -> "Fleet":
        """Start all at once; return when all answer."""
        for hub in self.hubs:
            hub.start(wait=False)
        for hub in self.hubs:
            hub.ready()
        self._ports = [urlsplit(hub.url).port for hub in self.hubs]
        return self

    def kill(self, place: int) -> None:
        self.hubs[place].kill()

    def restart(self, place: int) -> None:
        """Start one that has ended, where it was before; does not wait for it."""
        old = self.hubs[place]
        assert old.process.poll() is not None
        self._ended.append(old)  # kept: a log is named by its process's id(), which must not come again
        port = self._ports[place]
        assert port
        self.hubs[place] = HubProcess(self._dsn, self._folder, port, **self._settings[place]).start(wait=False)

    @contextlib.asynccontextmanager
    async def clients(self) -> AsyncIterator[list[httpx2.AsyncClient]]:
        """A client for each place, good for any number of callers, before and after a restart."""
        async with AsyncExitStack() as stack:
            yield [await stack.enter_async_context(hub.client(limits=NO_LIMIT)) for hub in self.hubs]

    def close(self) -> None:
        for hub in self.hubs:
            if hasattr(hub, "process"):
                hub.kill()


@contextlib.contextmanager
def running_fleet(dsn: str, count: int, **settings: Any) -> Iterator[Fleet]:
    """`count` hubs of the same settings, for as long as the context is open."""
    with mixed_fleet(dsn, [settings] * count) as fleet:
        yield fleet


@contextlib.contextmanager
def mixed_fleet(dsn: str, settings: list[dict[str, Any]]) -> Iterator[Fleet]:
    """A hub for each of these settings, for as long as the context is open."""
    with tempfile.TemporaryDirectory(prefix="tasuki-fleet-") as folder:
        fleet = Fleet(dsn, Path(folder), settings)
        try:
            yield fleet.start()
        finally:
            fleet.close()
