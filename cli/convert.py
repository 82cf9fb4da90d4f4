"""Convert: a session's file of one agent into another's, without a hub."""

import argparse
import os
import time
from pathlib import Path
from typing import Any

from adapters.conversion import Conversion, Json
from adapters.registry import WRITERS, write
from adapters.session import Session, is_message, session_of
from adapters.target import Target
from adapters.written import Written
from cli.containers import read_from_database, write_file
from cli.containers_sqlite import is_database
from cli.report_view import is_lossy, show_report
from cli.stores import AGENTS, load, of_file, subagents_of
from cli.terminal import Screen, counted
from eventstore.redact import MESSAGE, NATIVE, Redactor
from eventstore.settings import load_settings
from eventstore.wire.codec import dump, parse


def register(verbs: Any) -> None:
    """Add the verb."""
    convert = verbs.add_parser(
        "convert",
        help="one agent's session file into another's, without a hub",
        description="Convert a session's file. What the target cannot hold is in the mapping report, item by item.\n"
        f"From: {', '.join(AGENTS)}. To: {', '.join(WRITERS)}. `messages` is the standard session file: JSON lines.",
        epilog="examples:\n  tasuki convert --from claude-code --to messages 5e55….jsonl session.jsonl\n"
        "  tasuki convert --to claude-code --cwd ~/relay session.jsonl out.jsonl --strict --report report.json",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    convert.add_argument("input", metavar="IN", type=Path, help="the session's file")
    convert.add_argument("output", metavar="OUT", type=Path, help="the file to write")
    convert.add_argument("--from", dest="source", choices=AGENTS, help="the agent that wrote it (default: told by the file)")
    convert.add_argument("--to", dest="target", choices=list(WRITERS), required=True, help="the agent to write it for")
    convert.add_argument("--session", default="", metavar="ID", help="which session of a database (default: its only one)")
    convert.add_argument("--cwd", default="", help="working directory on the target host (default: the original one)")
    convert.add_argument(
        "--session-id", default="", help="the target's own id of the session (default: the original, or made from it)"
    )
    convert.add_argument("--model", default="", metavar="PROVIDER/MODEL", help="to go on with, where the target needs one")
    convert.add_argument("--strict", action="store_true", help="exit with 1 if anything was dropped")
    convert.add_argument("--no-redact", action="store_true", help="leave recognised secrets in")
    convert.add_argument("--report", metavar="FILE", type=Path, help="write the mapping reports there, as JSON")
    convert.add_argument("--json", action="store_true", help="print the mapping reports as JSON")
    convert.set_defaults(run=run_convert)


def run_convert(options: argparse.Namespace) -> int:
    conversion, children = _load(options)
    hits: dict[str, int] = {}
    redactor = Redactor(not options.no_redact, load_settings(os.environ).redaction_allow)
    session, *subagents = [_redacted(session_of(one), redactor, hits) for one in (conversion, *children)]
    provider, _, model = options.model.rpartition("/")
    now_ms = time.time_ns() // 1_000_000
    target = Target(session_id=options.session_id, cwd=options.cwd, now_ms=now_ms, provider=provider, model=model)
    written = write(options.target, session, target, subagents)
    report: dict[str, Any] = {
        "left_out": _put(written, options.output),
        "read": conversion.report,
        "written": written.report,
        "redactions": hits,
        "session_id": written.session_id,
    }
    if options.report:
        options.report.write_text(dump(report) + "\n", "utf-8")
    _tell(options, written, report)
    is_less = report["left_out"] or is_lossy(report["read"]) or is_lossy(report["written"])
    return int(options.strict and bool(is_less))


def _load(options: argparse.Namespace) -> tuple[Conversion, list[Conversion]]:
    """The session of the file, and those of its sub-agents."""
    if options.input.is_file() and is_database(options.input):
        return read_from_database(options.input, options.source, options.session), []
    loaded = load(of_file(options.input, options.source))
    children = [load(source, loaded.conversion.subagents) for source in subagents_of(loaded.source, loaded.native_id)]
    return loaded.conversion, [child.conversion for child in children]


def _redacted(session: Session, redactor: Redactor, hits: dict[str, int]) -> Session:
    """The session without the secrets that the rules know, counted by rule."""

    def clean(entry: Json) -> Json:
        found = redactor.clean(dump(entry), MESSAGE if is_message(entry) else NATIVE)
        for rule, count in found.hits.items():
            hits[rule] = hits.get(rule, 0) + count
        cleaned: Json = parse(found.text) if found.hits else entry
        return cleaned

    return Session(session.meta, tuple(map(clean, session.entries)), session.header)


def _put(written: Written, output: Path) -> list[str]:
    """Write the file, and sub-agents' files in a folder beside it; returns what the container cannot hold."""
    left_out = write_file(written, output)
    for child in written.subagents:
        left_out += write_file(child, output.with_suffix("") / Path(child.path or f"{child.session_id}.jsonl").name)
    return left_out


def _tell(options: argparse.Namespace, written: Written, report: dict[str, Any]) -> None:
    screen = Screen()
    if options.json:
        screen.line(dump(report))
        return
    screen.line(f"{options.input} → {options.output}: {written.agent} session {written.session_id}")
    for name in ("read", "written"):
        screen.line(f"  {name} {report[name]['agent']} {report[name]['version']}".rstrip())
        show_report(screen, report[name])
    for one in report["left_out"]:
        screen.block(f"not held by the file: {one}", indent=8, style="red")
    if report["redactions"]:
        counts = ", ".join(f"{rule} {counted(count, 'time')}" for rule, count in report["redactions"].items())
        screen.line(f"  redacted: {counts}")
