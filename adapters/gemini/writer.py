"""Standard messages to Gemini CLI: a session's log that its resume command goes on with.

**Home.** Lines that came from Gemini CLI go back as they were, dead records too: no repair, no new ids. Two things may differ, and
only when asked for, each with a warning: the session's id (`Target.session_id`) and the project's hash (`Target.cwd`).

**Foreign.** What others said becomes records of its own (`foreign`), with ids made of the messages' own, so that writing again
gives the same lines.

**Mixed.** Foreign messages that were said last are added behind the lines at home. Where some stand between messages at home, the
list is set anew at the end, in the order of the session; the lines before stay as they were.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from adapters.carried import clean
from adapters.conversion import Json
from adapters.gemini.foreign import Foreign, Item
from adapters.gemini.freshness import fresh
from adapters.gemini.home import Home, gather
from adapters.gemini.names import file_name, is_call_id, project_hash, session_uuid, slug_of
from adapters.gemini.records import AGENT, VERSION, is_header
from adapters.gemini.records_out import line_of
from adapters.gemini.times import Clock, moment_ms
from adapters.made_names import is_uuid, record_names, session_name
from adapters.moments import first_moment, stamp
from adapters.pairing import pair
from adapters.report import Report
from adapters.session import Session, is_harness
from adapters.target import Target, UnknownVersion
from adapters.values import text_of
from adapters.written import Written

TITLE_CHARS_MAX = 80
_known_version = re.compile(r"jsonl|0\.61\.\d{1,3}", re.ASCII)


def write(session: Session, target: Target, subagents: Sequence[Session] = ()) -> Written:
    """Return the log's lines, and those of its sub-agents as files of their own. Raises UnknownVersion."""
    if target.version and not _known_version.fullmatch(target.version):
        raise UnknownVersion(f"Gemini CLI {target.version[:40]!a} is not known; known is 0.61.x, which writes logs of JSON lines.")
    written = _Work(session, target).written()
    alone = replace(target, session_id="")
    children = tuple(_Work(child, alone, written.path, written.session_id).written() for child in subagents)
    return replace(written, subagents=children)


class _Work:
    """One session: its lines at home, and the records of foreign messages between and behind them."""

    def __init__(self, session: Session, target: Target, parent_path: str = "", parent: str = "") -> None:
        self.report = Report(AGENT, VERSION, "from_standard")
        self.session, self.target, self.parent, self.parent_path = session, target, parent, parent_path
        self.messages = session.messages
        self.home: Home = gather(session, self.report)
        self.pairing = pair(self.messages, is_call_id, fixed=self.home.of_message)
        self.session_id = self._session_id()
        self.cwd = target.cwd or text_of(session.meta, "cwd")

    def written(self) -> Written:
        items = self._items()
        lines = self._home_lines()
        behind = max((at for at, item in enumerate(items) if item.home is not None), default=-1)
        is_behind = not any(item.home is None for item in items[: max(behind, 0)])
        new = [item for item in items if item.home is None]
        if new or not lines:
            changed = line_of({"$set": {"lastUpdated": self._updated()}})
            lines = [*self._headed(lines), *(_behind(new) if is_behind else self._set_anew(items)), *([changed] if lines else ())]
        return Written(
            agent=AGENT,
            version=VERSION,
            session_id=self.session_id,
            records=tuple(line + b"\n" for line in lines),
            report=self.report.to_dict(),
            path=self._path(),
        )

    def _items(self) -> list[Item]:
        """Every message's record, in the order of the session; those at home once each."""
        clock = Clock(self.target.now_ms, self._first_ms())
        foreign = Foreign(
            self.messages, record_names(self.messages), self.pairing, self.home.of_message, clock, self.target.model, self.report
        )
        strangers = set(self.home.foreign)
        items: dict[str, Item] = {}
        for index, message in enumerate(self.messages):
            if index in strangers:
                foreign.add(index)
                continue
            record = self.home.record_of(index, message)
            if record["id"] not in items:
                items[record["id"]] = Item(record, index)
                foreign.items.append(items[record["id"]])
            items[record["id"]].record = record  # of several the last one says most
            if self._is_left(index, strangers):
                foreign.answer(index)
        return foreign.items

    def _is_left(self, index: int, strangers: set[int]) -> bool:
        """Is it a reply at home whose calls are answered by others, or which others go on after?"""
        calls = self.pairing.calls.get(index, ())
        return any(call.result in strangers if call.result is not None else index + 1 in strangers for call in calls)

    def _home_lines(self) -> list[bytes]:
        """The lines at home, with another session's id or project where the target asks for it."""
        old_id, old_cwd = text_of(self.session.meta, "native_session_id"), text_of(self.session.meta, "cwd")
        lines: list[bytes] = []
        for line in self.home.lines:
            record = line.record
            if record is not None and self.target.session_id and self.session_id != old_id:
                record = self._renamed(record, old_id, f"line {line.number}")
            if record is not None and is_header(record) and self.target.cwd and self.target.cwd != old_cwd:
                record = record | {"projectHash": project_hash(self.target.cwd)}
                self.report.warn("lines/projectHash", "another project here than where it came from", f"line {line.number}")
            lines.append(line.to_bytes() if record is line.record else line_of(record))
        return lines

    def _renamed(self, record: Json, old_id: str, where: str) -> Json:
        changed = record
        if record.get("sessionId") == old_id:
            changed = record | {"sessionId": self.session_id}
        elif isinstance(record.get("$set"), dict) and record["$set"].get("sessionId") == old_id:
            changed = record | {"$set": record["$set"] | {"sessionId": self.session_id}}
        if changed is not record:
            self.report.warn("lines/sessionId", "the session has another id here", where)
        return changed

    def _headed(self, lines: list[bytes]) -> list[bytes]:
        """The lines, with a header before them where they have none."""
        if any(line.record is not None and is_header(line.record) for line in self.home.lines):
            return lines
        if lines:
            self.report.warn("lines/header", "the lines at home have no header; a new one is written", "line 1")
        link = self.session.meta.get("subagent")
        header: Json = {
            "sessionId": self.session_id,
            "projectHash": project_hash(self.cwd or "/"),
            "startTime": self._started(),
            "lastUpdated": self._updated(),
            "kind": "subagent" if self.parent or isinstance(link, dict) else "main",
        }
        if title := self._title():
            header["summary"] = title
        if not self.cwd:
            self.report.warn("fields/cwd", "no working directory is known: put it where the agent is started", "")
        return [line_of(header), *lines]

    def _set_anew(self, items: Sequence[Item]) -> list[bytes]:
        """Lines that end in a list of all that is live, in the session's order."""
        start = max((at for at, item in enumerate(items) if item.resets), default=0)
        self.report.warn("lines/$set", "messages of others stand between those at home: the list is set anew at the end", "")
        dead = [line_of(item.record) for item in items[:start] if item.home is None]
        return [*dead, line_of({"$set": {"messages": [item.record for item in items[start:]]}})]

    def _path(self) -> str:
        if self.parent:
            return f"{self.parent_path.rpartition('/')[0]}/{self.parent}/{self.session_id}.jsonl"
        return f"tmp/{slug_of(self.cwd)}/chats/{file_name(self.session_id, self._started())}"

    def _session_id(self) -> str:
        """The wanted id; else that of the agent where it goes home; else one made of what names the session."""
        meta = self.session.meta
        native_id = text_of(meta, "native_session_id")
        if self.target.session_id:
            return session_uuid(self.target.session_id)
        if native_id and (self.home.lines or (text_of(meta, "agent_source") in ("", AGENT) and is_uuid(native_id))):
            return native_id
        name = session_name(meta, native_id, self.messages) or next(iter(record_names(self.messages[:1])), "nothing")
        return session_uuid(f"{self.parent}:{name}" if self.parent else name)

    def _first_ms(self) -> int:
        return first_moment(self.messages, moment_ms, self.target.now_ms)

    def _started(self) -> str:
        now = self.target.now_ms
        return stamp(min(self._first_ms(), now) if now else self._first_ms())

    def _updated(self) -> str:
        known = (moment_ms(message.get("created_at")) for message in self.messages)
        return fresh(max((moment for moment in known if moment is not None), default=0), self.target.now_ms)

    def _title(self) -> str:
        told = _one_line(text_of(self.session.meta, "title"))
        return told or next((title for message in self.messages if (title := _first_line(message))), "")


def _behind(new: Sequence[Item]) -> list[bytes]:
    """Records as lines; a summary begins the list anew."""
    return [line_of({"$set": {"messages": [item.record]}} if item.resets else item.record) for item in new]


def _first_line(message: Json) -> str:
    content = message.get("content")
    if message["role"] != "user" or is_harness(message) or not isinstance(content, str):
        return ""
    return next((title for line in content.splitlines() if (title := _one_line(line))), "")


def _one_line(text: str) -> str:
    return " ".join(clean(text, "").split())[:TITLE_CHARS_MAX].rstrip()
