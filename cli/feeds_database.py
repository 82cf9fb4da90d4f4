"""Sessions of databases, read on: what OpenCode and Hermes added or changed since the last look."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from adapters.conversion import Conversion
from adapters.hermes.reader import read_document as read_hermes
from adapters.opencode.reader import read_document as read_opencode
from cli import containers_hermes, containers_opencode
from cli.stores_database import HERMES, OPENCODE, with_problems

Json = dict[str, Any]


class Rows(Protocol):
    """A session as it was at the last look. `read_on` says whether it changed since; it raises UnreadableContainer."""

    def read_on(self) -> bool: ...

    def convert(self, *, is_final: bool) -> Conversion: ...


class OpenCodeRows:
    """Messages and parts by id; those that OpenCode took out are taken out."""

    def __init__(self, path: Path, session_id: str) -> None:
        self._path, self._session_id = path, session_id
        self._state: Json = {}
        self._rest: Json = {}
        self._messages: dict[str, tuple[int, Json]] = {}
        self._parts: dict[str, tuple[str, Json]] = {}
        self._problems: list[str] = []

    def read_on(self) -> bool:
        found = containers_opencode.read_changes(self._path, self._session_id, self._state, {*self._messages, *self._parts})
        if found is None:
            return False
        self._state, self._rest = found.state, found.rest
        self._messages |= found.messages
        self._parts |= found.parts
        self._problems = list(dict.fromkeys([*self._problems, *found.problems]))
        for gone in found.gone:
            self._messages.pop(gone, None)
            self._parts.pop(gone, None)
        return True

    def convert(self, *, is_final: bool) -> Conversion:
        parts: dict[str, list[Json]] = {}
        for _, (message_id, part) in sorted(self._parts.items()):
            parts.setdefault(message_id, []).append(part)
        order = sorted(self._messages, key=lambda message_id: (self._messages[message_id][0], message_id))
        records = [{"info": self._messages[name][1], "parts": parts.get(name, [])} for name in order]
        info, todo = self._rest["info"], self._rest["todo"]
        document = {"info": info, "messages": records} | ({"todo": todo} if todo else {})
        return with_problems(read_opencode(document, is_final=is_final), self._problems)


class HermesRows:
    """Rows by number; which of them are live is asked at each look."""

    def __init__(self, path: Path, session_id: str) -> None:
        self._path, self._session_id = path, session_id
        self._session: Json = {}
        self._rows: dict[int, Json] = {}
        self._flags: list[tuple[Any, ...]] = []
        self._problems: list[str] = []

    def read_on(self) -> bool:
        last = max(self._rows, default=0)
        problems: list[str] = []
        session, rows, flags = containers_hermes.read_on(self._path, self._session_id, last, problems)
        is_changed = flags != self._flags or session != self._session
        self._session, self._flags = session, flags
        self._rows |= rows
        self._rows = {number: _with_flags(self._rows[number], active, compacted) for number, active, compacted in flags}
        self._problems = list(dict.fromkeys([*self._problems, *problems]))
        return is_changed

    def convert(self, *, is_final: bool) -> Conversion:
        document = self._session | {"messages": list(self._rows.values())}
        return with_problems(read_hermes(document, is_final=is_final), self._problems)


ROWS: Mapping[str, Callable[[Path, str], Rows]] = {OPENCODE: OpenCodeRows, HERMES: HermesRows}


def _with_flags(row: Json, active: Any, compacted: Any) -> Json:
    flags = containers_hermes.flags_of(active, compacted)
    return row if all(row.get(name) == value for name, value in flags.items()) else row | flags
