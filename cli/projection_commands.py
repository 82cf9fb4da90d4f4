"""Commands about the views of the log: projections list, status, rebuild, verify."""

import argparse
from typing import Any

from cli.client import Hub
from cli.terminal import Pace, Screen, counted
from cli.verbs import add_verb, hub_of
from eventstore.wire.codec import dump

_PATH = "/v1/admin/projections"


def register(verbs: Any) -> None:
    """Add the verbs of this group."""
    group = verbs.add_parser(
        "projections",
        help="the views of the log: list, status, rebuild, verify",
        description="The views of the log, which can be dropped and rebuilt at any time.",
    )
    parts = group.add_subparsers(dest="projections_verb", metavar="WHAT", required=True)
    for name, summary in (("list", "what views there are"), ("status", "how they are, how far a rebuild is, what lags or fails")):
        examples = [f"tasuki projections {name}", f"tasuki projections {name} --json"]
        add_verb(parts, name, run_list, summary=summary, more=summary.capitalize() + ".", examples=examples)
    rebuild = add_verb(
        parts,
        "rebuild",
        run_rebuild,
        summary="make a view anew while the hub serves",
        more="Make a view anew beside the live one and swap them. Readers and writers go on; one that is stopped changes nothing.",
        examples=["tasuki projections rebuild sessions"],
    )
    verify = add_verb(
        parts,
        "verify",
        run_verify,
        summary="compare a view with a fresh fold of the log",
        more="Fold the log afresh and report every difference, by session and column. Exit code 1 if there is one.",
        examples=["tasuki projections verify sessions", "tasuki projections verify sessions --json"],
    )
    for verb in (rebuild, verify):
        verb.add_argument("name", help="the view, as `projections list` names it")


def run_list(options: argparse.Namespace) -> int:
    with hub_of(options) as hub:
        found = hub.get(_PATH).value
    screen = Screen()
    if options.json:
        screen.line(dump(found))
        return 0
    for one in found["projections"]:
        state = "" if one["rebuilt_to"] is None else f"  rebuilding: {one['rebuilt_to']} of {found['head_seq']}"
        if "checkpoint" in one:
            state += f"  follows, {one['lag']} behind"
        screen.line(f"{one['name']:<12} version {one['version']}  {one['rows']} rows  {one['bytes'] / 1e6:.1f} MB{state}")
        if one.get("tries"):
            screen.line(f"{'':<12} failed {counted(one['tries'], 'time')}, again at {one['next_try_at']}: {one['last_error']}")
    return 0


def run_rebuild(options: argparse.Namespace) -> int:
    result = _work(options, "rebuild")
    if options.json:
        Screen().line(dump(result))
    else:
        Screen().line(f"{result['name']} rebuilt up to seq {result['done_seq']} in {result['elapsed_s']:.1f} s")
    return 0


def run_verify(options: argparse.Namespace) -> int:
    result = _work(options, "verify")
    found = result["differences"]
    screen = Screen()
    if options.json:
        screen.line(dump(result))
    else:
        for one in found:
            where = one["session_id"] or one["row_key"]
            screen.block(f"{where}  {one['column']}: is {one['live']}, should be {one['fresh']}")
        screen.line(f"{result['name']}: {counted(len(found), 'difference')}")
    return 1 if found else 0


def _work(options: argparse.Namespace, verb: str) -> dict[str, Any]:
    """Do long work at the hub, saying how far it is, and return its result."""
    screen = Screen()
    pace = Pace(screen)
    with hub_of(options) as hub:
        for said in _lines(hub, options.name, verb):
            if "result" in said:
                screen.end_progress()
                result: dict[str, Any] = said["result"]
                return result
            if not options.json and pace.is_due():
                screen.progress(_progress(verb, said["progress"]))
    raise AssertionError("the hub ends its work with a result or an error")


def _lines(hub: Hub, name: str, verb: str) -> Any:
    return hub.work(f"{_PATH}/{name}/{verb}")


def _progress(verb: str, told: dict[str, Any]) -> str:
    share = 100 * told["done_seq"] // max(1, told["head_seq"])
    where = f"{told['done_seq']} of {told['head_seq']} events ({share} %)"
    return f"{verb}: {where}, {told['events_per_s']} a second, {told['left_s']:.0f} s left"
