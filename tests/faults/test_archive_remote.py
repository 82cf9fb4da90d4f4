"""The archive's remote and its workers: a remote that hangs delays nothing, one that went another way is not overwritten, and
of two workers one stands by."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import psycopg
import pytest
from archives import git, hanging, new_remote, until
from hubs import HubProcess, running_hub
from restclient import Rest


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return new_remote(tmp_path)


async def test_what_is_committed_is_pushed_with_its_tags(database: str, remote: Path):
    with running_hub(database, archive_remote=remote) as hub:
        async with hub.client() as http:
            rest = Rest(http, "p")
            session = await rest.create()
            taken = await rest.snapshot(session)
            status = await until(rest, done=1, to_push=0)
            assert status["remote"] == str(remote)
            assert git(remote, "tag").split() == [f"snapshot-{taken['seq']}"]
            assert git(remote, "rev-parse", "main") == git(hub.log_path.parent / "archive", "rev-parse", "main")


async def test_a_remote_that_went_another_way_is_reported_and_left_alone(database: str, remote: Path, tmp_path: Path):
    git(tmp_path, "clone", "-q", str(remote), str(tmp_path / "other"))
    git(tmp_path / "other", "commit", "-q", "--allow-empty", "-m", "not ours")
    git(tmp_path / "other", "push", "-q", "origin", "HEAD:main")
    theirs = git(remote, "rev-parse", "main")
    with running_hub(database, archive_remote=remote) as hub:
        async with hub.client() as http:
            rest = Rest(http, "p")
            await rest.snapshot(await rest.create())
            status = await until(rest, done=1)
            while not status["push_error"]:
                status = await until(rest, done=1)
            assert "another way" in status["push_error"]
            assert git(remote, "rev-parse", "main") == theirs


async def test_a_remote_that_hangs_delays_nothing_but_the_push(database: str, remote: Path, tmp_path: Path):
    git(remote, "config", "daemon.receivepack", "true")
    with hanging(remote) as (address, let_go), running_hub(database, archive_remote=address) as hub:
        async with hub.client() as http:
            rest = Rest(http, "p")
            session = await rest.create()
            for n in range(30):
                await rest.append(session, str(n))
                await rest.snapshot(session)
            status = await until(rest, done=30)
            assert status["to_push"] == 30
            let_go()
            await until(rest, done=30, to_push=0, push_error=None)
    assert len(git(remote, "tag").split()) == 30


@contextmanager
def worker(dsn: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    env = {"PATH": os.environ["PATH"], "TASUKI_DSN": dsn, "TASUKI_DATA_DIR": str(folder), "HOME": str(folder)}
    process = subprocess.Popen(
        [sys.executable, "-m", "cli.main", "worker", "archive"], env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        assert process.stdout
        assert b"The archive is at" in process.stdout.readline()
        yield process
    finally:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


async def test_of_two_workers_one_works_and_the_other_takes_over(database: str):
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two, running_hub(database, archive="off") as hub:
        async with hub.client() as http:
            rest = Rest(http, "p")
            session = await rest.create()
            with worker(database, Path(one)) as first:
                await rest.snapshot(session)
                await until(rest, done=1)
                with worker(database, Path(two)):
                    first.send_signal(signal.SIGSTOP)
                    await rest.append(session, "while the first is frozen")
                    await rest.snapshot(session)
                    await anyio.sleep(1)  # it had the time to do what it must not do
                    assert not (Path(two) / "archive").exists()
                    first.send_signal(signal.SIGCONT)
                    await until(rest, done=2)
                    assert len(git(Path(one) / "archive", "tag").split()) == 2
                    first.kill()
                    first.wait()
                    await rest.snapshot(session)
                    await until(rest, done=3)
                    assert len(git(Path(two) / "archive", "tag").split()) == 3, "the other one has all of them"


async def test_a_folder_that_cannot_be_written_is_waited_for_and_the_hub_goes_on(database: str, tmp_path: Path):
    (tmp_path / "archive").write_text("in the way")
    hub = HubProcess(database, tmp_path).start()
    try:
        async with hub.client() as http:
            rest = Rest(http, "p")
            await rest.snapshot(await rest.create())
            with anyio.fail_after(20):
                while "tasuki.archive" not in hub.log_path.read_text("utf-8"):  # noqa: ASYNC110  # another process writes it
                    await anyio.sleep(0.05)
            (tmp_path / "archive").unlink()
            await until(rest, done=1)
    finally:
        hub.kill()


async def test_what_was_on_its_way_when_the_archive_was_forgotten_is_archived_again(database: str):
    with running_hub(database) as hub:
        async with hub.client() as http:
            rest = Rest(http, "p")
            number = (await rest.snapshot(await rest.create()))["seq"]
            await until(rest, done=1)
            archive = hub.log_path.parent / "archive"
            old = git(archive, "rev-parse", f"snapshot-{number}")
            with psycopg.connect(database) as connection:
                connection.execute("select store.forget_archive()")
                late = "insert into store.archive_jobs (snapshot_seq, status, commit_id) values (%s, 'done', %s)"
                connection.execute(late.encode(), [number, old.strip()])
            with anyio.fail_after(20):
                while made_anew(archive) != [f"snapshot-{number}"]:  # noqa: ASYNC110  # another process writes it
                    await anyio.sleep(0.05)


def made_anew(archive: Path) -> list[str]:
    """The tags of an archive that was made anew once; none while it is being made."""
    try:
        return git(archive, "tag").split() if (archive / "tasuki-generation").read_text() == "2\n" else []
    except (FileNotFoundError, subprocess.CalledProcessError):
        return []
