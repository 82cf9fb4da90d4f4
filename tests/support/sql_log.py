"""The log by its SQL functions alone, as any program with a connection could use it; no line of the hub is in between."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import count
from typing import Any, NamedTuple

import psycopg
from psycopg.rows import dict_row

Item = dict[str, Any]
SIGNATURES = """
    select p.proname, n.nspname, p.proargnames[1:p.pronargs], array(select format_type(t, null) from unnest(p.proargtypes::oid[]) t)
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where p.prokind = 'f' and n.nspname = (
           select n.nspname from pg_proc p join pg_namespace n on n.oid = p.pronamespace where p.proname = 'append_events')
"""


class Outcome(NamedTuple):
    """A row of append_events: what became of one item."""

    item: int
    seq: int | None
    is_repeat: bool
    refused: str | None
    head_seq: int | None
    created_at: datetime


class SqlLog:
    """One connection to a migrated database."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.connection = psycopg.connect(dsn, autocommit=True)
        self._signatures = {name: (schema, names, types) for name, schema, names, types in self.connection.execute(SIGNATURES)}
        self.schema: str = self._signatures["append_events"][0]
        self._ids = count(1)

    def close(self) -> None:
        self.connection.close()

    @contextmanager
    def another(self) -> Iterator["SqlLog"]:
        """Another connection to the same database."""
        other = SqlLog(self.dsn)
        try:
            yield other
        finally:
            other.close()

    def call(self, function: str, **arguments: Any) -> list[Any]:
        """The rows of a function, each a dict by column."""
        schema, names, types = self._signatures[function]
        given = [(n, t) for n, t in zip(names or [], types, strict=True) if n in arguments]
        pairs = ", ".join(f"{name} => %({name})s::{kind}" for name, kind in given)
        with self.connection.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(f"select * from {schema}.{function}({pairs})".encode(), arguments).fetchall()

    def one(self, function: str, **arguments: Any) -> Any:
        """The one row of a function, or its value where it has one column."""
        (row,) = self.call(function, **arguments)
        return next(iter(row.values())) if len(row) == 1 else row

    def sql(self, statement: str, *arguments: Any) -> list[tuple[Any, ...]]:
        """The rows of a statement; `{}` in it stands for the schema."""
        cursor = self.connection.execute(statement.replace("{}", self.schema).encode(), arguments)
        return cursor.fetchall() if cursor.description else []

    def append(self, *requests: Item | list[Item]) -> list[Outcome]:
        """Append in one commit; a list of items is one request, a lone item another."""
        numbered = [
            (number, one)
            for number, request in enumerate(requests, 1)
            for one in (request if isinstance(request, list) else [request])
        ]
        arrays = {name: [one.get(name) for _, one in numbered] for name in self._signatures["append_events"][1]}
        rows = self.call("append_events", **arrays | {"requests": [number for number, _ in numbered]})
        return [Outcome(**row) for row in rows]

    def seqs(self, *requests: Item | list[Item]) -> list[int]:
        """As `append`, where nothing is refused: the seqs."""
        outcomes = self.append(*requests)
        assert [outcome.refused for outcome in outcomes] == [None] * len(outcomes)
        return [outcome.seq or 0 for outcome in outcomes]

    def begin(self, *session_ids: str, **more: Any) -> None:
        """Create sessions, each in a commit of its own: what goes to one comes in a later commit."""
        for session_id in session_ids:
            self.seqs(self.created(session_id, **more))

    # --- items

    def created(self, session_id: str, project_id: str = "p", meta: bytes = b"{}", **more: Any) -> Item:
        facts = {"session_id": session_id, "project_id": project_id, **more.pop("facts", {})}
        return self.item("session.created", None, new_ids=session_id, metas=meta, facts=json.dumps(facts), **more)

    def forked(self, parent: str, session_id: str, facts: dict[str, Any], project_id: str = "p", **more: Any) -> Item:
        facts = {"session_id": session_id, "project_id": project_id, **facts}
        return self.item("session.forked", parent, new_ids=session_id, metas=b"{}", facts=json.dumps(facts), **more)

    def said(self, session_id: str, text: str = "hi", role: str = "user", facts: dict[str, Any] | None = None, **more: Any) -> Item:
        body = json.dumps({"role": role, "content": text}).encode()
        return self.item("message.appended", session_id, **{"roles": role, "bodies": body, "facts": json.dumps(facts or {})} | more)

    def snapped(self, session_id: str, up_to_seq: int, **more: Any) -> Item:
        facts = json.dumps({"up_to_seq": up_to_seq, "commit_msg": "m"})
        body = b'{"up_to_seq":%d,"commit_msg":"m","meta":{"a":1}}' % up_to_seq
        return self.item("snapshot.created", session_id, facts=facts, bodies=body, **more)

    def patched(self, session_id: str, meta: bytes, facts: dict[str, Any] | None = None, **more: Any) -> Item:
        return self.item("session.meta_updated", session_id, metas=meta, facts=json.dumps(facts or {}), **more)

    def deleted(self, session_id: str) -> Item:
        return self.item("session.deleted", session_id, append_id=f"delete {session_id}")

    def recorded(self, session_id: str, **more: Any) -> Item:
        return self.item("native.recorded", session_id, **more)

    def item(self, kind: str, session_id: str | None, append_id: str | None = None, **more: Any) -> Item:
        """One item by the names of append_events' arguments; an append id of its own where none is given."""
        append_id = append_id or f"id {next(self._ids)}"
        filled = {
            "session_ids": session_id,
            "kinds": kind,
            "append_ids": append_id,
            "append_keys": digest(f"{session_id} {append_id}".encode()),
            "bodies": b"{}",
            "facts": "{}",
            "writer_nos": 1,
            "versions": 1,
        } | more
        return {"body_hashes": digest(filled["bodies"] or b""), **filled}


def digest(text: bytes) -> bytes:
    """16 bytes that stand for a text."""
    return hashlib.sha256(text).digest()[:16]
