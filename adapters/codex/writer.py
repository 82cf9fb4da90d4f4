"""Standard messages to Codex: a rollout that its resume command goes on with.

**Home.** Lines that came from Codex go back as they were, dead ones too: no repair, no new ids. Three things may differ, and only
when asked for, each with a warning: the session's id (`Target.session_id`), the working directory (`Target.cwd`), and the provider
(`Target.provider`): Codex refuses to go on with another one than the session names. What the old provider sealed opens nowhere
else, and makes the API of another refuse every turn; it is left out then.

**Foreign.** What others said becomes lines of its own (`foreign`). **Mixed.** Foreign messages stand before the line of the next
message that came from Codex, else at the end.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from adapters.carried import clean, is_call_id
from adapters.codex.foreign import Foreign
from adapters.codex.home import Home, HomeLine, gather
from adapters.codex.names import Clock, path_of_session, session_uuid
from adapters.codex.records import AGENT, SEALED_SUMMARIES, VERSION
from adapters.conversion import Json
from adapters.fates_out import SEALED
from adapters.made_names import is_uuid, said_by, session_name
from adapters.moments import first_moment, moment_of, stamp
from adapters.pairing import pair, report_pairing
from adapters.report import Report
from adapters.session import Session
from adapters.target import Target, UnknownVersion
from adapters.values import int_of, text_of
from adapters.written import Written
from eventstore.wire import codec

_known_version = re.compile(r"0\.\d{1,4}\.\d{1,4}", re.ASCII)
_sealed_items = SEALED_SUMMARIES | {"reasoning"}


def write(session: Session, target: Target, subagents: Sequence[Session] = ()) -> Written:
    """Return the rollout's lines, and those of its sub-agents as files of their own. Raises UnknownVersion."""
    if target.version and not _known_version.fullmatch(target.version):
        raise UnknownVersion(f"Codex {target.version[:40]!a} is not known; known are 0.x, newest {VERSION}.")
    written = _Work(session, target).written()
    children = (_Work(child, replace(target, session_id=""), written.session_id).written() for child in subagents)
    return replace(written, subagents=tuple(children))


class _Work:
    """One file: its home lines, and the foreign messages before and behind them."""

    def __init__(self, session: Session, target: Target, parent: str = "") -> None:
        self.session, self.target, self.parent = session, target, parent
        self.version = target.version or VERSION
        self.report = Report(AGENT, self.version, "from_standard")
        self.messages = session.messages
        self.home: Home = gather(session, self.report)
        self._own = next((line for line in self.home.lines if _is_meta(line)), None)
        self._first_ms = first_moment(self.messages, moment_of, target.now_ms)

    def written(self) -> Written:
        session_id = self._session_id()
        own_time = _payload(self._own, "timestamp") or text_of((self._own.value if self._own else None) or {}, "timestamp")
        began = own_time if moment_of(own_time) is not None else stamp(min(self._first_ms, self.target.now_ms or self._first_ms))
        foreign = self._foreign_lines()
        lines: list[bytes] = []
        if self._own is None and (foreign or self.home.foreign or not self.home.lines):
            lines.append(_line(self._meta_line(session_id, began)))
        for line in self._rewritten(session_id):
            lines += map(_line, foreign.pop(line.number, ()))
            lines.append(line.encoded())
        last = next((at for line in reversed(self.home.lines) if (at := _ordinal(line)) is not None), None)
        lines += map(_line, _numbered(foreign.pop(None, []), last))
        path = path_of_session(session_id, began)
        return Written(AGENT, self.version, session_id, tuple(lines), self.report.to_dict(), path)

    def _foreign_lines(self) -> dict[int | None, list[Json]]:
        """The lines of foreign messages, by the number of the home line that they stand before; None: at the end."""
        pairing = pair(self.messages, is_call_id, fixed=self.home.of_message)
        clock = Clock(self.target.now_ms, self._first_ms)
        foreign = Foreign(self.messages, pairing, self.home.of_message, clock, self.report)
        report_pairing(self.report, pairing, self.messages, self.home.foreign)
        runs: dict[int | None, list[int]] = defaultdict(list)
        strangers = set(self.home.foreign)
        place: int | None = None
        for index in range(len(self.messages) - 1, -1, -1):
            if index in strangers:
                runs[place].insert(0, index)
            elif index in self.home.of_message:
                place = self.home.of_message[index].number
        in_order = sorted(runs.items(), key=lambda run: run[1][0])
        return {place: foreign.run(run) for place, run in in_order}

    def _rewritten(self, session_id: str) -> list[HomeLine]:
        """The lines at home, with what the target asks for."""
        old_cwd, old_id = _payload(self._own, "cwd"), _payload(self._own, "id")
        providers = {name for line in self.home.lines if (name := _provider(line))}
        is_moved = bool(self.target.provider and providers - {self.target.provider})
        lines: list[HomeLine] = []
        for line in self.home.lines:
            changes: Json = {}
            if self.target.cwd and old_cwd and _payload(line, "cwd") == old_cwd and self.target.cwd != old_cwd:
                changes["cwd"] = clean(self.target.cwd)
            if self.target.provider and self.target.provider != _provider(line) and (line is self._own or _provider(line)):
                changes |= _with_provider(line, clean(self.target.provider))
            if line is self._own and self.target.session_id and session_id != old_id:
                changes |= {"id": session_id} | ({"session_id": session_id} if _payload(line, "session_id") == old_id else {})
            if line is self._own and self.parent:
                changes |= _parent_link(line, self.parent)
            for name in changes:
                self.report.warn(f"lines/{name}", "another one here than where it came from", f"line {line.number}")
            value = line.value | {"payload": line.value["payload"] | changes} if line.value and changes else line.value
            lines += self._unsealed(replace(line, value=value)) if is_moved else [replace(line, value=value)]
        return lines

    def _unsealed(self, line: HomeLine) -> list[HomeLine]:
        """The line without what only the old provider can open; none where nothing is left of it."""
        kind, payload = text_of(line.value or {}, "type"), (line.value or {}).get("payload")
        if not isinstance(payload, dict) or line.value is None:
            return [line]
        history = payload.get("replacement_history")
        if kind == "response_item" and text_of(payload, "type") in _sealed_items:
            self.report.warn("lines/response_item.reasoning", f"left out: {SEALED.reason}", f"line {line.number}")
            return []
        if kind == "compacted" and isinstance(history, list):
            kept = [item for item in history if not (isinstance(item, dict) and text_of(item, "type") in _sealed_items)]
            if len(kept) < len(history):
                self.report.warn("lines/compacted", f"left out: {SEALED.reason}", f"line {line.number}", len(history) - len(kept))
                return [replace(line, value=line.value | {"payload": payload | {"replacement_history": kept}})]
        return [line]

    def _meta_line(self, session_id: str, began: str) -> Json:
        meta = self.session.meta
        starter = self.parent or text_of(meta.get("subagent"), "parent_session_id")
        payload: Json = {
            "id": session_id,
            "timestamp": began,
            "cwd": clean(self.target.cwd or text_of(meta, "cwd") or "/"),
            "originator": "tasuki",
            "cli_version": self.version,
            "source": _spawned(starter) if is_uuid(starter) else "cli",
        }
        if self.target.provider:
            payload["model_provider"] = clean(self.target.provider)
        if text_of(meta, "git_branch"):
            payload["git"] = {"branch": clean(text_of(meta, "git_branch"))}
        if not (self.target.cwd or text_of(meta, "cwd")):
            self.report.warn("lines/cwd", "no working directory is known: the agent goes on where it is started", "session")
        self.report.note("synthesised", "lines/session_meta", "a session begins with what it is", "line 1")
        return {"timestamp": began, "type": "session_meta", "payload": payload}

    def _session_id(self) -> str:
        """The wanted id; else that of the agent where it comes from it; else one made of what names the session."""
        meta = self.session.meta
        native_id = _payload(self._own, "id") or text_of(meta, "native_session_id")
        if self.target.session_id:
            return session_uuid(self.target.session_id, self._first_ms)
        if native_id and (self._own is not None or (text_of(meta, "agent_source") in ("", AGENT) and is_uuid(native_id))):
            return native_id
        name = session_name(meta, native_id, self.messages) or said_by(self.messages[0] if self.messages else {})
        if self.parent:
            name = f"{self.parent}:{text_of(meta.get('subagent'), 'agent_id')}:{name}"
        return session_uuid(name, first_moment(self.messages, moment_of, 0))


def _line(value: Json) -> bytes:
    return codec.dump(value).encode() + b"\n"


def _is_meta(line: HomeLine) -> bool:
    return line.value is not None and line.value.get("type") == "session_meta" and isinstance(line.value.get("payload"), dict)


def _payload(line: HomeLine | None, name: str) -> str:
    payload = (line.value or {}).get("payload") if line else None
    return text_of(payload, name) if isinstance(payload, dict) else ""


def _provider(line: HomeLine) -> str:
    """The provider that a line names: the session's own description, or the newest settings, which count on resume."""
    payload = (line.value or {}).get("payload")
    settings = payload.get("thread_settings") if isinstance(payload, dict) else None
    if isinstance(settings, dict) and _payload(line, "type") == "thread_settings_applied":
        return text_of(settings, "model_provider_id")
    return _payload(line, "model_provider") if _is_meta(line) else ""


def _with_provider(line: HomeLine, provider: str) -> Json:
    if _is_meta(line):
        return {"model_provider": provider}
    settings: Json = (line.value or {})["payload"]["thread_settings"]
    return {"thread_settings": settings | {"model_provider_id": provider}}


def _ordinal(line: HomeLine) -> int | None:
    return int_of((line.value or {}).get("ordinal")) or None


def _numbered(lines: Sequence[Json], last: int | None) -> list[Json]:
    """Give lines behind numbered ones numbers that go on."""
    if last is None:
        return list(lines)
    return [{"timestamp": line["timestamp"], "ordinal": codec.Number(str(last + at))} | line for at, line in enumerate(lines, 1)]


def _parent_link(line: HomeLine, parent: str) -> Json:
    """The sub-agent's link to the session that started it, where that has another id here."""
    payload: Any = (line.value or {})["payload"]
    source = payload.get("source")
    spawn = (
        source.get("subagent", {}).get("thread_spawn")
        if isinstance(source, dict) and isinstance(source.get("subagent"), dict)
        else None
    )
    if not isinstance(spawn, dict) or spawn.get("parent_thread_id") == parent:
        return {}
    return {"source": {"subagent": source["subagent"] | {"thread_spawn": spawn | {"parent_thread_id": parent}}}}


def _spawned(starter: str) -> Json:
    return {"subagent": {"thread_spawn": {"parent_thread_id": starter, "depth": codec.Number("1")}}}
