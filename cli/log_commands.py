"""Commands about the log as a whole: log head, log check, log new-epoch."""

import argparse
from typing import Any

from cli.client import Hub
from cli.terminal import Screen, counted
from cli.verbs import add_verb, hub_of
from eventstore.wire.codec import dump


def register(verbs: Any) -> None:
    """Add the verbs of this group."""
    log = verbs.add_parser("log", help="the log as a whole: head, check, new-epoch", description="The log as a whole.")
    parts = log.add_subparsers(dest="log_verb", metavar="WHAT", required=True)
    add_verb(
        parts,
        "head",
        run_head,
        summary="where the log stands",
        more="Print the log's id, the seq of its newest event, and whether readers are woken by notices or by polling.",
        examples=["tasuki log head", "tasuki log head --json"],
    )
    add_verb(
        parts,
        "check",
        run_check,
        summary="is every event there, 1 to the head?",
        more="Count the log's events. Exit code 1 if one is missing.",
        examples=["tasuki log check", "tasuki log check --json"],
    )
    add_verb(
        parts,
        "new-epoch",
        run_new_epoch,
        summary="give the log a new id",
        more="Give the log a new id, so that every cursor kept elsewhere is refused instead of missing events.\n"
        "Needed after a copy of the database's files was put back; every other restore has a new id by itself.",
        examples=["tasuki log new-epoch"],
    )


def head(hub: Hub) -> dict[str, Any]:
    """Return `{log_id, head_seq, live}`."""
    health = hub.get("/healthz").value
    page = hub.get("/v1/log", after_seq=health["head_seq"], limit=1).value
    return {"log_id": page["log_id"], "head_seq": page["head_seq"], "live": health["live"]}


def run_head(options: argparse.Namespace) -> int:
    with hub_of(options) as hub:
        found = head(hub)
    if options.json:
        Screen().line(dump(found))
    else:
        for name, value in found.items():
            Screen().line(f"{name:<9} {value}")
    return 0


def run_check(options: argparse.Namespace) -> int:
    with hub_of(options) as hub:
        answer = hub.get("/v1/admin/log/check")
    found = answer.value
    if options.json:
        Screen().line(answer.text)
    elif found["dense"]:
        Screen().line(f"dense: {counted(found['events'], 'event')}, 1 to {found['head_seq']}")
    else:
        missing = found["head_seq"] - found["events"]
        Screen().line(f"NOT dense: {counted(missing, 'event')} missing below {found['head_seq']}, first {found['first_missing']}")
    return 0 if found["dense"] else 1


def run_new_epoch(options: argparse.Namespace) -> int:
    with hub_of(options) as hub:
        answer = hub.post("/v1/admin/log/new-epoch")
    if options.json:
        Screen().line(answer.text)
    else:
        Screen().line(f"The log's id is now {answer.value['log_id']}, no longer {answer.value['replaced']}.")
        Screen().line("Readers with a cursor of the old one are told to start again from after_seq=0.")
    return 0
