"""Standard messages to DeepSeek Harness: a log that its resume command goes on with.

**Home.** A log that is whole goes back line by line, as it was: no repair, no new ids. Two things may differ, and only when asked
for, each with a warning: the session's id (`Target.session_id`), which the lines that name it follow, and the working directory.

**Anew.** What others said becomes a log of format v4 (`foreign`), and so does a log of an older format that shall go on
(`Target.version`, or foreign messages behind it): the agent's own upgrade is not in every build of it. An event that every version
passes over (`plugin:tasuki/import`) says where it came from.

**Mixed.** Foreign messages behind a log of v4 that is whole and sound are added to it; calls that nobody answered get a result that
says so. A log that the agent itself would not open any more is written anew then, and when another id is asked for.
"""

from collections.abc import Sequence
from dataclasses import replace

from adapters.carried import is_call_id
from adapters.conversion import Json
from adapters.dsh.blocks_out import Clock, sound
from adapters.dsh.foreign import Foreign
from adapters.dsh.home import Home, account_home, account_rewritten, gather, to_bytes
from adapters.dsh.log import Log
from adapters.dsh.names import Names, made_id
from adapters.dsh.paths import is_absolute, path_of
from adapters.dsh.records import AGENT, IMPORT, VERSION, VERSIONS, version_of
from adapters.dsh.validator import problems
from adapters.made_names import said_by, session_name
from adapters.moments import first_moment, moment_of
from adapters.pairing import pair
from adapters.report import Report
from adapters.session import Session
from adapters.target import Target, UnknownVersion
from adapters.values import object_of, text_of
from adapters.written import Written
from eventstore.wire import codec
from eventstore.wire.codec import Number

DELIVERY = "session-log-deepseek/delivery-accepted"
ANOTHER = "another one here than where it came from"


def write(session: Session, target: Target, subagents: Sequence[Session] = ()) -> Written:
    """Return the log's lines, uncompressed, and those of its sub-agents. Raises UnknownVersion."""
    if target.version not in ("", *VERSIONS):
        raise UnknownVersion(f"Format {target.version[:40]!a} of DeepSeek Harness is not known; known are 0 to {VERSION}.")
    written = _Work(session, target).written()
    children = (_Work(child, replace(target, session_id=""), written.session_id).written() for child in subagents)
    return replace(written, subagents=tuple(children))


class _Work:
    """One session: its lines at home, and the messages behind them, or all of it anew."""

    def __init__(self, session: Session, target: Target, parent: str = "") -> None:
        self.report = Report(AGENT, VERSION, "from_standard")
        self.session, self.target, self.parent = session, target, parent
        self.messages = session.messages
        self.home: Home = gather(session, self.report)
        self.goes_home = self._goes_home()

    def written(self) -> Written:
        if self.target.version not in ("", VERSION) and not self.goes_home:
            raise UnknownVersion(f"Format {self.target.version} is read, but not written any more; {VERSION} is.")
        if self.goes_home:
            account_home(self.home, self.messages, self.report)
            header, lines = self._home_lines()
        else:
            account_rewritten(self.home, self.report)
            header, lines = self._new_header(), []
        strangers = [index for index in range(len(self.messages)) if not self.goes_home or index not in self.home.of_message]
        lines = [codec.dump(header).encode(), *lines]
        if strangers or not self.goes_home:
            lines += (codec.dump(event).encode() for event in self._events(header, strangers))
        self.report.version = version_of(header)
        records = tuple(line + b"\n" for line in lines)
        return Written(AGENT, version_of(header), text_of(header, "id"), records, self.report.to_dict(), path_of(header))

    def _goes_home(self) -> bool:
        """Is there a whole log, of a format that may stay, with what others said behind it, if they said anything?"""
        version = version_of(self.home.header)
        if not self.home.is_whole or self.target.version not in ("", version):
            return False
        is_copy = self.target.session_id not in ("", text_of(self.home.header, "id"))
        if not self.home.foreign and not is_copy:
            return True
        is_behind = min(self.home.foreign, default=len(self.messages)) > max(self.home.of_message, default=-1)
        lines = (to_bytes(line) + b"\n" for _, line in sorted(self.home.lines.items()))
        return version == VERSION and is_behind and not problems(list(lines))

    def _home_lines(self) -> tuple[Json, list[bytes]]:
        """The header, changed where another id or directory is asked for, and the other lines."""
        header, old_id = self.home.header, text_of(self.home.header, "id")
        parent = self.parent if header.get("parentSession") is not None else ""
        for name, wanted in (("id", self.target.session_id), ("cwd", self.target.cwd), ("parentSession", parent)):
            if wanted and header.get(name) != wanted:
                header = header | {name: wanted}
                self.report.warn(f"session/{name}", ANOTHER, "session")
        lines = []
        for number in sorted(self.home.lines)[1:]:
            parsed = self.home.lines[number]
            data = object_of(parsed.value, "data")
            if text_of(parsed.value, "type") == DELIVERY and text_of(header, "id") != old_id == text_of(data, "sessionId"):
                value = parsed.value | {"data": data | {"sessionId": text_of(header, "id")}}
                parsed = parsed._replace(text=None, value=value)
            lines.append(to_bytes(parsed))
        return header, lines

    def _events(self, header: Json, strangers: Sequence[int]) -> list[Json]:
        """The events of the messages that are written anew."""
        names = Names(text_of(header, "id"))
        log = Log(names.made_up("head"))
        at_home = self.home.of_message if self.goes_home else {}
        if self.goes_home:
            numbered = [(number, line.value) for number, line in sorted(self.home.lines.items()) if number > 1 and not line.problem]
            log.follow(numbered)
        clock = Clock(self.target.now_ms, self._first_ms(strangers))
        pairing = pair(self.messages, is_call_id, fixed=at_home)
        foreign = Foreign(self.messages, pairing, at_home, names, clock, log, self.report)
        if self.goes_home:
            foreign.close_home([(index, call) for index in at_home for call in pairing.calls.get(index, ())])
        log.note(IMPORT, self._origin(strangers), clock.same())
        for index in strangers:
            foreign.add(index)
        foreign.finish()
        title = text_of(self.session.meta, "title")
        if title and not self.goes_home:
            log.title(sound(title, (), {}), clock.same())
        return log.events

    def _origin(self, strangers: Sequence[int]) -> Json:
        """Where the messages that follow came from."""
        meta = self.session.meta
        first = self.messages[strangers[0]] if strangers else {}
        told: Json = {
            "agent": text_of(meta, "agent_source") or "unknown",
            "nativeSessionId": text_of(meta, "native_session_id"),
            "gitBranch": text_of(meta, "git_branch"),
            "sessionId": text_of(first, "session_id"),
            "firstSeq": first.get("seq"),
            "messages": Number(str(len(strangers))),
        }
        return {name: value for name, value in told.items() if isinstance(value, Number) or (value and isinstance(value, str))}

    def _first_ms(self, strangers: Sequence[int]) -> int:
        return first_moment([*(self.messages[index] for index in strangers), *self.messages], moment_of, self.target.now_ms)

    def _new_header(self) -> Json:
        first_ms = self._first_ms(range(len(self.messages)))
        created = min(first_ms, self.target.now_ms) if self.target.now_ms else first_ms
        header: Json = {"type": "session", "version": Number(VERSION), "id": self._session_id(), "createdAt": Number(str(created))}
        cwd = self.target.cwd or text_of(self.session.meta, "cwd")
        if is_absolute(cwd):
            header["cwd"] = sound(cwd, (), {})
        else:
            self.report.warn("session/cwd", "no absolute working directory is known: the session belongs to none", "session")
        link = object_of(self.session.meta, "subagent")
        parent = self.parent or text_of(link, "parent_session_id")
        is_child = bool(link) or bool(self.parent)
        if parent:
            header["parentSession"] = sound(parent, (), {})
        header["isSeeded"] = False
        if is_child:
            header["origin"] = "subagent"
        return header | {"delegationDepth": Number("1" if is_child else "0")}

    def _session_id(self) -> str:
        """The wanted id; else that of the agent where it comes from it; else one in its manner, made of what names the session."""
        meta = self.session.meta
        native_id = text_of(meta, "native_session_id")
        if self.target.session_id:
            return self.target.session_id
        if text_of(meta, "agent_source") in ("", AGENT) and _is_id(native_id):
            return native_id
        name = session_name(meta, native_id, self.messages) or said_by(self.messages[0] if self.messages else {})
        return f"session-{made_id(f'{self.parent}:{name}')}"


def _is_id(name: str) -> bool:
    return 0 < len(name) <= 100 and name.isascii() and name.isprintable()
