"""A worker killed at any step ends, after a restart, in the archive that an undisturbed one makes."""

import os
import random
import signal
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import psycopg
import pytest
from hubs import running_hub
from restclient import Rest

from eventstore.db import Database
from eventstore.settings import Settings
from workers.archive import layout
from workers.archive.repository import Repository
from workers.archive.verify import verify
from workers.archive.worker import ArchiveWorker

STEPS = ("put", "commit", "name", "advance")


async def populate(dsn: str) -> None:
    """Sessions, a fork, a fork of it, segments that fill up, and a snapshot of a point that was passed."""
    with running_hub(dsn, archive="off") as hub:
        async with hub.client() as http:
            rest = Rest(http, "p")
            session = await rest.create(meta={"title": "t"})
            seqs = [r["seq"] for r in (await rest.append_all(session, said(7)))["results"]]
            first = await rest.snapshot(session, commit_msg="first")
            await rest.append_all(session, said(5))
            await rest.snapshot(session)
            await rest.snapshot(session, up_to_seq=seqs[3], commit_msg="a point that was passed")
            fork = await rest.fork(first["snapshot_id"])
            await rest.append(fork, "mine", native={"raw": 1})
            child = await rest.fork((await rest.snapshot(fork))["snapshot_id"])
            await rest.call("POST", f"/v1/sessions/{child}/native", {"agent": "dsh", "version": "4", "records": [1]})
            await rest.snapshot(child, commit_msg="last")


def said(count: int) -> list[dict[str, Any]]:
    return [{"role": "user", "content": f"line {n}"} for n in range(count)]


def in_child(work: Callable[[], Any]) -> int:
    """Do work in a process of its own, and return how it ended: its exit code, or the signal that killed it, negated."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def worked_off(dsn: str, path: Path, kill_at: int = 0) -> Callable[[], None]:
    """One worker's turn over all that is due, killed at a step."""

    def work() -> None:
        count = 0
        for name in STEPS:
            step = getattr(Repository, name)

            def counted(self: Repository, *arguments: Any, _step: Any = step) -> Any:
                nonlocal count
                count += 1
                if count == kill_at:
                    os.kill(os.getpid(), signal.SIGKILL)
                return _step(self, *arguments)

            setattr(Repository, name, counted)
        anyio.run(turn, dsn, path)
        (path.parent / "steps").write_text(str(count))

    return work


async def turn(dsn: str, path: Path) -> None:
    database = Database(Settings(), dsn)
    await database.open()
    worker = ArchiveWorker(database, path, "")
    repository = Repository(path)
    while await worker.work_off(repository):
        pass
    await database.close()


def references(path: Path) -> dict[str, str]:
    repository = Repository(path)
    return {"main": repository.main or "", **repository.tags()}


def forget_jobs(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("delete from store.archive_jobs")


def statuses(dsn: str) -> set[str]:
    with psycopg.connect(dsn) as connection:
        return {row[0] for row in connection.execute("select status from store.archive_jobs").fetchall()}


async def faults(dsn: str, path: Path) -> list[str]:
    database = Database(Settings(), dsn)
    await database.open()
    found: list[str] = (await verify(database, Repository(path)))["faults"]
    await database.close()
    return found


@pytest.fixture
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "SEGMENT_LINES_MAX", 4)


def test_killed_at_every_step_it_ends_in_the_same_archive(database: str, tmp_path: Path, small_segments: None):
    anyio.run(populate, database)
    assert in_child(worked_off(database, tmp_path / "whole")) == 0
    undisturbed = references(tmp_path / "whole")
    assert len(undisturbed) == 6
    assert anyio.run(faults, database, tmp_path / "whole") == []
    steps = int((tmp_path / "steps").read_text())
    for kill_at in range(1, steps + 1):
        forget_jobs(database)
        path = tmp_path / f"killed-{kill_at}"
        assert in_child(worked_off(database, path, kill_at)) == -signal.SIGKILL
        assert in_child(worked_off(database, path)) == 0
        assert references(path) == undisturbed, f"killed at step {kill_at} of {steps}"
        assert statuses(database) == {"done"}


def test_killed_again_and_again_it_ends_in_the_same_archive(database: str, tmp_path: Path, small_segments: None):
    anyio.run(populate, database)
    assert in_child(worked_off(database, tmp_path / "whole")) == 0
    forget_jobs(database)
    draw = random.Random(3)
    while in_child(worked_off(database, tmp_path / "killed", draw.randint(1, 25))) == -signal.SIGKILL:
        pass
    assert references(tmp_path / "killed") == references(tmp_path / "whole")


def test_the_check_can_fail(database: str, tmp_path: Path, small_segments: None):
    anyio.run(populate, database)
    assert in_child(worked_off(database, tmp_path / "whole")) == 0
    repository = Repository(tmp_path / "whole")
    main = repository.main
    assert main is not None
    tag = next(name for name, commit in repository.tags().items() if commit == main)
    folder = repository.names(main, ("sessions",))[-1]
    name = repository.names(main, ("sessions", folder))[0]
    text = repository.read(main, ("sessions", folder, name)) or b""
    changed = repository.put(text.replace(b"mine", b"nine").replace(b"line", b"lime"))
    bad = repository.commit(main, {("sessions", folder, name): changed}, "one byte", datetime.now(UTC))
    repository._git.references.create(f"refs/tags/{tag}", bad, force=True)
    assert anyio.run(faults, database, tmp_path / "whole") != []
