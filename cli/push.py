"""Push: bring sessions of an agent on this host to the hub, whole, and what is new of them when it is done again."""

import argparse
import json
import sys
from collections import Counter
from typing import Any, TextIO

from adapters.registry import UnsupportedFormat
from cli.client import Hub
from cli.containers_sqlite import UnreadableContainer
from cli.follow import Follower
from cli.outputs import keep_apart
from cli.push_session import Pushed, push_session
from cli.source import NoSuchFile, NoSuchNativeSession
from cli.stores import AGENTS, Loaded, all_sources, load, source_of, subagents_of
from cli.terminal import Pace, Screen, counted
from cli.verbs import add_verb, hub_of
from eventstore.errors import AppendIdReused, InvalidSettings, SessionDeleted, StoreError, TooLarge
from eventstore.wire.codec import dump

COUNTS = ("found", "appended", "repeated", "native", "skipped")
_OF_ONE_SESSION = (
    AppendIdReused,
    SessionDeleted,
    TooLarge,
    UnsupportedFormat,
    NoSuchFile,
    NoSuchNativeSession,
    UnreadableContainer,
)


def register(verbs: Any) -> None:
    """Add the verb."""
    push = add_verb(
        verbs,
        "push",
        run_push,
        summary="bring an agent's sessions to the hub",
        more="Bring an agent's stored sessions to the hub: messages, calls and results, thinking; what is no message as native\n"
        "records. Sub-agents' sessions come along as sessions of their own. Pushing again adds only what is new.\n"
        f"Agents: {', '.join(AGENTS)}.",
        examples=[
            "tasuki push ~/.claude/projects/-home-ann-relay/5e55….jsonl --project relay",
            "tasuki push 5e551017-9c1f-4a52-8f3e-2f6d0c6c1b11 --project relay",
            "tasuki push ses_4f1c2a9be0017QyX --agent opencode --project relay",
            "tasuki push --all --project relay --report report.jsonl",
            "tasuki push --follow --all --project relay",
        ],
    )
    what = push.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "session", nargs="?", metavar="FILE|SESSION", help="a session's file, a database, or the agent's own id of it"
    )
    what.add_argument("--all", action="store_true", help="everything new in the agents' stores")
    push.add_argument("--agent", choices=AGENTS, help="the agent that wrote it (default: told by the file's lines)")
    push.add_argument(
        "--session", dest="session_id", default="", metavar="ID", help="which session of a database that holds several"
    )
    push.add_argument("--project", required=True, metavar="P", help="project that the sessions belong to")
    push.add_argument("--follow", action="store_true", help="go on as the session runs, until interrupted")
    push.add_argument("--report", metavar="FILE", help="write the mapping reports there, one JSON object a session")


def run_push(options: argparse.Namespace) -> int:
    if options.follow:
        if options.report:
            raise InvalidSettings("--report is for a push that ends, not for --follow.")
        with hub_of(options) as hub:
            return Follower(hub, options).run()
    keep_apart(options.session, options.report)
    run = _Run(options)
    with hub_of(options) as hub:
        hub.get("/healthz")  # nothing is read for a hub that is not there
        try:
            run.all(hub) if options.all else run.one(hub)
        except StoreError:
            if run.pushed:
                run.close()
            raise
    run.close()
    return 1 if run.failed or run.total["skipped"] else 0


class _Run:
    """One run of the command: what was pushed, what was not, and what was said about it."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options, self._screen = options, Screen()
        self._said = Screen(sys.stderr)
        self._report = _open_report(options.report)
        self.pushed: list[Pushed] = []
        self.failed: list[dict[str, str]] = []
        self.left_out: list[dict[str, str]] = []
        self.total: Counter[str] = Counter()

    def one(self, hub: Hub) -> None:
        """Push what was named, with its sub-agents."""
        loaded = load(source_of(self._options.session, self._options.agent, self._options.session_id))
        if not loaded.conversion.entries:
            raise UnsupportedFormat(f"{loaded.source.place} holds nothing of a session.")
        self._push_with_subagents(hub, loaded)

    def all(self, hub: Hub) -> None:
        """Push every session of this host. One that cannot be pushed stops no other."""
        for source in all_sources(self._options.agent):
            if isinstance(source, StoreError):
                self._leave_out("", source.detail, is_failure=False)
                continue
            try:
                loaded = load(source)
                if loaded.conversion.messages:
                    self._push_with_subagents(hub, loaded)
                else:
                    self._leave_out(source.place, "it holds no message", is_failure=False)
            except _OF_ONE_SESSION as error:
                self._leave_out(source.place, f"{error.detail} [{error.code}]", is_failure=True)

    def close(self) -> None:
        """Say what became of everything."""
        if self._report:
            self._report.close()
        totals = {name: self.total[name] for name in COUNTS}
        if self._options.json:
            sessions = [pushed.to_dict() for pushed in self.pushed]
            lists = {"sessions": sessions, "failed": self.failed, "left_out": self.left_out}
            named = {} if self._options.all or not sessions else {"session_id": sessions[0]["session_id"]}
            self._screen.line(json.dumps({**named, **totals, **lists}))
        elif len(self.pushed) > 1 or self._options.all:
            failed = f", {counted(len(self.failed), 'session')} failed" if self.failed else ""
            left_out = f", {counted(len(self.left_out), 'session')} left out" if self.left_out else ""
            self._screen.line(f"{counted(len(self.pushed), 'session')}{failed}{left_out}: {_sums(totals)}")

    def _push_with_subagents(self, hub: Hub, loaded: Loaded, parent: str = "") -> None:
        """Push a session, then those that it started. One of those that cannot be pushed stops no other."""
        session_id = self._push(hub, loaded, parent).session_id
        for source in subagents_of(loaded.source, loaded.native_id):
            try:
                child = load(source, loaded.conversion.subagents)
                if child.conversion.messages:
                    self._push_with_subagents(hub, child, session_id)
                else:
                    self._leave_out(source.place, "it holds no message", is_failure=False)
            except _OF_ONE_SESSION as error:
                self._leave_out(source.place, f"{error.detail} [{error.code}]", is_failure=True)

    def _push(self, hub: Hub, loaded: Loaded, parent: str) -> Pushed:
        pace = Pace(self._said)

        def progress(done: int, total: int) -> None:
            if pace.is_due():
                self._said.progress(f"{loaded.native_id}: {done:,} of {total:,}")

        try:
            pushed = push_session(hub, loaded, self._options.project, parent, progress)
        finally:
            self._said.end_progress()
            self._said.flush()
        self.pushed.append(pushed)
        facts = pushed.to_dict()
        self.total.update({name: facts[name] for name in COUNTS})
        if self._report:
            self._report.write(dump({**loaded.conversion.report, "session_id": pushed.session_id, "path": facts["path"]}) + "\n")
        if not self._options.json:
            self._tell(pushed, facts)
        return pushed

    def _tell(self, pushed: Pushed, facts: dict[str, Any]) -> None:
        screen = self._screen
        kind = "sub-agent " if facts["path"] and pushed.loaded.parent_id else ""
        screen.line(f"{kind}{facts['native_session_id']} → {screen.styled(facts['session_id'], 'bold')}")
        screen.block(_sums(facts), 4)
        for reason, count in pushed.skipped.items():
            screen.block(f"skipped {count:,}: {reason}", 4, "yellow")
        if pushed.redactions:
            taken = ", ".join(f"{count} {rule}" for rule, count in sorted(pushed.redactions.items()))
            screen.block(f"secrets taken out: {taken}", 4, "yellow")
        for note in pushed.notes:
            screen.block(f"note: {note}", 4, "yellow")
        screen.flush()

    def _leave_out(self, path: str, reason: str, *, is_failure: bool) -> None:
        (self.failed if is_failure else self.left_out).append({"path": path, "reason": reason})
        if not self._options.json:
            said = f"{'failed' if is_failure else 'left out'}: {path}: {reason}" if path else f"left out: {reason}"
            self._screen.block(said, style="red" if is_failure else "dim")


def _sums(facts: dict[str, Any]) -> str:
    """The counts in words: found = appended + repeated + native + skipped."""
    return (
        f"found {facts['found']:,} = {facts['appended']:,} appended + {facts['repeated']:,} repeated"
        f" + {facts['native']:,} native + {facts['skipped']:,} skipped"
    )


def _open_report(path: str | None) -> TextIO | None:
    if path is None:
        return None
    try:
        return open(path, "w", encoding="utf-8", newline="\n")  # closed by `_Run.close`
    except OSError as error:
        raise InvalidSettings(f"The report cannot be written to {path}: {error.strerror or 'no reason given'}.") from None
