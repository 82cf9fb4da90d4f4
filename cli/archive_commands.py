"""Commands about the Git archive: archive status, retry, verify."""

import argparse
from typing import Any

from cli.terminal import Screen, counted
from cli.verbs import add_verb, hub_of
from eventstore.wire.codec import dump


def register(verbs: Any) -> None:
    """Add the verbs of this group."""
    archive = verbs.add_parser(
        "archive",
        help="the Git archive: status, retry, verify",
        description="The Git archive, in which every snapshot is a commit and a tag.",
    )
    parts = archive.add_subparsers(dest="archive_verb", metavar="WHAT", required=True)
    add_verb(
        parts,
        "status",
        run_status,
        summary="where it is, and what waits",
        more="Print where the archive lies, how many snapshots are in it, and what waits to be written or pushed.",
        examples=["tasuki archive status", "tasuki archive status --json"],
    )
    add_verb(
        parts,
        "retry",
        run_retry,
        summary="try now what failed or waits",
        more="Try every job now that failed or waits for another try.",
        examples=["tasuki archive retry"],
    )
    add_verb(
        parts,
        "verify",
        run_verify,
        summary="is every line what the log says?",
        more="Compare every line and every tag of the archive with the log. Exit code 1 if one differs.",
        examples=["tasuki archive verify", "tasuki archive verify --json"],
    )


def run_status(options: argparse.Namespace) -> int:
    screen = Screen()
    with hub_of(options) as hub:
        status = hub.get("/v1/admin/archive").value
        failed = hub.get("/v1/archive/jobs", status="failed", limit=5).value["jobs"] if status["failed"] else []
    if options.json:
        screen.line(dump(status))
        return 0
    screen.line(f"repository  {status['repository']}")
    screen.line(
        f"snapshots   {status['done']} archived, {status['pending'] + status['running']} waiting, {status['failed']} failed"
    )
    for job in failed:
        screen.block(f"{job['snapshot_id']} of {job['session_id']}: {job['last_error']}", indent=12, style="red")
    if "remote" in status:
        screen.line(f"remote      {status['remote']}: {counted(status['to_push'], 'commit')} to push")
        if status["push_error"]:
            screen.block(status["push_error"], indent=12, style="red")
    return 0


def run_retry(options: argparse.Namespace) -> int:
    with hub_of(options) as hub:
        answer = hub.post("/v1/admin/archive/retry")
    Screen().line(answer.text if options.json else f"{counted(answer.value['retried'], 'job')} will be tried now")
    return 0


def run_verify(options: argparse.Namespace) -> int:
    screen = Screen()
    with hub_of(options) as hub:
        result = next(said["result"] for said in hub.work("/v1/admin/archive/verify") if "result" in said)
    if options.json:
        screen.line(dump(result))
    else:
        for fault in result["faults"]:
            screen.block(fault, style="red")
        looked = ", ".join(counted(result[name], name[:-1]) for name in ("snapshots", "sessions", "lines"))
        screen.line(f"{looked}: {counted(len(result['faults']), 'fault')}")
    return 1 if result["faults"] else 0
