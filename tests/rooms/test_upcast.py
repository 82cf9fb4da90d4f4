"""Old messages: a payload of an older schema is lifted when it is read; what is stored stays."""

from typing import Any

import psycopg
import pytest

from eventstore import upcast
from eventstore.db import Database
from eventstore.read import Reader
from eventstore.settings import Settings
from eventstore.wire.message import SCHEMA_VERSION


def from_version_0(message: dict[str, Any]) -> dict[str, Any]:
    """Version 0, for tests only: it called a message's content `text`."""
    return {**{k: v for k, v in message.items() if k != "text"}, "content": message["text"], "schema_version": 1}


def test_a_message_goes_through_every_version_that_follows():
    assert upcast.lifted(b'{"text":"hi"}', 0, {0: from_version_0}) == b'{"content":"hi","schema_version":1}'
    assert upcast.lifted(b'{"n":1.10}', SCHEMA_VERSION) == b'{"n":1.10}'


def test_a_version_that_nobody_knows_is_an_error():
    with pytest.raises(KeyError):
        upcast.lifted(b"{}", 0, {})


async def test_an_old_message_is_read_as_todays_and_stays_in_the_log(database: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(upcast, "LIFTERS", {0: from_version_0})
    with psycopg.connect(database, autocommit=True) as connection:
        for kind, version, session_id, new_id, facts in (
            ("session.created", 1, None, "ses_old", '{"session_id": "ses_old", "project_id": "p"}'),
            ("message.appended", 0, "ses_old", None, "{}"),
        ):
            connection.execute(
                "select * from store.append_events(array[1], array[%(session_id)s]::text[], array[%(new_id)s]::text[],"
                " array[%(kind)s], array[case when %(version)s = 0 then 'user' end], array[%(kind)s], array[%(key)s::bytea],"
                " array[%(key)s::bytea], array[%(body)s::bytea], array[null]::bytea[], array['{}'::bytea], array[%(facts)s],"
                " array[null]::timestamptz[], array[1], array[%(version)s], array[null]::bigint[], array[null]::bigint[])",
                {
                    "session_id": session_id,
                    "new_id": new_id,
                    "kind": kind,
                    "version": version,
                    "key": kind.encode().ljust(16, b"0")[:16],
                    "body": b'{"role":"user","text":"long ago"}',
                    "facts": facts,
                },
            )
    store = Database(Settings(), database)
    await store.open()
    reader = Reader(store)
    page = await reader.messages(await reader.find("ses_old"), 0, 10)
    log = await reader.log(1, 10)
    await store.close()
    assert b'"content":"long ago"' in page.items[0]
    assert b'"content":"long ago"' in log.items[0]
    with psycopg.connect(database) as connection:
        assert connection.execute("select body from store.log where version = 0").fetchone() == (
            b'{"role":"user","text":"long ago"}',
        )
