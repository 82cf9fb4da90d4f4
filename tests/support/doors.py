"""Two doors to one hub: its core called in this process, and its REST over a socket. Each answers in the same words.

A write or read returns what REST would; `Refused` says no with the error's code and facts.
"""

import gc
import json
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import Any, Protocol

import anyio
import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hubs import HubProcess

from cli.serve import compose
from eventstore.access import Principal
from eventstore.db import Database
from eventstore.errors import StoreError
from eventstore.prepare import Written
from eventstore.read import Page
from eventstore.settings import Settings
from eventstore.views import SessionFilter
from eventstore.wire.codec import dump
from transports.service import Service

DEADLINE_S = 30
Answer = dict[str, Any]


class Refused(Exception):
    """The hub said no."""

    def __init__(self, code: str, facts: Answer) -> None:
        super().__init__(f"{code}: {facts}")
        self.code, self.facts = code, facts


class Door(Protocol):
    """What can be asked, as JSON values. Every method raises Refused."""

    def create(self, body: Answer) -> Answer: ...
    def append(self, session_id: str, body: Answer, expected_seq: int | None = None) -> Answer: ...
    def record_native(self, session_id: str, body: Answer) -> Answer: ...
    def patch(self, session_id: str, patch: Answer, append_id: str | None) -> Answer: ...
    def delete(self, session_id: str) -> Answer: ...
    def snapshot(self, body: Answer) -> Answer: ...
    def fork(self, snapshot_id: str, body: Answer) -> Answer: ...
    def page(self, session_id: str, after_seq: int, limit: int, native: bool) -> Answer: ...
    def events(self, session_id: str, after_seq: int, count: int) -> list[tuple[int, str, Answer]]: ...
    def log(self, after_seq: int, limit: int) -> Answer: ...
    def sessions(self, project_id: str, title: str | None, limit: int, cursor: str | None) -> Answer: ...
    def snapshots(self, session_id: str | None, limit: int, cursor: str | None) -> Answer: ...
    def read_snapshot(self, snapshot_id: str) -> Answer: ...
    def lineage(self, session_id: str) -> Answer: ...


class CoreDoor:
    """The core service and the SQL functions beneath it, in this process."""

    def __init__(self, portal: BlockingPortal, service: Service) -> None:
        self._portal, self._service = portal, service
        self._who = Principal(1, "admin")

    def _ask(self, method: Any, *arguments: Any) -> Any:
        async def ask() -> Any:
            with anyio.fail_after(DEADLINE_S):
                return await method(*arguments)

        try:
            return self._portal.call(ask)
        except StoreError as error:
            raise Refused(error.code, error.facts) from None

    def _write(self, method: Any, *arguments: Any) -> Answer:
        written: Written = self._ask(method, self._who, *arguments)
        answer: Answer = json.loads(dump(written.answer))
        return answer

    def create(self, body: Answer) -> Answer:
        return self._write(self._service.create_session, json.dumps(body))

    def append(self, session_id: str, body: Answer, expected_seq: int | None = None) -> Answer:
        return self._write(self._service.append, session_id, json.dumps(body), expected_seq)

    def record_native(self, session_id: str, body: Answer) -> Answer:
        return self._write(self._service.record_native, session_id, json.dumps(body))

    def patch(self, session_id: str, patch: Answer, append_id: str | None) -> Answer:
        return self._write(self._service.patch_meta, session_id, json.dumps(patch), append_id)

    def delete(self, session_id: str) -> Answer:
        return self._write(self._service.delete_session, session_id, "")

    def snapshot(self, body: Answer) -> Answer:
        return self._write(self._service.create_snapshot, json.dumps(body))

    def fork(self, snapshot_id: str, body: Answer) -> Answer:
        return self._write(self._service.fork, snapshot_id, json.dumps(body))

    def page(self, session_id: str, after_seq: int, limit: int, native: bool) -> Answer:
        _, page = self._ask(self._service.read, session_id, after_seq, limit, 0, native, None)
        return _window("messages", page, after_seq)

    def events(self, session_id: str, after_seq: int, count: int) -> list[tuple[int, str, Answer]]:
        ref = self._ask(self._service.open_stream, session_id, after_seq, None)
        page = self._ask(self._service.next_events, ref, after_seq, 0)
        return [parsed_event(item.decode()) for item in page.items]

    def log(self, after_seq: int, limit: int) -> Answer:
        return _window("events", self._ask(self._service.read_log, after_seq, limit, 0, None), after_seq)

    def sessions(self, project_id: str, title: str | None, limit: int, cursor: str | None) -> Answer:
        return _object(self._ask(self._service.list_sessions, SessionFilter(project_id, title_part=title), limit, cursor))

    def snapshots(self, session_id: str | None, limit: int, cursor: str | None) -> Answer:
        return _object(self._ask(self._service.list_snapshots, session_id, limit, cursor))

    def read_snapshot(self, snapshot_id: str) -> Answer:
        return _object(self._ask(self._service.snapshot, snapshot_id))

    def lineage(self, session_id: str) -> Answer:
        return _object(self._ask(self._service.lineage, session_id))


class RestDoor:
    """A hub process over HTTP, on connections that are kept."""

    def __init__(self, http: httpx2.Client) -> None:
        self._http = http

    def _ask(self, method: str, path: str, body: Answer | None = None, **query: Any) -> Answer:
        given = {name: value for name, value in query.items() if value is not None}
        response = self._http.request(method, path, content=None if body is None else json.dumps(body), params=given)
        answer: Answer = response.json()
        if response.status_code >= 400:
            raise Refused(answer["code"], answer)
        is_repeat = answer.get("duplicate", all(one["duplicate"] for one in answer.get("results", [{"duplicate": True}])))
        assert response.status_code == (201 if method == "POST" and not is_repeat else 200), response.status_code
        answer.pop("log_id", None)
        return answer

    def create(self, body: Answer) -> Answer:
        return self._ask("POST", "/v1/sessions", body)

    def append(self, session_id: str, body: Answer, expected_seq: int | None = None) -> Answer:
        return self._ask("POST", f"/v1/sessions/{session_id}/messages", body, expected_seq=expected_seq)

    def record_native(self, session_id: str, body: Answer) -> Answer:
        return self._ask("POST", f"/v1/sessions/{session_id}/native", body)

    def patch(self, session_id: str, patch: Answer, append_id: str | None) -> Answer:
        return self._ask("PATCH", f"/v1/sessions/{session_id}", patch, append_id=append_id)

    def delete(self, session_id: str) -> Answer:
        return self._ask("DELETE", f"/v1/sessions/{session_id}")

    def snapshot(self, body: Answer) -> Answer:
        return self._ask("POST", "/v1/snapshots", body)

    def fork(self, snapshot_id: str, body: Answer) -> Answer:
        return self._ask("POST", f"/v1/snapshots/{snapshot_id}/fork", body)

    def page(self, session_id: str, after_seq: int, limit: int, native: bool) -> Answer:
        answer = self._ask("GET", f"/v1/sessions/{session_id}", after_seq=after_seq, limit=limit, native=int(native))
        assert answer.pop("session_id") == session_id
        return answer

    def events(self, session_id: str, after_seq: int, count: int) -> list[tuple[int, str, Answer]]:
        found: list[tuple[int, str, Answer]] = []
        text = ""
        with self._http.stream("GET", f"/v1/sessions/{session_id}/events", headers={"Last-Event-ID": str(after_seq)}) as stream:
            if stream.status_code >= 400:
                problem = json.loads(stream.read())
                raise Refused(problem["code"], problem)
            for piece in stream.iter_text():
                *whole, text = (text + piece).split("\n\n")
                found += [parsed_event(one) for one in whole if one.startswith("event:")]
                if len(found) >= count:
                    return found
        raise AssertionError(f"the stream ended after {len(found)} of {count} events")

    def log(self, after_seq: int, limit: int) -> Answer:
        return self._ask("GET", "/v1/log", after_seq=after_seq, limit=limit)

    def sessions(self, project_id: str, title: str | None, limit: int, cursor: str | None) -> Answer:
        return self._ask("GET", "/v1/sessions", project_id=project_id, q=title, limit=limit, cursor=cursor)

    def snapshots(self, session_id: str | None, limit: int, cursor: str | None) -> Answer:
        return self._ask("GET", "/v1/snapshots", session_id=session_id, limit=limit, cursor=cursor)

    def read_snapshot(self, snapshot_id: str) -> Answer:
        return self._ask("GET", f"/v1/snapshots/{snapshot_id}")

    def lineage(self, session_id: str) -> Answer:
        return self._ask("GET", f"/v1/sessions/{session_id}/lineage")


@contextmanager
def core_door(dsn: str) -> Iterator[CoreDoor]:
    """The door into a core of this process's own, on a migrated database that is left as it is."""
    with start_blocking_portal() as portal, ExitStack() as stack:
        running = portal.wrap_async_context_manager(running_service(dsn))
        service = running.__enter__()
        stack.callback(running.__exit__, None, None, None)  # a test's failure is the test's, no group of them
        yield CoreDoor(portal, service)
    gc.collect()  # what the pool dropped while it closed is told to the test that closed it


@contextmanager
def rest_door(hub: HubProcess) -> Iterator[RestDoor]:
    """The door into a hub process."""
    headers = {"Authorization": f"Bearer {hub.token}"}
    with httpx2.Client(base_url=hub.url, headers=headers, trust_env=False, timeout=DEADLINE_S) as http:
        yield RestDoor(http)


@asynccontextmanager
async def running_service(dsn: str, **more: Any) -> AsyncIterator[Service]:
    """A core of this process's own, its tasks running while the context is open."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(dsn=dsn, data_dir=folder, pool_size_max=2, **more)
        database = Database(settings, dsn)
        await database.open()
        try:
            service = await compose(settings, database, dsn)
            async with anyio.create_task_group() as tasks:
                for run in (service.tails.run, service.listener.run, service.committer.run):
                    tasks.start_soon(run)
                yield service
                tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await database.close()


def parsed_event(text: str) -> tuple[int, str, Answer]:
    """One server-sent event: its id, its name and its data."""
    fields = [line.split(": ", 1) for line in text.strip("\n").split("\n")]
    data = "\n".join(value for name, value in fields if name == "data")
    named = dict(fields)
    return int(named["id"]), named["event"], json.loads(data)


def _object(text: bytes) -> Answer:
    answer: Answer = json.loads(text)
    return answer


def _window(name: str, page: Page, after_seq: int) -> Answer:
    last = page.seqs[-1] if page.seqs else after_seq
    has_more = bool(page.seqs) and last < page.head_seq
    items = [json.loads(item) for item in page.items]
    return {name: items, "next_after_seq": last, "head_seq": page.head_seq, "has_more": has_more}
