"""Convert: a session's file of one agent into another's, without a hub."""

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adapters.conversion import Conversion
from adapters.registry import WRITERS, write
from adapters.session import Session, session_of
from adapters.target import Target
from adapters.written import Written
from cli.cleaning import Cleaner
from cli.containers import read_from_database, write_file
from cli.containers_dsh import AGENT as DSH
from cli.containers_dsh import name_for, version_for
from cli.containers_sqlite import is_database
from cli.convert_stream import LINES, Converted, convert_lines
from cli.outputs import keep_apart, place_of
from cli.report_view import is_lossy, show_report
from cli.stores import AGENTS, Source, load, of_file, subagents_of
from cli.terminal import Screen, counted
from eventstore.errors import InvalidSettings
from eventstore.redact import Redactor
from eventstore.settings import load_settings
from eventstore.wire.codec import dump


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
    keep_apart(options.input, options.output, options.report)
    options.output = place_of(options.output)
    try:
        return _run(options)
    except OSError as error:
        where = error.filename2 or error.filename or options.output
        raise InvalidSettings(f"{where} cannot be written: {error.strerror or 'no reason given'}.") from None


def _run(options: argparse.Namespace) -> int:
    cleaner = Cleaner(Redactor(not options.no_redact, load_settings(os.environ).redaction_allow))
    provider, _, model = options.model.rpartition("/")
    now_ms = time.time_ns() // 1_000_000
    version = version_for(options.output) if options.target == DSH else ""
    target = Target(options.session_id, options.cwd, now_ms, provider, model, version)
    source = None
    if not (options.input.is_file() and is_database(options.input)):
        source = of_file(options.input, options.source)
    if source and source.agent in LINES and options.target in LINES:
        done = convert_lines(source, options.target, options.output, target, cleaner)
    else:
        done = _convert_whole(options, source, target, cleaner)
    report = _report(done, cleaner)
    if options.report:
        options.report.write_text(dump(report) + "\n", "utf-8")
    _tell(options, done, report)
    is_less = any(one.left_out or is_lossy(one.read) or is_lossy(one.written) for one in done)
    return int(options.strict and is_less)


def _convert_whole(options: argparse.Namespace, source: Source | None, target: Target, cleaner: Cleaner) -> list[Converted]:
    """Convert with the session in memory: where one of the two formats is a document or a database."""
    conversions = _load(options, source)
    cleaned = [_cleaned(session_of(conversion), cleaner) for conversion in conversions]
    written = write(options.target, cleaned[0], target, cleaned[1:])
    files = [written, *written.subagents]
    left_out = [write_file(one, _place(one, options.output, at)) for at, one in enumerate(files)]
    return [
        Converted(one.session_id, conversion.report, one.report, tuple(missing))
        for conversion, one, missing in zip(conversions, files, left_out, strict=True)
    ]


def _load(options: argparse.Namespace, source: Source | None) -> list[Conversion]:
    """The session of the file, then those of its sub-agents."""
    if source is None:
        return [read_from_database(options.input, options.source, options.session)]
    loaded = load(source)
    children = [load(child, loaded.conversion.subagents) for child in subagents_of(loaded.source, loaded.native_id)]
    return [one.conversion for one in (loaded, *children)]


def _cleaned(session: Session, cleaner: Cleaner) -> Session:
    return Session(session.meta, tuple(entry for entry, _ in cleaner.clean(session.entries)), session.header)


def _place(written: Written, output: Path, at: int) -> Path:
    """The file of the session; sub-agents' in a folder beside it."""
    if at and written.agent == DSH:
        return output.with_suffix("") / name_for(written, output)
    return output.with_suffix("") / Path(written.path or f"{written.session_id}.jsonl").name if at else output


def _report(done: Sequence[Converted], cleaner: Cleaner) -> dict[str, Any]:
    first, *subagents = done
    return {
        "left_out": [line for one in done for line in one.left_out],
        "read": first.read,
        "written": first.written,
        "redactions": cleaner.hits,
        "session_id": first.session_id,
        "subagents": [{"session_id": one.session_id, "read": one.read, "written": one.written} for one in subagents],
    }


def _tell(options: argparse.Namespace, done: Sequence[Converted], report: dict[str, Any]) -> None:
    screen = Screen()
    if options.json:
        screen.line(dump(report))
        return
    screen.line(f"{options.input} → {options.output}: {options.target} session {report['session_id']}")
    for at, one in enumerate(done):
        if at:
            screen.line(f"  sub-agent {one.session_id}")
        for word, told in (("read", one.read), ("written", one.written)):
            screen.line(f"  {word} {told['agent']} {told['version']}".rstrip())
            show_report(screen, told)
    for line in report["left_out"]:
        screen.block(f"not held by the file: {line}", indent=8, style="red")
    if report["redactions"]:
        counts = ", ".join(f"{rule} {counted(count, 'time')}" for rule, count in report["redactions"].items())
        screen.line(f"  redacted: {counts}")
