"""A mirror: one running session of an agent, kept up in the hub. What was sent is known, so only what is new is sent.

1. At the beginning, after a rewind and after the hub's log was restored, the session is pushed as `push` does it: where it stands
   is told by the hub. So a follower that was killed goes on where it was, and keeps no file of its own.
2. In between, new messages are appended as they are said. What is no message, the meta and the mark follow when the session rests.
"""

import time
from collections.abc import Callable, Mapping

from cli.client import Hub
from cli.feeds import Feed, feed_of
from cli.push_place import Place
from cli.push_send import Sender
from cli.push_session import push_session
from cli.pushed import Pushed
from cli.source import Source
from cli.stores import Loaded, subagents_of

REST_S = 3.0  # without a change: the session rests
REST_SHARE = 10  # or as much longer than it takes to send what waits for that: a long session is read whole for it
Tell = Callable[[Pushed], None]


class Mirror:
    """One session. `parent` is the mirror of the session that started it."""

    def __init__(self, source: Source, project_id: str, parent: "Mirror | None" = None) -> None:
        self.source, self.parent = source, parent
        self._project_id = project_id
        self._feed: Feed | None = None
        self._loaded: Loaded | None = None
        self._sent: set[str] = set()
        self._log_id = self.session_id = ""
        self._head_seq = 0
        self._is_own = self._is_settled = True  # settled: all that the hub's session has is live at the agent
        self._rest_cost_s = 0.0
        self._changed_at = time.monotonic()
        self._is_at_rest = True

    @property
    def call_ids(self) -> Mapping[str, str]:
        return self._loaded.conversion.subagents if self._loaded else {}

    @property
    def is_warm(self) -> bool:
        """Did it change a short while ago, so that it may have started a sub-agent?"""
        return time.monotonic() - self._changed_at < 60

    def catch_up(self, hub: Hub, log_id: str, tell: Tell) -> None:
        """Send what is new since the last time. Raises what `push_session` raises, and what its feed raises."""
        loaded = self._look()
        if loaded is not None:
            self._loaded, self._changed_at, self._is_at_rest = loaded, time.monotonic(), False
        if self._loaded is None or not self._loaded.conversion.messages:
            return
        if log_id != self._log_id:
            self._push(hub, log_id, self._loaded, tell, is_known=False)
        elif loaded is not None:
            live = {message.append_id for message in loaded.conversion.messages}
            if self._is_settled and self._sent <= live:
                self._append(hub, loaded, tell)
            else:
                self._push(hub, log_id, loaded, tell, is_known=False)
        elif not self._is_at_rest and time.monotonic() - self._changed_at > max(REST_S, REST_SHARE * self._rest_cost_s):
            began = time.monotonic()
            self.rest(hub, log_id, tell)
            self._rest_cost_s = time.monotonic() - began

    def rest(self, hub: Hub, log_id: str, tell: Tell) -> None:
        """Send the rest: what is no message, what the session says of itself, and the mark of what was pushed."""
        if self._is_at_rest or self._feed is None or not self._log_id:
            return
        at_rest = self._feed.at_rest()
        live = {message.append_id for message in at_rest.conversion.messages}
        is_known = self._is_settled and self._sent <= live
        self._push(hub, log_id, at_rest, tell, is_known=is_known)
        self._is_at_rest = True

    def children(self) -> list[Source]:
        """Return the sessions of its sub-agents that there are by now."""
        return subagents_of(self.source, self._loaded.native_id) if self._loaded else []

    def _look(self) -> Loaded | None:
        if self._feed is None:
            self._feed = feed_of(self.source, self.parent.call_ids if self.parent else {})
        return self._feed.look()

    def _append(self, hub: Hub, loaded: Loaded, tell: Tell) -> None:
        new = [message for message in loaded.conversion.messages if message.append_id not in self._sent]
        if not new:
            return
        pushed = Pushed(loaded, self.session_id, self._is_own)
        Sender(hub, pushed, lambda done, total: None).send_messages(new)
        self._head_seq = max(self._head_seq, pushed.head_seq)
        self._sent.update(message.append_id for message in new)
        tell(pushed)

    def _push(self, hub: Hub, log_id: str, loaded: Loaded, tell: Tell, *, is_known: bool) -> None:
        place = Place(self.session_id, self._is_own, self._head_seq, None, frozenset(self._sent)) if is_known else None
        parent = self.parent.session_id if self.parent else ""
        pushed = push_session(hub, loaded, self._project_id, parent, place=place)
        self.session_id, self._is_own, self._log_id = pushed.session_id, pushed.is_own, log_id
        self._is_settled, self._head_seq = pushed.is_settled, pushed.head_seq
        self._sent = {message.append_id for message in loaded.conversion.messages}
        tell(pushed)
