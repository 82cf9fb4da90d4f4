"""The archive: a commit and a tag for each snapshot, readable with stock tools, and enough to restore a hub from."""

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import anyio
import pytest
from hubs import HubProcess, running_hub
from restclient import Rest

from eventstore.db import Database
from eventstore.errors import RestoreRefused
from eventstore.settings import Settings
from workers.archive.restore import restore


@pytest.fixture(scope="module")
def hub(own_hub: HubProcess) -> HubProcess:
    """Every snapshot in this log is one of these tests."""
    return own_hub


async def archived(rest: Rest) -> list[dict[str, Any]]:
    """Every job, when none waits any more."""
    with anyio.fail_after(30):
        while True:
            jobs: list[dict[str, Any]] = (await rest.call("GET", "/v1/archive/jobs", params={"limit": 1000}))["jobs"]
            if all(job["status"] == "done" for job in jobs):
                return jobs
            await anyio.sleep(0.05)


def repository(hub: HubProcess) -> Path:
    return hub.log_path.parent / "archive"


def git(path: Path, *arguments: str) -> str:
    command = ["git", "-C", str(path), "-c", "user.name=t", "-c", "user.email=t@localhost", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def lines(path: Path, commit: str, session: str) -> list[dict[str, Any]]:
    """A session's own messages in a commit, as `cat` and `jq` would read them."""
    names = [name for name in git(path, "ls-tree", "-r", "--name-only", commit, "sessions/").splitlines() if session in name]
    return [json.loads(line) for name in sorted(names) for line in git(path, "show", f"{commit}:{name}").splitlines()]


async def verified(rest: Rest) -> list[str]:
    response = await rest.http.post("/v1/admin/archive/verify")
    faults: list[str] = json.loads(response.text.splitlines()[-1])["result"]["faults"]
    return faults


async def test_a_snapshot_becomes_a_commit_and_a_tag(rest: Rest, hub: HubProcess):
    session = await rest.create(meta={"title": "t"})
    await rest.append_all(session, [{"role": "user", "content": str(n)} for n in range(600)])
    first = await rest.snapshot(session, commit_msg="the first")
    await rest.append(session, "more\nlines")
    second = await rest.snapshot(session, commit_msg="the second")
    await rest.append(session, "after")
    await archived(rest)
    path = repository(hub)
    messages = await rest.read(session, limit=1000)
    for taken, count in ((first, 600), (second, 601)):
        assert lines(path, f"snapshot-{taken['seq']}", session) == messages[:count]
    subject, _, body = git(path, "log", "-1", "--format=%B", f"snapshot-{second['seq']}").strip().partition("\n\n")
    assert (subject, body) == (f"snapshot {second['seq']}: {session} up to seq {second['up_to_seq']}", "the second")
    diff = git(path, "diff", f"snapshot-{first['seq']}", f"snapshot-{second['seq']}", "--", f"sessions/*/{session}.*")
    added = [line[1:] for line in diff.splitlines() if line.startswith("+") and not line.startswith("+++")]
    removed = [line for line in diff.splitlines() if line.startswith("-") and not line.startswith("---")]
    assert ([json.loads(line)["content"] for line in added], removed) == (["more\nlines"], [])
    assert await verified(rest) == []


async def test_a_fork_holds_its_own_messages_and_a_pointer(rest: Rest, hub: HubProcess):
    session = await rest.create()
    await rest.append(session, "inherited")
    snapshot = await rest.snapshot(session)
    fork = await rest.fork(snapshot["snapshot_id"])
    await rest.append(fork, "own")
    taken = await rest.snapshot(fork)
    await archived(rest)
    path, tag = repository(hub), f"snapshot-{taken['seq']}"
    assert [m["content"] for m in lines(path, tag, fork)] == ["own"]
    assert [m["content"] for m in lines(path, tag, session)] == ["inherited"]
    card = json.loads(git(path, "show", f"{tag}:meta/{fork[-2:]}/{fork}.json"))
    assert card["parent"] == {"session_id": session, "snapshot_id": snapshot["snapshot_id"], "up_to_seq": snapshot["up_to_seq"]}


async def test_a_point_that_was_passed_gets_a_commit_beside_main(rest: Rest, hub: HubProcess):
    session = await rest.create()
    seqs = [(await rest.append(session, text))["seq"] for text in "abc"]
    await rest.snapshot(session)
    await archived(rest)
    main = git(repository(hub), "rev-parse", "main")
    early = await rest.snapshot(session, up_to_seq=seqs[0])
    await archived(rest)
    assert [m["content"] for m in lines(repository(hub), f"snapshot-{early['seq']}", session)] == ["a"]
    assert git(repository(hub), "rev-parse", "main") == main
    assert await verified(rest) == []


async def test_purging_rewrites_the_archive(rest: Rest, hub: HubProcess):
    session = await rest.create()
    seq = (await rest.append(session, "hush-hush"))["seq"]
    await rest.append(session, "stays")
    await rest.snapshot(session)
    await archived(rest)
    await rest.http.post("/v1/admin/purge", content=json.dumps({"seq": seq}))
    await archived(rest)
    path = repository(hub)
    objects = git(path, "cat-file", "--batch-check", "--batch-all-objects").split("\n")
    blobs = [line.split()[0] for line in objects if " blob " in line]
    assert blobs
    assert not [blob for blob in blobs if "hush-hush" in git(path, "cat-file", "blob", blob)]
    assert await verified(rest) == []


async def a_workload(rest: Rest, draw: random.Random) -> list[tuple[str, str]]:
    """Random sessions and forks, each with a snapshot of its end; returns the retries that must write nothing afterwards."""
    sessions, snapshots, retries = [await rest.create(meta={"n": 1.10, "title": "t"})], list[str](), list[tuple[str, str]]()
    for step in range(40):
        session = draw.choice(sessions)
        if draw.random() < 0.6:
            await rest.append(session, f"m{step}", append_id=f"k{step}", native={"raw": step} if step % 3 else None)
            retries.append((session, f"k{step}"))
        elif draw.random() < 0.5:
            snapshots.append((await rest.snapshot(session))["snapshot_id"])
        elif snapshots:
            sessions.append(await rest.fork(draw.choice(snapshots)))
        else:
            await rest.call("POST", f"/v1/sessions/{session}/native", {"agent": "dsh", "version": "4", "records": [step]})
    for session in sessions:
        await rest.call("PATCH", f"/v1/sessions/{session}", {"end": True})
        await rest.snapshot(session, commit_msg=f"end of {session}")
    return retries


async def everything(rest: Rest) -> dict[str, Any]:
    """All that a restored hub must have again; times of the server's own doing aside."""
    listed = (await rest.call("GET", "/v1/sessions", params={"limit": 1000}))["sessions"]
    ours = sorted(listed, key=lambda one: int(one["seq"]))
    own = [{k: v for k, v in one.items() if k not in ("last_seq", "updated_at")} for one in ours]
    messages = {one["session_id"]: await rest.read(one["session_id"], native=1) for one in ours}
    return {
        "sessions": own,
        "messages": messages,
        "snapshots": (await rest.call("GET", "/v1/snapshots", params={"limit": 1000}))["snapshots"],
    }


@pytest.mark.parametrize("seed", [1, 2])
async def test_a_hub_is_restored_from_its_archive_alone(database: str, empty_database: str, tmp_path: Path, seed: int):
    from sql.migrate import migrate

    with running_hub(database) as hub:
        async with hub.client() as http:
            rest = Rest(http, "restore")
            retries = await a_workload(rest, random.Random(seed))
            await archived(rest)
            before, log_id, head = await everything(rest), (await rest.call("GET", "/v1/log"))["log_id"], await rest.log_head()
        clone = tmp_path / "clone"
        git(tmp_path, "clone", "-q", str(repository(hub)), str(clone))
    migrate(empty_database)
    report = await restored(empty_database, clone)
    assert report["head_seq"] == head
    with running_hub(empty_database) as hub:
        async with hub.client() as http:
            rest = Rest(http, "restore")
            assert await everything(rest) == before
            assert (await rest.call("GET", "/v1/log"))["log_id"] != log_id
            check = await rest.call("GET", "/v1/admin/log/check")
            assert (check["dense"], check["head_seq"]) == (True, head)
            for session, append_id in retries:
                again = await rest.append(session, "another body", append_id=append_id)
                assert again["duplicate"], "a retry after a restore writes nothing"
            assert await rest.log_head() == head
            new = await rest.append(before["sessions"][0]["session_id"], "goes on")
            assert new["seq"] == head + 1


async def restored(dsn: str, archive: Path, at: str | None = None) -> dict[str, Any]:
    database = Database(Settings(), dsn)
    await database.open()
    try:
        return await restore(database, archive, at)
    finally:
        await database.close()


async def test_a_restore_into_a_hub_that_holds_something_is_refused(
    rest: Rest, hub: HubProcess, module_database: str, tmp_path: Path
):
    await rest.create()
    with pytest.raises(RestoreRefused, match="empty"):
        await restored(module_database, repository(hub))
    with pytest.raises(RestoreRefused, match="no Git repository"):
        await restored_nowhere(tmp_path)


async def restored_nowhere(path: Path) -> None:
    from workers.archive.restore import _Archived

    _Archived(path, None)
