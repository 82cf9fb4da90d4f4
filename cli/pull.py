"""Pull: a session of the hub in an agent's own format: as a file, or installed where the agent itself goes on with it."""

import argparse
import os
import time
from pathlib import Path
from typing import Any

from adapters.registry import WRITERS, write
from adapters.target import Target
from adapters.values import text_of
from adapters.written import Written
from cli.containers import write_file
from cli.containers_dsh import AGENT as DSH
from cli.containers_dsh import version_for
from cli.cwd_map import mapped
from cli.drafts import Drafts
from cli.install import INSTALLERS, install, resume_command, spelled, undo
from cli.installs import Journal
from cli.outputs import keep_apart, place_of
from cli.pull_session import Pulled, pull_session
from cli.report_view import is_lossy, show_report
from cli.terminal import Screen, counted
from cli.verbs import add_verb, hub_of
from eventstore.errors import InvalidSettings
from eventstore.settings import load_settings
from eventstore.wire.codec import dump

Json = dict[str, Any]

LINES = ("claude-code", "codex", "gemini", "messages")  # their files are put in place together; the others' are containers


def register(verbs: Any) -> None:
    """Add the verb."""
    pull = add_verb(
        verbs,
        "pull",
        run_pull,
        summary="take a session to an agent",
        more="Take a session of the hub to an agent, with all that it inherits and with its sub-agents' sessions: as a file, or\n"
        "installed, so that the agent's own resume command goes on with it. What the agent cannot hold is in the mapping report.\n"
        f"To: {', '.join(WRITERS)}. To install: {', '.join(INSTALLERS)}.",
        examples=[
            "tasuki pull ses_… --to claude-code --install",
            "tasuki pull ses_… --to opencode --install --cwd ~/relay --model acme/large",
            "tasuki pull ses_… --to opencode --undo",
            "tasuki pull ses_… --to messages -o session.jsonl --strict",
        ],
    )
    pull.add_argument("session", metavar="SESSION", help="the hub's id of the session; for --undo also the agent's")
    pull.add_argument("--to", dest="target", choices=list(WRITERS), required=True, help="the agent to write it for")
    where = pull.add_mutually_exclusive_group(required=True)
    where.add_argument("-o", dest="output", metavar="FILE", type=Path, help="the file to write; sub-agents' go beside it")
    where.add_argument("--install", action="store_true", help="put it into the agent's own store on this host")
    where.add_argument("--undo", action="store_true", help="take out what the last install of it put in")
    pull.add_argument("--cwd", default="", help="working directory on this host (default: the original one, by the cwd_map)")
    pull.add_argument("--session-id", default="", help="the agent's own id of the session (default: the original, or made from it)")
    pull.add_argument("--model", default="", metavar="PROVIDER/MODEL", help="to go on with, where the agent needs one")
    pull.add_argument("--strict", action="store_true", help="exit with 1 if anything was dropped; nothing is installed then")
    pull.add_argument("--report", metavar="FILE", type=Path, help="write the mapping reports there, as JSON")


def run_pull(options: argparse.Namespace) -> int:
    if options.output is None and options.target not in INSTALLERS:
        raise InvalidSettings(f"{options.target} has no store of its own: give -o FILE.")
    keep_apart(options.output, options.report)
    if options.output:
        options.output = place_of(options.output)
    journal = Journal(load_settings(os.environ).data_path / "installs")
    if options.undo:
        return _undo(options, journal)
    with hub_of(options) as hub:
        pulled = pull_session(hub, options.session)
    cwd = _cwd(options, pulled)
    written = _write(options, pulled, cwd)
    is_less = any(is_lossy(one.report) for one in (written, *written.subagents))
    if options.install:
        told = _install(options, journal, pulled, written, cwd) if not (options.strict and is_less) else {"installed": False}
    else:
        try:
            left_out = _write_files(written, options.output)
        except OSError as error:
            raise InvalidSettings(f"{options.output} cannot be written: {error.strerror or 'no reason given'}.") from None
        is_less = is_less or bool(left_out)
        told = {"file": str(options.output), "left_out": left_out}
    report = _report(pulled, written) | told
    if options.report:
        _write_report(options.report, report)
    _tell(options, report)
    return int(options.strict and (is_less or bool(report.get("left_out"))))


def _cwd(options: argparse.Namespace, pulled: Pulled) -> str:
    """The working directory on this host. Raises InvalidSettings where it is to be installed and there is none."""
    original = text_of(pulled.session.meta, "cwd")
    if options.cwd:
        cwd = os.path.abspath(os.path.expanduser(options.cwd)) if options.install else str(options.cwd)
    else:
        cwd = mapped(original, load_settings(os.environ).cwd_map)
    if not options.install:
        return cwd
    cwd = cwd or os.getcwd()
    if options.target == DSH:
        cwd = os.path.realpath(cwd)  # the agent compares the path in the log with where it is
    if not os.path.isdir(cwd):
        raise InvalidSettings(
            f"The session's working directory {cwd[:200]!a} is not on this host. Give --cwd PATH, or a cwd_map in the settings:"
            " agents find a session by it."
        )
    return cwd


def _write(options: argparse.Namespace, pulled: Pulled, cwd: str) -> Written:
    provider, _, model = options.model.rpartition("/")
    version = INSTALLERS[options.target].version if options.install else ""
    if options.target == DSH and options.output:
        version = version_for(options.output)
    target = Target(
        session_id=options.session_id or pulled.name,
        cwd=cwd if cwd != text_of(pulled.session.meta, "cwd") else "",
        now_ms=time.time_ns() // 1_000_000,
        provider=provider,
        model=model,
        version=version,
    )
    first, *children = pulled.all()
    return write(options.target, first.session, target, [child.session for child in children])


def _install(options: argparse.Namespace, journal: Journal, pulled: Pulled, written: Written, cwd: str) -> Json:
    done = install(journal, pulled, written, cwd, os.environ, is_strict=options.strict)
    command = resume_command(written.agent, written.session_id, options.model)
    return {
        "installed": True,
        "was_there": not done.is_new,
        "store": done.store,
        "messages": done.messages,
        "left_out": done.left_out,
        "notes": done.notes,
        "cwd": cwd,
        "command": command,
        "resume": spelled(command, cwd),
    }


def _write_files(written: Written, output: Path) -> list[str]:
    """Write the session's file and its sub-agents' in a folder beside it; return what they cannot hold."""
    files = [(written, output)]
    folder = output.with_suffix("")
    files += [(child, folder / f"{child.session_id}{output.suffix}") for child in written.subagents]
    if written.agent not in LINES:
        return [line for one, path in files for line in write_file(one, path)]
    with Drafts() as drafts:
        for one, path in files:
            drafts.write(path, one.records)
            if one.sidecar is not None:
                drafts.write(path.with_suffix(".meta.json"), [dump(one.sidecar).encode()])
            for name, content in one.beside:
                drafts.write(path.with_suffix("").joinpath(*name.split("/")[-2:]), [content])
        drafts.put()
    return []


def _report(pulled: Pulled, written: Written) -> Json:
    first, *children = pulled.all()
    return {
        "session_id": first.session_id,
        "agent": written.agent,
        "version": written.version,
        "native_session_id": written.session_id,
        "head_seq": first.head_seq,
        "purged": sum(one.purged for one in pulled.all()),
        "written": written.report,
        "subagents": [
            {"session_id": child.session_id, "native_session_id": one.session_id, "written": one.report}
            for child, one in zip(children, written.subagents, strict=True)
        ],
    }


def _write_report(path: Path, report: Json) -> None:
    try:
        path.write_text(dump(report) + "\n", "utf-8")
    except OSError as error:
        raise InvalidSettings(f"The report cannot be written to {path}: {error.strerror or 'no reason given'}.") from None


def _undo(options: argparse.Namespace, journal: Journal) -> int:
    record, was_there = undo(journal, options.target, options.session, os.environ)
    screen = Screen()
    if options.json:
        screen.line(dump({"session_id": record.session_id, "native_session_id": record.native_id, "undone": was_there}))
    elif was_there:
        screen.line(f"{options.target} session {record.native_id} is out of {record.store} again")
    else:
        screen.line(f"{options.target} session {record.native_id} was gone from {record.store} already")
    return 0


def _tell(options: argparse.Namespace, report: Json) -> None:
    screen = Screen()
    if options.json:
        screen.line(dump(report))
        return
    where = report.get("file") or report.get("store") or "nothing was installed"
    screen.line(f"{report['session_id']} → {where}: {report['agent']} session {report['native_session_id']}")
    for one in ({"written": report["written"]}, *report["subagents"]):
        if "session_id" in one:
            screen.line(f"  sub-agent {one['session_id']} → {one['native_session_id']}")
        screen.line(f"  written {one['written']['agent']} {one['written']['version']}".rstrip())
        kept = sum(item["count"] for item in one["written"]["kept_native"])
        show_report(screen, one["written"] | {"kept_native": []})
        if kept:
            screen.block(f"kept for the way home: {counted(kept, 'value')}, which --report lists", indent=8, style="dim")
    for line in report.get("left_out", ()):
        screen.block(f"not held there: {line}", indent=8, style="red")
    for line in report.get("notes", ()):
        screen.block(f"note: {line}", indent=8, style="dim")
    if report["purged"]:
        screen.line(f"  {counted(report['purged'], 'entry', 'entries')} purged from the hub")
    if report.get("installed"):
        screen.line(f"  {'was there already: ' if report['was_there'] else ''}{counted(report['messages'], 'message')} read back")
        screen.line(f"go on with it:  {report['resume']}")
