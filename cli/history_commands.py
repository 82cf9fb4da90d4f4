"""Commands about a session's history: diff, delete, purge."""

import argparse
import sys
from typing import Any

from cli.client import Hub, session_path
from cli.message_view import MessageView
from cli.terminal import Screen, counted
from cli.verbs import add_verb, hub_of, natural
from eventstore.wire.codec import dump

PAGE_MAX = 1000


def register(verbs: Any) -> None:
    """Add the verbs of this group."""
    diff = add_verb(
        verbs,
        "diff",
        run_diff,
        summary="what only one of two sessions or snapshots has",
        more="Show where two sessions, or snapshots, part ways, and what each has alone. What is common is told by\n"
        "their lineage, not by comparing text.",
        examples=["tasuki diff ses_… ses_…", "tasuki diff snap_12 snap_40", "tasuki diff snap_12 ses_… --json"],
    )
    diff.add_argument("a", metavar="A", help="a session or snapshot")
    diff.add_argument("b", metavar="B", help="another one")
    diff.add_argument("--full", action="store_true", help="cut nothing")

    delete = add_verb(
        verbs,
        "delete",
        run_delete,
        summary="hide a session; its forks go on",
        more="Hide a session: it is no longer read, listed or written. Its events stay; forks go on reading what they inherited.\n"
        "`tasuki purge` makes what was said unreadable.",
        examples=["tasuki delete ses_…", "tasuki delete ses_… --reason 'pushed by mistake'"],
    )
    delete.add_argument("session", metavar="SESSION", help="id of the session")
    delete.add_argument("--reason", default="", help="kept with the event")

    purge = add_verb(
        verbs,
        "purge",
        run_purge,
        summary="make what was said unreadable, for good",
        more="Replace what a session's own events, or one event, said by a tombstone. It cannot be undone. Forks read the\n"
        "tombstones, pushing the same again writes nothing. The report names what cannot be reached.",
        examples=["tasuki purge ses_…", "tasuki purge --seq 4711", "tasuki purge ses_… --yes --json"],
    )
    purge.add_argument("session", nargs="?", metavar="SESSION", help="id of the session")
    purge.add_argument("--seq", type=natural, metavar="N", help="only the event with this seq")
    purge.add_argument("--yes", action="store_true", help="do not ask")


def run_diff(options: argparse.Namespace) -> int:
    screen = Screen()
    with hub_of(options) as hub:
        common, sides = _load_diff(hub, options.a, options.b)
    if options.json:
        screen.line(dump({"common": {"up_to_seq": common}, **sides}))
        return 0
    screen.line(f"common up to seq {common}" if common else "nothing in common")
    for side in sides.values():
        screen.line()
        screen.line(screen.styled(f"only in {side['id']}: {counted(len(side['messages']), 'message')}", "bold"))
        view = MessageView(screen, side["session_id"], options.full)
        for message in side["messages"]:
            view.show(dump(message))
    return 0


def _load_diff(hub: Hub, a: str, b: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """The seq up to which two sides are common, and each side with all of its messages."""
    sides: dict[str, dict[str, Any]] = {"a": {"messages": []}, "b": {"messages": []}}
    after, has_more, common = {"a": 0, "b": 0}, True, 0
    while has_more:
        query: dict[str, Any] = {"a": a, "b": b, "limit": PAGE_MAX, "after_a": after["a"], "after_b": after["b"]}
        found = hub.get("/v1/diff", **query).document.fields
        for letter, side in sides.items():
            page = found[letter]
            side |= {"id": page["id"], "session_id": page["session_id"], "messages": side["messages"] + page["messages"]}
            after[letter] = page["next_after_seq"].as_int()
        has_more, common = found["a"]["has_more"] or found["b"]["has_more"], found["common"]["up_to_seq"].as_int()
    return common, sides


def run_delete(options: argparse.Namespace) -> int:
    with hub_of(options) as hub:
        answer = hub.delete(session_path(options.session), reason=options.reason)
    if options.json:
        Screen().line(answer.text)
    else:
        again = " already" if answer.value["duplicate"] else ""
        Screen().line(f"{options.session} is{again} deleted; its forks go on")
    return 0


def run_purge(options: argparse.Namespace) -> int:
    if (options.session is None) == (options.seq is None):
        print("tasuki: give a SESSION, or --seq N", file=sys.stderr)
        return 2
    what = {"session_id": options.session} if options.session else {"seq": options.seq}
    with hub_of(options) as hub:
        if not options.yes and not _is_sure(hub, options):
            print("tasuki: nothing was purged", file=sys.stderr)
            return 1
        report = _purge(hub, dump(what))
    screen = Screen()
    if options.json:
        screen.line(dump(report))
        return 0
    screen.line(
        f"purged in {report['session_id']}: {counted(report['events'], 'event')}, {counted(report['natives'], 'native part')}"
    )
    if report["forks"]:
        screen.line(f"forks that read the tombstones now: {', '.join(report['forks'])}")
    screen.line("not reached:")
    for one in report["not_reached"]:
        screen.block(f"- {one}", indent=2)
    return 0


def _is_sure(hub: Hub, options: argparse.Namespace) -> bool:
    if not sys.stdin.isatty():
        print("tasuki: purging cannot be undone; say --yes", file=sys.stderr)
        return False
    what = f"all that {options.session} said" if options.session else f"what event {options.seq} said"
    print(f"This makes {what} unreadable for good, at {hub.url}. Type yes to go on: ", end="", flush=True)
    return sys.stdin.readline().strip() == "yes"


def _purge(hub: Hub, text: str) -> dict[str, Any]:
    for said in hub.work("/v1/admin/purge", text):
        if "result" in said:
            result: dict[str, Any] = said["result"]
            return result
    raise AssertionError("the hub ends its work with a result or an error")
