"""Standard messages to Claude Code: a transcript that its resume command goes on with.

**Home.** Lines that came from Claude Code go back as they were, in the order of their file, dead branches and progress
lines too: no repair, no new ids. Three things may differ, and only when asked for or needed, each with a warning: the
session's id (`Target.session_id`), the working directory (`Target.cwd`), and a parent that is not among the lines (a fork
of the session holds no progress lines) gives way to the nearest message above it.

**Foreign.** What others said becomes lines of one chain (`foreign`), with ids made of the messages' own, so that writing
again gives the same lines.

**Mixed.** Foreign messages are attached at the live end of what was there before them; lines that Claude Code wrote after
them follow. So a session that went through other agents and came home is one file.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from adapters.claude_code.chain import Chain, Envelope, moment_ms
from adapters.claude_code.elsewhere import moved, sidecar_of
from adapters.claude_code.foreign import Foreign
from adapters.claude_code.home import Home, gather
from adapters.claude_code.home_lines import HomeLine
from adapters.claude_code.live_branch import Tree, newest_leaf, subagent_branch
from adapters.claude_code.names import is_tool_id, made_tool_id, project_key, session_uuid
from adapters.claude_code.packed import NONE, packed
from adapters.claude_code.records import AGENT
from adapters.claude_code.side_files import File, beside
from adapters.conversion import Json
from adapters.made_names import is_uuid, record_names, session_name
from adapters.pairing import PairedCall, Pairing, digest, pair
from adapters.pieces import encoded
from adapters.report import Report
from adapters.session import Session, metadata_of
from adapters.target import Target, UnknownVersion
from adapters.values import text_of
from adapters.written import Written

NEWEST = "2.1.144"
TITLE_CHARS_MAX = 80
_known_version = re.compile(r"[12]\.\d{1,4}\.\d{1,4}", re.ASCII)


def write(session: Session, target: Target, subagents: Sequence[Session] = ()) -> Written:
    """Return the transcript's lines, and those of its sub-agents as files of their own. Raises UnknownVersion."""
    writing = Writing(session, target)
    children = tuple(Writing(child, target, parent=writing) for child in subagents)
    return replace(writing.whole(), subagents=tuple(child.whole() for child in children))


class Writing:
    """One file: its home lines, its runs of foreign messages, and how they stand together. `lines` is to be taken once.

    What is at home is looked up in the session when its turn comes; what is foreign is in memory. Raises UnknownVersion.
    """

    def __init__(self, session: Session, target: Target, parent: "Writing | None" = None) -> None:
        if target.version and not _known_version.fullmatch(target.version):
            raise UnknownVersion(f"Claude Code {target.version[:40]!a} is not known; known are 1.x and 2.x, newest {NEWEST}.")
        version = target.version or NEWEST
        self._parent = parent
        self._report = Report(AGENT, version, "from_standard")
        self.session, self.target = session, target
        self.home = gather(session, self._report)
        self.messages = self.home.messages
        session_id = parent.envelope.session_id if parent else _session_id(session, target, self.messages)
        is_subagent = parent is not None or isinstance(session.meta.get("subagent"), dict)
        self.envelope: Envelope = self._envelope(version, session_id, is_subagent)
        self.pairing = self._pair() if self.home.foreign else Pairing()
        self.names = record_names(self.messages) if self.home.foreign else []
        self._foreign = Foreign(self.messages, self.names, self.pairing, target.model, self._report)

    @property
    def session_id(self) -> str:
        """The agent's own id of what is written."""
        return f"agent-{self.envelope.agent_id}" if self.envelope.agent_id else self.envelope.session_id

    @property
    def path(self) -> str:
        """Where the file belongs in the agent's store."""
        folder = f"projects/{project_key(self.envelope.cwd)}/{self.envelope.session_id}"
        return f"{folder}/subagents/{self.session_id}.jsonl" if self.envelope.agent_id else f"{folder}.jsonl"

    @property
    def sidecar(self) -> Json | None:
        """What belongs beside a sub-agent's file."""
        return sidecar_of(self.session.meta, self._parent.call_ids if self._parent else {})

    @property
    def beside(self) -> tuple[File, ...]:
        return beside(self.path, self.home.files)

    def whole(self) -> Written:
        """Return all of it at once."""
        lines = tuple(b"".join(line) + b"\n" for line in self.lines())
        return Written(
            agent=AGENT,
            version=self.envelope.version,
            session_id=self.session_id,
            records=lines,
            report=self.report(),
            path=self.path,
            sidecar=self.sidecar,
            beside=self.beside,
        )

    def pieces(self) -> Iterator[bytes]:
        """Yield the file."""
        for line in self.lines():
            yield from line
            yield b"\n"

    def report(self) -> Json:
        """Return the report, once all lines have been taken."""
        return self._report.to_dict()

    @property
    def call_ids(self) -> Mapping[str, str]:
        """The ids that calls have here, by those they have in the session."""
        return {call.call["id"]: call.id for calls in self.pairing.calls.values() for call in calls}

    def lines(self) -> Iterator[Iterator[bytes]]:
        """Yield the file's lines in pieces, without line ends."""
        self._rewrite()
        runs: dict[int | None, list[list[int]]] = defaultdict(list)
        for run in _runs(self.home, len(self.messages)):
            runs[self._place(run)].append(run)
        written = {place: self._write(of_place, place) for place, of_place in runs.items()}
        self._mend(written)
        for line in self.home.lines:
            yield from map(encoded, written.pop(line.number, ()))
            yield line.pieces()
        yield from map(encoded, written.get(None, ()))
        if runs and not self.home.lines and not self.envelope.agent_id:
            yield encoded(self._title())

    def _envelope(self, version: str, session_id: str, is_subagent: bool) -> Envelope:
        meta = self.session.meta
        cwd = self.target.cwd or text_of(meta, "cwd") or "/"
        if self.home.foreign and not (self.target.cwd or text_of(meta, "cwd")):
            self._report.warn("fields/cwd", "no working directory is known: the agent lists the session in the root folder", "")
        agent_id = ""
        if is_subagent:
            link = meta.get("subagent")
            agent_id = text_of(link, "agent_id") if isinstance(link, dict) else ""
            if not re.fullmatch(r"[A-Za-z0-9_-]{1,100}", agent_id):
                agent_id = digest(agent_id or text_of(meta, "native_session_id") or str(len(self.messages)))[:7]
        return Envelope(session_id, cwd, version, text_of(meta, "git_branch"), agent_id)

    def _pair(self) -> Pairing:
        taken = {call for line in self.home.lines for call in line.line.told.calls}
        return pair(self.messages, is_tool_id, made_tool_id, self.home.of_message, taken)

    def _place(self, run: Sequence[int]) -> int | None:
        """The number of the line that a run stands before; None: at the end."""
        before = max((line.number for index, line in self.home.of_message.items() if index < run[0]), default=0)
        after = [line.number for index, line in self.home.of_message.items() if index > run[-1]]
        return min((number for number in after if number > before), default=None)

    def _write(self, runs: Sequence[Sequence[int]], place: int | None) -> list[Json]:
        """Return the lines of the runs of one place, attached to what stands before it."""
        first = runs[0][0]
        before = [line for line in self.home.lines if place is None or line.number < place]
        previous = self.home.of_message.get(first - 1)
        parent = _live_end(before, is_subagent=bool(self.envelope.agent_id)) if place is None else None
        if parent is None and previous:
            parent = previous.line.uuid
        time_ms = max((moment for line in before if (moment := moment_ms(line.line.told.timestamp)) is not None), default=0)
        chain = Chain(self.envelope, self.target.now_ms, parent or None, time_ms)
        lines = self._foreign.run(runs[0], chain, self._open_calls(first - 1))
        return lines + [line for run in runs[1:] for line in self._foreign.run(run, chain)]

    def _open_calls(self, index: int) -> list[tuple[int, PairedCall, str]]:
        """The calls of the reply that ends at this message, at home, that no message at home answers; with their lines."""
        found: list[tuple[int, PairedCall, str]] = []
        reply_id: Any = None
        while index in self.home.of_message and self.messages[index]["role"] in ("assistant", "tool"):
            message = self.messages[index]
            if message["role"] == "assistant":
                own = metadata_of(message).get("reply_id")
                if found and own != reply_id:
                    break
                reply_id = own
                uuid = self.home.of_message[index].line.uuid
                found[:0] = [(index, call, uuid) for call in self.pairing.calls.get(index, ())]
                if not reply_id:
                    break
            index -= 1
        return [item for item in found if item[1].result is None or item[1].result not in self.home.of_message]

    def _rewrite(self) -> None:
        """Give the lines at home another session id or working directory, where the target asks for it."""
        old_id, old_cwd = text_of(self.session.meta, "native_session_id"), text_of(self.session.meta, "cwd")
        new_id = self.envelope.session_id if self.target.session_id and self.envelope.session_id != old_id else ""
        for line in self.home.lines if new_id or self.target.cwd else ():
            record = line.held[0] or {}
            if new_id and isinstance(record.get("sessionId"), str) and record["sessionId"] != new_id:
                line.change("sessionId", new_id)
                self._report.warn("lines/sessionId", "the session has another id here", f"line {line.number}")
            cwd = moved(record.get("cwd"), old_cwd, self.target.cwd)
            if cwd:
                line.change("cwd", cwd)
                self._report.warn("lines/cwd", "the working directory is another one here", f"line {line.number}")

    def _mend(self, written: Mapping[int | None, Sequence[Json]]) -> None:
        """Give a message whose parent is not in the file the nearest one above it that is."""
        new = {line["uuid"] for lines in written.values() for line in lines}
        facts = self.home.held.facts
        is_there = bytearray(len(facts.names))
        for index in self.home.lines.indexes:
            if facts.uuid[index] != NONE:
                is_there[facts.uuid[index]] = 1

        def is_in_file(uuid: Any) -> bool:
            name = facts.names.find(uuid) if isinstance(uuid, str) else NONE
            return isinstance(uuid, str) and (uuid in new or (name != NONE and bool(is_there[name])))

        for index in self.home.lines.indexes:
            line = self.home.held[index]
            parent = facts.parent[index]
            if line.message is None or not line.is_value or parent == NONE or is_there[parent] or facts.names.text(parent) in new:
                continue
            above = metadata_of(self.messages[line.message]).get("parent_id")
            run = written.get(line.number)
            if not is_in_file(above):
                above = run[-1]["uuid"] if run else None
            if above and above != line.line.uuid:
                line.change("parentUuid", above)
                self._report.warn(
                    "lines/parentUuid", "its parent is not in the session; the message above it is", f"line {line.number}"
                )

    def _title(self) -> Json:
        title = text_of(self.session.meta, "title")
        if not title:
            title = next((text for message in self.messages if (text := _first_line(message))), "Session from elsewhere")
        self._report.note("synthesised", "lines/custom-title", "so that the session is listed by its title", "the last line")
        return {"type": "custom-title", "customTitle": title[:TITLE_CHARS_MAX], "sessionId": self.envelope.session_id}


def _runs(home: Home, count: int) -> Iterator[list[int]]:
    """Yield the runs of neighbouring foreign messages."""
    run: list[int] = []
    foreign = set(home.foreign)
    for index in range(count):
        if index in foreign:
            run.append(index)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _live_end(lines: Sequence[HomeLine], *, is_subagent: bool) -> str | None:
    tree = Tree(packed(line.line for line in lines))
    if is_subagent:
        branch = subagent_branch(tree)
        return branch[-1].uuid if branch else None
    end = newest_leaf(tree)
    return tree.lines[end].uuid if end != NONE else None


def _session_id(session: Session, target: Target, messages: Sequence[Json]) -> str:
    """The wanted id; else that of the agent where it goes home; else one made of what names the session."""
    meta = session.meta
    native_id = text_of(meta, "native_session_id")
    link = meta.get("subagent")
    if isinstance(link, dict) and is_uuid(text_of(link, "parent_session_id")):
        native_id = text_of(link, "parent_session_id")
    if target.session_id:
        return session_uuid(target.session_id)
    if text_of(meta, "agent_source") in ("", AGENT) and is_uuid(native_id):
        return native_id
    return session_uuid(session_name(meta, native_id, messages) or next(iter(record_names(messages[:1])), "nothing"))


def _first_line(message: Json) -> str:
    content = message.get("content")
    if message["role"] != "user" or metadata_of(message).get("origin") == "harness" or not isinstance(content, str):
        return ""
    return next((line.strip() for line in content.splitlines() if line.strip()), "")
