"""Writers: the same message appended by every way there is, from a bare INSERT to a POST."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from bench import http, limits
from bench.messages import message, new_append_id
from bench.stage import Floor, Hub, Stage
from bench.store import Store, open_store


@dataclass(frozen=True)
class Writers:
    """Some writers, each with a session and a connection of its own of every kind. Each way returns how many it appended."""

    hub: Hub
    floor: Floor
    store: Store
    sessions: list[str]
    plain: list[limits.Connection]
    posts: list[http.Connection]
    bare: list[http.Connection]

    async def by_insert(self, writer: int) -> int:
        """One INSERT into a plain table."""
        return await limits.insert(self.plain[writer])

    async def by_insert_and_notify(self, writer: int) -> int:
        """One INSERT into a plain table, and a NOTIFY of it."""
        return await limits.insert_and_notify(self.plain[writer])

    async def by_copy(self, writer: int, count: int) -> int:
        """One COPY into a plain table."""
        return await limits.copy(self.plain[writer], count)

    async def by_committer(self, writer: int, count: int = 1) -> int:
        """One request to the committer in this process."""
        return await self.store.append(self.sessions[writer], count)

    async def by_http(self, writer: int) -> int:
        """One POST to the hub."""
        await self.posts[writer].ask(http.post(self.hub, self._path(writer), message(new_append_id())))
        return 1

    async def by_http_batch(self, writer: int, count: int) -> int:
        """One POST of many messages to the hub."""
        many = b",".join(message(new_append_id()) for _ in range(count))
        await self.posts[writer].ask(http.post(self.hub, self._path(writer), b'{"messages":[%b]}' % many))
        return count

    async def by_floor(self, writer: int) -> int:
        """One POST to a bare protocol, which throws it away."""
        await self.bare[writer].ask(http.post(self.floor, "/append", message(new_append_id())))
        return 1

    def _path(self, writer: int) -> str:
        return f"/v1/sessions/{self.sessions[writer]}/messages"


@asynccontextmanager
async def writers(stage: Stage, name: str, count: int) -> AsyncIterator[Writers]:
    """Writers on a new database `name`, while the context is open."""
    dsn = stage.database(name)
    hub, floor = stage.hub(dsn), stage.floor()
    async with AsyncExitStack() as exits:
        store = await exits.enter_async_context(open_store(dsn))
        plain = await exits.enter_async_context(limits.connections(dsn, count))
        posts, bare = await http.connect(hub, count), await http.connect(floor, count)
        exits.callback(http.close, posts + bare)
        yield Writers(hub, floor, store, await store.new_sessions(count), plain, posts, bare)
    floor.stop()
    hub.stop()
