"""A session out as an OpenCode export: what `opencode import` takes and `opencode run -s ID -m provider/model` goes on with.

1. What came from OpenCode goes home as it was, value by value (`home`). Where nothing else was said since, that is all.
2. What came from elsewhere is converted (`steps`): what was said before OpenCode was there stands before its own messages, the rest
   follows at the end, later than all that was there. A revert that was pending
   is carried out then, as OpenCode itself does at the next prompt: else it would take the new messages back with the old.
3. The same session and target give the same ids, so an import of the same again adds nothing, and one of more adds what is new.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from adapters.carried import is_call_id
from adapters.conversion import Json
from adapters.fates_out import Notes
from adapters.leaves import CONVERTED, Fate, Path, account, leaves, path_name
from adapters.opencode import ids
from adapters.opencode.document import Place, id_name, messages_of, placed, session_info, source_of
from adapters.opencode.fates import OTHERS_NATIVE, fate_of
from adapters.opencode.home import Home, go_home
from adapters.opencode.live import created_ms, live_branch
from adapters.opencode.records import AGENT, info_of, is_message
from adapters.opencode.renamed import renamed
from adapters.opencode.said_in import texts_in
from adapters.opencode.steps import UNKNOWN, Around, Step, moment, seed_of, steps_of
from adapters.pairing import pair
from adapters.report import Report
from adapters.session import Session, metadata_of, place_of
from adapters.session import is_message as is_standard
from adapters.target import Target, UnknownVersion
from adapters.values import object_of, text_of
from adapters.written import Written

NEWEST = "1.18.33"
_known = re.compile(r"1\.\d{1,4}\.\d{1,6}(?:[-+][0-9A-Za-z.-]{1,40})?")
REMOVED = Fate("dropped", "OpenCode itself removed it: taken back, and gone on from there")
ALREADY = "not written again: it is among OpenCode's own records already"
META: Mapping[str, str] = {
    "title": "info.title",
    "cwd": "info.directory",
    "native_session_id": "info.id, info.metadata",
    "agent_source": "info.metadata",
    "subagent": "info.parentID",
}


def write(session: Session, target: Target, subagents: Sequence[Session] = ()) -> Written:
    """Return one export document, and one for each sub-agent. Raises UnknownVersion."""
    if target.version and not _known.fullmatch(target.version):
        raise UnknownVersion(f"OpenCode {target.version[:40]!a}: sessions are written for 1.x, as {NEWEST} reads them.")
    children = [_Writing(child, _of_child(target)) for child in subagents]
    links = {_started_by(child.session): child.session_id for child in children}
    parent = _Writing(session, target)
    written = parent.written(links, "")
    return Written(
        agent=AGENT,
        version=written.version,
        session_id=written.session_id,
        records=written.records,
        report=written.report,
        subagents=tuple(child.written({}, parent.session_id) for child in children),
    )


@dataclass(slots=True)
class _Foreign:
    """Messages to convert, and which entries they are."""

    indexes: list[int] = field(default_factory=list)
    messages: list[Json] = field(default_factory=list)


class _Writing:
    """One session on its way out."""

    def __init__(self, session: Session, target: Target) -> None:
        self.session, self._target = session, target
        self._home: Home = go_home(session)
        self._foreign = _Foreign()
        for index, entry in enumerate(session.entries):
            if is_standard(entry) and index not in self._home.at_home and index not in self._home.removed:
                self._foreign.indexes.append(index)
                self._foreign.messages.append(entry)
        self._own_id = text_of(info_of(self._home.document), "id")
        self.session_id = self._name()
        self._report = Report(AGENT, target.version or NEWEST, "from_standard")

    def written(self, links: Mapping[str, str], parent_id: str) -> Written:
        """Make the document. `links`: which session a call started; `parent_id`: the session that started this one."""
        document, around = self._document(links, parent_id)
        self._account(around)
        for message in self.session.messages:
            self._report.message(message["role"])
        version = text_of(info_of(document), "version") or self._target.version or NEWEST
        return Written(AGENT, version, self.session_id, (document,), self._report.to_dict())

    def _name(self) -> str:
        """The session's id: the target's, else the one it has at home, else one made from what it is."""
        wanted = self._target.session_id
        if wanted.startswith("ses"):
            return wanted
        if self._own_id and not wanted:
            return self._own_id
        meta = self.session.meta
        names = (text_of(entry, "session_id") for entry in self.session.entries)
        seed = wanted or next((name for name in names if name), "") or f"{meta.get('agent_source')}:{meta.get('native_session_id')}"
        first = self._foreign.messages[0] if self._foreign.messages else {}
        return ids.session_id(f"{seed}:{text_of(first, 'append_id')}", moment(first) or 0)

    def _document(self, links: Mapping[str, str], parent_id: str) -> tuple[Json, Around]:
        document, records = self._at_home()
        around = self._around(links)
        last_user = next((text_of(info_of(record), "id") for record in reversed(records) if _is_user(record)), "")
        lead = self._lead()
        steps, is_begun = placed(steps_of(self._foreign.messages, around), bool(last_user) and not lead)
        steps = self._new(steps, records)
        if is_begun:
            self._report.note("synthesised", "fields/user.content", "an assistant's message needs one to answer", "message 1")
        if not steps and self._own_id:
            return {**document, "messages": records}, around
        if steps:
            document, records = self._without_revert(document, records)
        after = max((created_ms(record) or 0 for record in records), default=0)
        place = self._place(document)
        count = next((at for at, step in enumerate(steps) if step.seed.partition(":asked")[0] not in lead), len(steps))
        first = min((created_ms(record) or 0 for record in records), default=0)
        before = messages_of(steps[:count], replace(place, now_ms=max(1, first - 1)), 0, "") if count else []
        messages = [*before, *records, *messages_of(steps[count:], place, after, last_user)]
        self._warn_of_times(messages[len(before) + len(records) :])
        return {**document, "info": self._info(document, place, messages, parent_id), "messages": messages}, around

    def _lead(self) -> set[str]:
        """What the steps of messages are called that were said before OpenCode was there: they stand before its own."""
        at_home = (index for index in self._home.at_home if is_standard(self.session.entries[index]))
        first = min(at_home, default=-1)
        indexes = enumerate(self._foreign.indexes)
        seeds = [seed_of(self._foreign.messages[at], at) for at, index in indexes if index < first]
        return {*seeds, *(f"{seed}:begin" for seed in seeds)}

    def _at_home(self) -> tuple[Json, list[Json]]:
        """What goes home; under other ids when the session gets another."""
        document, records = self._home.document, self._home.messages
        if self._own_id and self.session_id != self._own_id:
            document, records = renamed(document, records, self._own_id, self.session_id)
            self._report.warn("session/info.id", "written as another session: all its ids are new", "session")
        info = info_of(document)
        if self._own_id and self._target.cwd and self._target.cwd != info.get("directory"):
            document = document | {"info": info | {"directory": self._target.cwd}}
            self._report.warn("session/info.directory", "the target's working directory is written", "session")
        return document, records

    def _around(self, links: Mapping[str, str]) -> Around:
        pairing = pair(self._foreign.messages, is_call_id)
        return Around(pairing, self._target.provider, self._target.model, links)

    def _new(self, steps: list[Step], records: Sequence[Json]) -> list[Step]:
        """The steps that OpenCode has not got already: it was here before, and what we wrote then came back as its own."""
        names = {text_of(info_of(record), "id")[-14:] for record in records}
        new = [step for step in steps if id_name(self.session_id, step) not in names] if names else steps
        if len(new) < len(steps):
            self._report.warn("session/messages", ALREADY, "session", len(steps) - len(new))
        return new

    def _without_revert(self, document: Json, records: list[Json]) -> tuple[Json, list[Json]]:
        info = info_of(document)
        if "revert" not in info:
            return document, records
        live = live_branch(info, records)
        gone = {place for place, reason in live.why.items() if reason.startswith("reverted")}
        kept: list[Json] = []
        for place, record in enumerate(records):
            if place not in gone:
                cut = live.cuts.get(place)
                kept.append(record if cut is None else record | {"parts": record["parts"][:cut]})
        self._report.found("reverted", len(gone) + len(live.cuts))
        if gone or live.cuts:
            reason = "a pending revert is carried out, as OpenCode does at the next prompt"
            self._report.note("dropped", "reverted/messages", reason, "session", len(gone) + len(live.cuts))
        return document | {"info": {key: value for key, value in info.items() if key != "revert"}}, kept

    def _place(self, document: Json) -> Place:
        info, meta = info_of(document), self.session.meta
        provider, model = self._target.provider, self._target.model
        if not provider or not model:
            told = [metadata_of(message) for message in reversed(self._foreign.messages) if message["role"] == "assistant"]
            named = next((metadata for metadata in told if text_of(metadata, "model")), {})
            session_model = object_of(info, "model")
            model = text_of(session_model, "id") or text_of(named, "model") or UNKNOWN
            provider = text_of(session_model, "providerID") or text_of(named, "provider") or UNKNOWN
            self._report.warn("session/model", "no local provider and model are named: give them to OpenCode with -m", "session")
        cwd = self._target.cwd or text_of(info, "directory") or text_of(meta, "cwd") or "/"
        return Place(self.session_id, cwd, provider, model, self._target.now_ms)

    def _info(self, document: Json, place: Place, messages: Sequence[Json], parent_id: str) -> Json:
        times = [ms for record in messages if (ms := created_ms(record)) is not None] or [self._target.now_ms]
        if self._own_id:
            info = info_of(document)
            return info | {"time": object_of(info, "time") | {"updated": max(times)}}
        version = self._target.version or NEWEST
        source = source_of(self.session.meta, "")
        return session_info(place, version, self._title(), (min(times), max(times)), source, parent_id)

    def _title(self) -> str:
        title = text_of(self.session.meta, "title")
        said = (text for message in self._foreign.messages if message["role"] == "user" for text in texts_in(message))
        return title or next((text.strip().splitlines()[0] for text in said if text.strip()), "")

    def _warn_of_times(self, messages: Sequence[Json]) -> None:
        late = [message for message in messages if self._target.now_ms and (created_ms(message) or 0) > self._target.now_ms]
        if late:
            reason = "later than now, since what was there already is: OpenCode answers no prompt until that time has come"
            self._report.warn("session/messages", reason, "session", len(late))

    def _account(self, around: Around) -> None:
        """Count every leaf of every message, every record and every field of the session."""
        report = self._report
        at = {index: place for place, index in enumerate(self._foreign.indexes)}
        for index, entry in enumerate(self.session.entries):
            if not is_standard(entry):
                self._account_records(index, entry)
            elif index in at:
                self._account_foreign(entry, around.notes.get(at[index], {}), place_of(entry, index))
            else:
                fate = REMOVED if index in self._home.removed else CONVERTED
                account(report, entry, partial(_same, fate), place_of(entry, index))
        for name, reason, place in around.synthesised:
            report.note("synthesised", name, reason, place_of(self._foreign.messages[place], self._foreign.indexes[place]))
        for path, _ in leaves(self.session.meta):
            report.found("meta")
            if self._own_id or (path and str(path[0]) in META):
                report.converted("meta")
            else:
                report.note("kept_native", f"meta/{path_name(path)}", "the hub's own note of the session", "session")

    def _account_foreign(self, entry: Json, notes: Notes, where: str) -> None:
        """Count a converted message; what belongs together under one name."""
        said = {key: value for key, value in entry.items() if key != "native" or not value}
        groups = [("native", entry["native"], OTHERS_NATIVE)] if entry.get("native") else []
        if whole := notes.get(()):
            groups, said = [*groups, ("", said, whole)], {}
        for name, group, fate in groups:
            count = sum(1 for _ in leaves(group))
            self._report.found("fields", count)
            assert fate.kind != "converted"
            self._report.note(fate.kind, f"fields/{entry['role']}{'.' if name else ''}{name}", fate.reason, where, count)
        if said:
            account(self._report, said, partial(fate_of, entry, notes), where)

    def _account_records(self, index: int, entry: Json) -> None:
        count = len(entry["records"])
        self._report.found("records", count)
        if index in self._home.broken:
            self._report.note("dropped", "records/broken", "a native record that cannot be read", f"entry {index + 1}", count)
        elif index in self._home.removed:
            self._report.note("dropped", "records/removed", REMOVED.reason, f"entry {index + 1}", count)
        elif index in self._home.at_home:
            self._report.converted("records", count)
        else:
            reason = "another agent's own record: stays behind for the way home to it"
            self._report.note("kept_native", "records/other", reason, f"entry {index + 1}", count)


def _same(fate: Fate, path: Path, value: object) -> Fate:
    return fate


def _is_user(record: Json) -> bool:
    return is_message(record) and info_of(record)["role"] == "user"


def _of_child(target: Target) -> Target:
    return Target("", target.cwd, target.now_ms, target.provider, target.model, target.version)


def _started_by(session: Session) -> str:
    """The call that started a sub-agent, where its session knows."""
    return text_of(object_of(session.meta, "subagent"), "tool_use_id")
