"""A hub on a hot standby reads, says that it does not write, and goes on writing once the standby is promoted."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from hubs import HubProcess
from restclient import Refused, Rest
from tails import becomes

from eventstore.embedded import EmbeddedPostgres
from eventstore.errors import SchemaMissing
from sql.migrate import migrate

LARGE = "large " * 20_000


@contextmanager
def running(dsn: str, folder: Path) -> Iterator[HubProcess]:
    """A hub that keeps its folder, and so its token, for the next one."""
    hub = HubProcess(dsn, folder)
    try:
        yield hub.start()
    finally:
        hub.kill()


def as_standby(postgres: EmbeddedPostgres) -> str:
    """Start a stopped cluster anew as a standby that has replayed all there was, and return its DSN."""
    (postgres.data_dir / "postgres" / "cluster" / "standby.signal").touch()
    return postgres.start()


async def test_a_hub_on_a_replica_reads_and_refuses_writes_until_it_is_promoted(
    make_cluster: Callable[..., EmbeddedPostgres], tmp_path
):
    postgres = make_cluster()
    with running(postgres.start(), tmp_path) as hub:
        async with hub.client() as http:
            session_id = await Rest(http, "p").create()
            await Rest(http, "p").append(session_id, "hi")
    postgres.stop()
    dsn = as_standby(postgres)
    with running(dsn, tmp_path) as hub:
        async with hub.client() as http:
            rest = Rest(http, "p")
            assert (await becomes(http, replica=True, live="polling"))["database"] == "up"
            assert await rest.texts(session_id) == ["hi"]
            for write in (rest.append(session_id, "small"), rest.append(session_id, LARGE), rest.create(), rest.delete(session_id)):
                with pytest.raises(Refused) as refused:
                    await write
                assert (refused.value.status, refused.value.code) == (503, "read_only_replica")
            with psycopg.connect(dsn, autocommit=True) as admin:
                admin.execute("select pg_promote()")
            await becomes(http, replica=False)
            await rest.append(session_id, LARGE)
            assert await rest.texts(session_id) == ["hi", LARGE]


def test_a_replica_of_a_database_that_was_never_migrated_is_refused_by_name(make_cluster: Callable[..., EmbeddedPostgres]):
    postgres = make_cluster()
    postgres.start()
    postgres.stop()
    with pytest.raises(SchemaMissing, match="primary"):
        migrate(as_standby(postgres))
