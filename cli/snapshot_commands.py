"""Commands that name points in sessions and go on from them: snapshot, snapshots, fork."""

import argparse
from typing import Any
from urllib.parse import quote

from cli.client import new_append_id
from cli.terminal import Screen, counted, moment, number, one_line
from cli.verbs import add_verb, hub_of, natural, positive
from eventstore.wire.codec import dump

SNAPSHOTS_PAGE = 1000


def register(verbs: Any) -> None:
    """Add the verbs of this group."""
    snapshot = add_verb(
        verbs,
        "snapshot",
        run_snapshot,
        summary="name a point in a session",
        more="Name a point in a session, by default its newest message, to fork from it and to archive it.",
        examples=["tasuki snapshot ses_… -m 'before the refactoring'", "tasuki snapshot ses_… --up-to-seq 120 --json"],
    )
    snapshot.add_argument("session", metavar="SESSION", help="id of the session")
    snapshot.add_argument("-m", "--message", default="", metavar="MSG", help="what is to be remembered of it")
    snapshot.add_argument("--up-to-seq", type=natural, metavar="SEQ", help="the last message that belongs to it")
    snapshot.add_argument("--append-id", metavar="ID", help="idempotency key: the same one makes one snapshot")

    snapshots = add_verb(
        verbs,
        "snapshots",
        run_snapshots,
        summary="list snapshots, oldest first",
        more="List snapshots, oldest first, of one session or of all.",
        examples=["tasuki snapshots", "tasuki snapshots ses_… --json"],
    )
    snapshots.add_argument("session", nargs="?", metavar="SESSION", help="only of this one")
    snapshots.add_argument("--limit", type=positive, help="how many at most (default all)")

    fork = add_verb(
        verbs,
        "fork",
        run_fork,
        summary="create a session that goes on from a snapshot",
        more="Create a session that goes on from a snapshot. Nothing is copied; the session it came from stays as it is.",
        examples=["tasuki fork snap_42", "tasuki fork snap_42 --project other --json"],
    )
    fork.add_argument("snapshot", metavar="SNAPSHOT", help="id of the snapshot")
    fork.add_argument("--project", metavar="P", help="project of the new session (default: its parent's)")
    fork.add_argument("--append-id", metavar="ID", help="idempotency key: the same one makes one fork")


def run_snapshot(options: argparse.Namespace) -> int:
    body: dict[str, Any] = {"session_id": options.session, "append_id": options.append_id or new_append_id()}
    if options.message:
        body["commit_msg"] = options.message
    if options.up_to_seq is not None:
        body["up_to_seq"] = options.up_to_seq
    with hub_of(options) as hub:
        answer = hub.post("/v1/snapshots", dump(body))
    if options.json:
        Screen().line(answer.text)
    else:
        made = answer.value
        was_there = ", which was there already" if made["duplicate"] else ""
        Screen().line(f"{made['snapshot_id']} of {options.session} up to seq {made['up_to_seq']}{was_there}")
    return 0


def run_snapshots(options: argparse.Namespace) -> int:
    screen = Screen()
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    with hub_of(options) as hub:
        while options.limit is None or len(found) < options.limit:
            count = SNAPSHOTS_PAGE if options.limit is None else min(SNAPSHOTS_PAGE, options.limit - len(found))
            page = hub.get("/v1/snapshots", session_id=options.session, limit=count, cursor=cursor).document.fields
            found += page["snapshots"]
            cursor = page["next"]
            if cursor is None:
                break
    if options.json:
        screen.line(dump({"snapshots": found, "next": cursor}))
        return 0
    for one in found:
        place = f"{one['session_id']} up to seq {number(one['up_to_seq'])}"
        screen.line(f"{screen.styled(one['snapshot_id'], 'bold')}  {screen.styled(moment(one['created_at'])[:16], 'dim')}  {place}")
        if one["commit_msg"]:
            screen.line(f"    {one_line(one['commit_msg'], max(20, (screen.width or 120) - 6))}")
    if not found:
        screen.line("No snapshots.")
    if cursor is not None:
        screen.line(screen.styled(f"{counted(len(found), 'snapshot')} shown; there are more: --limit N", "dim"))
    return 0


def run_fork(options: argparse.Namespace) -> int:
    body: dict[str, Any] = {"append_id": options.append_id or new_append_id()}
    if options.project is not None:
        body["project_id"] = options.project
    with hub_of(options) as hub:
        answer = hub.post(f"/v1/snapshots/{quote(options.snapshot, safe='')}/fork", dump(body))
    if options.json:
        Screen().line(answer.text)
    else:
        made = answer.value
        was_there = ", which was there already" if made["duplicate"] else ""
        Screen().line(f"{made['session_id']} goes on from {made['parent_snapshot_id']}{was_there}")
    return 0
