"""Follow: mirror running sessions into the hub, each message within a second of its being written, until interrupted.

1. Files and databases are asked a few times a second whether they changed; only what is new is read.
2. A hub that is away is waited for; what was said meanwhile is sent when it is back, once.
3. A session that cannot be followed stops no other.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from cli.client import Hub
from cli.containers_sqlite import UnreadableContainer
from cli.mirror import Mirror
from cli.pushed import Pushed
from cli.source import NoSuchFile, Source
from cli.stores import all_sources, source_of
from cli.terminal import Screen, counted
from eventstore.errors import AppendIdReused, SessionDeleted, StoreError, TooLarge

POLL_S = 0.25
LIST_S = 1.0  # between two looks for new sessions
LOG_S = 5.0  # between two looks whether the hub's log is still the same
LAST_PATIENCE_S = 5.0  # for a hub that is away when the follower is interrupted
_OF_ONE_SESSION = (AppendIdReused, SessionDeleted, TooLarge)
_NOT_NOW = (OSError, NoSuchFile, UnreadableContainer)


class Follower:
    """The sessions that are followed, and what is said about them."""

    def __init__(self, hub: Hub, options: argparse.Namespace) -> None:
        self._hub, self._options = hub, options
        self._screen, self._said = Screen(), Screen(sys.stderr)
        self._mirrors: dict[Source, Mirror] = {}
        self._ended: set[Source] = set()
        self._troubled: dict[Source, str] = {}
        self._told: set[str] = set()  # why stores cannot be read
        self._log_id, self._log_at, self._listed_at = "", -math.inf, -math.inf
        self._is_back = False

    def run(self) -> int:
        """Follow until interrupted. Returns the exit code."""
        self._hub.get("/healthz")  # nothing is read for a hub that is not there
        if not self._options.all:
            source = source_of(self._options.session, self._options.agent, self._options.session_id)
            self._mirrors[source] = Mirror(source, self._options.project)
        self._hub.patience_s = math.inf
        self._hub.on_trouble = self._tell_trouble
        try:
            while self._mirrors or self._options.all:
                began = time.monotonic()
                self._turn()
                time.sleep(max(POLL_S, min(2.0, time.monotonic() - began)))
        except KeyboardInterrupt:
            self._last()
            return 0
        return 1

    def _turn(self) -> None:
        now = time.monotonic()
        if now - self._log_at > LOG_S or self._is_back:
            self._is_back, self._log_at = False, now
            self._log_id = self._hub.get("/healthz").value["log_id"]
        if now - self._listed_at > LIST_S:
            self._list()
            self._listed_at = time.monotonic()
        for source, mirror in list(self._mirrors.items()):
            self._try(source, partial(mirror.catch_up, self._hub, self._log_id, self._tell))

    def _list(self) -> None:
        """Find sessions that are new on this host, and sub-agents of those that run."""
        for found in all_sources(self._options.agent) if self._options.all else ():
            if isinstance(found, StoreError):
                if found.detail not in self._told:
                    self._told.add(found.detail)
                    self._note(f"left out: {found.detail}")
            elif found not in self._mirrors and found not in self._ended:
                self._mirrors[found] = Mirror(found, self._options.project)
        for source, mirror in list(self._mirrors.items()):
            if mirror.session_id and mirror.is_warm:
                self._try(source, partial(self._add_children, mirror))

    def _add_children(self, mirror: Mirror) -> None:
        for child in mirror.children():
            if child not in self._mirrors and child not in self._ended:
                self._mirrors[child] = Mirror(child, self._options.project, mirror)

    def _try(self, source: Source, work: Callable[[], None]) -> None:
        """Do some work for one session; what keeps it from that is said once, and stops no other."""
        try:
            work()
            if self._troubled.pop(source, ""):
                self._note(f"{source.place}: it can be read again")
        except _NOT_NOW as error:
            detail = error.detail if isinstance(error, StoreError) else f"{source.place}: {error.strerror or error}"
            if self._troubled.get(source) != detail:
                self._troubled[source] = detail
                self._note(f"{detail} Looking again …")
        except _OF_ONE_SESSION as error:
            self._mirrors.pop(source, None)
            self._ended.add(source)
            self._note(f"no longer followed: {source.place}: {error.detail} [{error.code}]", "red")

    def _last(self) -> None:
        """Send what is left, if the hub is there."""
        self._hub.patience_s = LAST_PATIENCE_S
        for source, mirror in self._mirrors.items():
            self._try(source, partial(mirror.catch_up, self._hub, self._log_id, self._tell))
            self._try(source, partial(mirror.rest, self._hub, self._log_id, self._tell))

    def _tell(self, pushed: Pushed) -> None:
        facts: dict[str, Any] = {
            "session_id": pushed.session_id,
            "native_session_id": pushed.loaded.native_id,
            "agent": pushed.loaded.conversion.agent,
            "appended": pushed.appended,
            "skipped_reasons": [{"reason": reason, "count": count} for reason, count in pushed.skipped.items()],
            "redactions": dict(pushed.redactions),
            "notes": pushed.notes,
        }
        if not any((pushed.appended, pushed.skipped, pushed.notes)):
            return
        if self._options.json:
            self._screen.line(json.dumps(facts))
        else:
            self._screen.line(f"{pushed.loaded.native_id} → {pushed.session_id}: {counted(pushed.appended, 'message')}")
            for text in (*(f"skipped {count:,}: {reason}" for reason, count in pushed.skipped.items()), *pushed.notes):
                self._screen.block(text, 4, "yellow")
        self._screen.flush()

    def _tell_trouble(self, detail: str) -> None:
        self._is_back = not detail
        self._note(f"{detail} Waiting for it …" if detail else "the hub answers again")

    def _note(self, text: str, style: str = "dim") -> None:
        self._said.block(f"tasuki: {text}", style=style)
        self._said.flush()
