"""Standard messages to Hermes: an export that its own import takes and its resume command goes on with.

**Home.** Rows that came from Hermes go back as they were, dead ones too: no repair, no new numbers. Two things may differ, and only
when asked for, each with a warning: the session's id (`Target.session_id`) and the working directory (`Target.cwd`).

**Foreign.** What others said becomes rows of its own (`foreign`). **Mixed.** Foreign messages stand behind the rows that were said
before them; the session is open again, and calls at home that nobody answered get a result that says so.

**Importing.** Hermes's import makes every row live: give it what `live_only` returns.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from adapters.carried import is_call_id
from adapters.conversion import Json
from adapters.fates_out import is_summary
from adapters.hermes.fields_out import USAGE
from adapters.hermes.foreign import Foreign
from adapters.hermes.home import Home, go_home
from adapters.hermes.limits import warn_of_limits
from adapters.hermes.records import AGENT, SESSION_COLUMNS, VERSION, rows_of, why_dead
from adapters.hermes.rows_out import Clock, title_of
from adapters.hermes.times import micros_of, rfc3339, seconds
from adapters.made_names import said_by, session_name
from adapters.moments import first_moment
from adapters.pairing import digest, pair
from adapters.report import Report
from adapters.session import Session, is_harness, metadata_of
from adapters.target import Target, UnknownVersion
from adapters.values import int_of, text_of
from adapters.written import Written
from eventstore.wire import codec
from eventstore.wire.codec import Number

_known_version = re.compile(r"22|0\.19\.\d{1,3}", re.ASCII)
_is_session_id = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", re.ASCII).fullmatch
TITLES = "a title stands once in a store: where it is taken, the import of all fails; change it there"


def write(session: Session, target: Target, subagents: Sequence[Session] = ()) -> Written:
    """Return one export, and those of its sub-agents. Raises UnknownVersion."""
    if target.version and not _known_version.fullmatch(target.version):
        raise UnknownVersion(f"Hermes {target.version[:40]!a} is not known; known are schema 22 and 0.19.x.")
    written = _Work(session, target).written()
    children = (_Work(child, replace(target, session_id=""), written.session_id).written() for child in subagents)
    return replace(written, subagents=tuple(children))


def live_only(document: Json) -> tuple[Json, int]:
    """Return an export with its live rows alone, as Hermes itself exports it, and how many rows were left out."""
    rows = rows_of(document)
    live = [row for row in rows if not isinstance(row, dict) or row.get("active") is None or int_of(row["active"]) != 0]
    return document | {"messages": live}, len(rows) - len(live)


class _Work:
    """One session: its rows at home, and the foreign messages between and behind them."""

    def __init__(self, session: Session, target: Target, parent: str = "") -> None:
        self.report = Report(AGENT, VERSION, "from_standard")
        self.session, self.target, self.parent = session, target, parent
        self.messages = session.messages
        self.home: Home = go_home(session, self.report)
        self.pairing = pair(self.messages, is_call_id, fixed=self.home.of_message)
        self._out: list[Any] = []
        self._place = {key: place for place, key in enumerate(self.home.keys)}
        self._at = 0  # how many of the rows at home are written

    def written(self) -> Written:
        self._write_rows()
        has_foreign = bool(self.home.foreign)
        columns = self._home_columns() if self.home.columns else self._new_columns()
        session_id = text_of(columns, "id")
        rows = self._numbered(session_id) if has_foreign or not self.home.columns else self._out
        if has_foreign and self.home.columns:
            columns = self._reopened(columns)
        document = columns | ({"messages": rows} if self.home.has_messages or rows else {})
        warn_of_limits(document, self.report)
        return Written(AGENT, VERSION, session_id, (document,), self.report.to_dict())

    def _write_rows(self) -> None:
        clock = Clock(self.target.now_ms * 1000, self._first_micros())
        foreign = Foreign(self.messages, self.pairing, self.home.of_message, clock, self._out, self.report)
        last = max(self.home.foreign, default=-1)
        strangers = set(self.home.foreign)
        for index in range(len(self.messages)):
            if index in strangers:
                if index > max(self.home.of_message, default=-1):
                    self._write_home(len(self.home.keys))
                foreign.add(index)
                continue
            key = self.home.of_message.get(index)
            if key is None or key not in self.home.rows:
                continue
            foreign.flush()
            self._write_home(self._place[key] + 1)
            if index < last and not why_dead(self.home.rows[key]):
                foreign.answer([(index, call) for call in self.pairing.calls.get(index, ())])
        foreign.finish()
        self._write_home(len(self.home.keys))

    def _write_home(self, end: int) -> None:
        """Write the rows at home up to this place."""
        self._out += (self.home.rows[key] for key in self.home.keys[self._at : end])
        self._at = max(self._at, end)

    def _first_micros(self) -> int:
        return first_moment(self.messages, micros_of, self.target.now_ms * 1000)

    def _home_columns(self) -> Json:
        columns = self.home.columns
        parent = self.parent if columns.get("parent_session_id") is not None else ""
        for name, wanted in (("id", self.target.session_id), ("cwd", self.target.cwd), ("parent_session_id", parent)):
            if wanted and columns.get(name) != wanted:
                columns = columns | {name: wanted}
                self.report.warn(f"session/{name}", "another one here than where it came from", "session")
        if self.target.session_id:
            self._out = [_of_session(row, self.target.session_id) for row in self._out]
        return columns

    def _numbered(self, session_id: str) -> list[Json]:
        """Give the new rows numbers that go on; where one stands between old ones, all rows get new ones."""
        rows: list[Json] = [_of_session(row, session_id) for row in self._out if isinstance(row, dict)]
        numbers = [int_of(row.get("id")) for row in rows]
        known = [number for number in numbers if number is not None]
        is_behind = not any(numbers[len(known) :]) and known == sorted(set(known)) and len(rows) == len(self._out)
        if not is_behind:
            self.report.warn("rows/id", "a new row stands between old ones: all have new numbers", "session")
        start, first = (len(known), known[-1] + 1) if known and is_behind else (0, 1)
        return rows[:start] + [row | {"id": Number(str(first + at))} for at, row in enumerate(rows[start:])]

    def _reopened(self, columns: Json) -> Json:
        """The session goes on: it has not ended, and counts what it has."""
        counts = _counts(self._out)
        changed = {name: value for name, value in counts.items() if name in columns}
        ended = {name: None for name in ("ended_at", "end_reason") if columns.get(name) is not None}
        if ended:
            self.report.warn("session/ended_at", "the session goes on: it has not ended", "session")
        return columns | changed | ended

    def _new_columns(self) -> Json:
        meta = self.session.meta
        columns: Json = dict.fromkeys(SESSION_COLUMNS)
        zero = Number("0")
        columns |= dict.fromkeys(_COUNTED, zero)
        link = meta.get("subagent")
        starter = self.parent or text_of(link, "parent_session_id")
        started = seconds(min(self._first_micros(), self.target.now_ms * 1000 or self._first_micros()))
        columns |= {
            "id": self._session_id(),
            "source": "subagent" if isinstance(link, dict) or self.parent else "import",
            "started_at": started,
            "cwd": self.target.cwd or text_of(meta, "cwd") or None,
            "git_branch": text_of(meta, "git_branch") or None,
            "model": self.target.model or None,
            **_counts(self._out),
            **self._usage(),
        }
        if starter:
            columns |= {"parent_session_id": starter, "model_config": codec.dump({"_delegate_from": starter})}
        elif title := self._title():
            columns["title"] = title
            self.report.warn("session/title", TITLES, "session")
        if not columns["cwd"]:
            self.report.warn("session/cwd", "no working directory is known: the agent goes on where it is started", "session")
        return columns

    def _title(self) -> str:
        told = title_of(text_of(self.session.meta, "title"))
        return told or next((title for message in self.messages if (title := _first_line(message))), "")

    def _session_id(self) -> str:
        """The wanted id; else that of the agent where it comes from it; else one in its manner, made of what names the session."""
        meta = self.session.meta
        native_id = text_of(meta, "native_session_id")
        if self.target.session_id:
            return self.target.session_id
        if text_of(meta, "agent_source") in ("", AGENT) and _is_session_id(native_id):
            return native_id
        name = session_name(meta, native_id, self.messages) or said_by(self.messages[0] if self.messages else {})
        if self.parent:
            name = f"{self.parent}:{text_of(meta.get('subagent'), 'agent_id')}:{name}"
        at = rfc3339(seconds(first_moment(self.messages, micros_of, 0)))
        return f"{at[:10].replace('-', '')}_{at[11:19].replace(':', '')}_{digest(name)[:6]}"

    def _usage(self) -> Json:
        """What the replies cost, each counted once: the last message of a reply tells."""
        of_reply: dict[Any, Json] = {}
        for index in self.home.foreign:
            metadata = metadata_of(self.messages[index])
            if isinstance(metadata.get("usage"), dict) and self.messages[index]["role"] == "assistant":
                reply_id = metadata.get("reply_id")
                of_reply[reply_id if isinstance(reply_id, str) and reply_id else index] = metadata["usage"]
        sums = {column: sum(int_of(usage.get(name)) or 0 for usage in of_reply.values()) for name, column in USAGE.items()}
        return {column: Number(str(total)) for column, total in sums.items()}


_COUNTED = (
    "expiry_finalized message_count tool_call_count input_tokens output_tokens cache_read_tokens cache_write_tokens "
    "reasoning_tokens api_call_count compression_fallback_streak rewind_count archived"
).split()


def _of_session(row: Any, session_id: str) -> Any:
    return row | {"session_id": session_id} if isinstance(row, dict) else row


def _counts(rows: Sequence[Any]) -> Json:
    live = [row for row in rows if not why_dead(row)]
    calls = [row["tool_calls"] for row in live if isinstance(row.get("tool_calls"), list)]
    return {"message_count": Number(str(len(live))), "tool_call_count": Number(str(sum(map(len, calls))))}


def _first_line(message: Json) -> str:
    content = message.get("content")
    if message["role"] != "user" or is_harness(message) or is_summary(message) or not isinstance(content, str):
        return ""
    return next((title for line in content.splitlines() if (title := title_of(line))), "")
