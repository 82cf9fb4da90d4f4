"""What the model says of every read, and all of them at once."""

import sys
from collections.abc import Callable, Iterable
from typing import Any

from doors import Answer
from log_contract import LogContract
from log_model import Event, Session, Snapshot

ROLES = ("system", "user", "assistant", "tool")
PAGES_MAX = 200  # of one list: none is as long here


class LogReads(LogContract):
    """Reads, each checked in every member it answers with."""

    def teardown(self) -> None:
        """At the end of a run that went well, everything once more."""
        if sys.exc_info()[0] is None:
            self.check_log(self.log.events, self.door.log(self.log.base, 1000)["events"])
            for session in self.log.sessions:
                self.check_page(session, 0, 1000, True)
                self.check_events(session, self.log.base)
                self.check_lineage(session)
                self.check_snapshots(session, 1)
            for snapshot in self.log.snapshots:
                self.check_snapshot(snapshot)
            for project in "abc":
                self.check_sessions(project, None, 2)
            self.check_sessions("a", "PLAN", 1000)
            self.check_snapshots(None, 2)
            for repeat in self.repeats:
                repeat()

    def check_page(self, session: Session, after: int, limit: int, native: bool) -> None:
        if session.deleted:
            self.refused("session_deleted", lambda: self.door.page(session.session_id, after, limit, native))
            return
        page = self.door.page(session.session_id, after, limit, native)
        expected = [event for event in session.messages() if event.seq > after][:limit]
        last = expected[-1].seq if expected else after
        has_more = bool(expected) and last < session.head_seq
        assert (page["next_after_seq"], page["head_seq"], page["has_more"]) == (last, session.head_seq, has_more)
        self.check_messages(expected, page["messages"], native)

    def check_all_pages(self, session: Session, limit: int) -> None:
        """Pages stitched together are the whole, whatever their size."""
        if session.deleted:
            return
        found: list[Answer] = []
        after, has_more = 0, True
        for _ in range(PAGES_MAX):
            page = self.door.page(session.session_id, after, limit, False)
            found += page["messages"]
            after, has_more = page["next_after_seq"], page["has_more"]
            if not has_more:
                break
        self.check_messages(session.messages(), found, False)

    def check_messages(self, expected: list[Event], found: list[Answer], native: bool) -> None:
        assert [message["seq"] for message in found] == [event.seq for event in expected]
        for event, message in zip(expected, found, strict=True):
            if native:
                assert message.pop("native", None) == event.native
            self.check_payload(event, message)

    def check_payload(self, event: Event, found: Answer) -> None:
        if event.kind == "message.appended":
            server = {"session_id": event.session.session_id, "seq": event.seq, "append_id": event.append_id}
            assert found.pop("created_at")
            assert found == event.payload | server
        else:
            assert found == event.payload

    def check_events(self, session: Session, after: int) -> None:
        expected = [event for event in session.stream() if event.seq > after]
        if session.deleted:
            self.refused("session_deleted", lambda: self.door.events(session.session_id, after, 1))
        elif expected:
            found = self.door.events(session.session_id, after, len(expected))
            assert [(seq, kind) for seq, kind, _ in found] == [(event.seq, event.kind) for event in expected]
            for event, (_, _, payload) in zip(expected, found, strict=True):
                self.check_payload(event, payload)

    def check_log(self, expected: list[Event], found: list[Answer]) -> None:
        shape = [(event["seq"], event["session_id"], event["kind"]) for event in found]
        assert shape == [(event.seq, event.session.session_id, event.kind) for event in expected]
        for event, read in zip(expected, found, strict=True):
            assert event.append_id in ("", read["append_id"])
            assert read["created_at"] == (event.created_at or read["created_at"]), "what was said once stays"
            event.created_at = read["created_at"]
            self.check_payload(event, read["payload"])

    def check_lineage(self, session: Session) -> None:
        if session.deleted:
            self.refused("session_deleted", lambda: self.door.lineage(session.session_id))
            return
        found = self.door.lineage(session.session_id)
        assert tuples(found.pop("parents"), "session_id project_id snapshot_id up_to_seq deleted") == [
            (parent.session_id, parent.project_id, snapshot.snapshot_id, snapshot.up_to_seq, parent.deleted)
            for parent, snapshot in session.ancestors()
        ]
        assert tuples(found.pop("forks"), "session_id project_id snapshot_id up_to_seq created_at") == [
            (fork.session_id, fork.project_id, fork.source.snapshot_id, fork.source.up_to_seq, self.created_at(fork.seq))
            for fork in self.log.forks_of(session)
            if fork.source
        ]
        assert found.pop("snapshots") == [self.shown(snapshot) for snapshot in session.snapshots]
        assert found.pop("subagents") == []
        assert found == self.listed(session)

    def check_sessions(self, project: str, title: str | None, limit: int) -> None:
        project_id = f"{project}-{self.log.base}"
        found = self.pages(lambda cursor: self.door.sessions(project_id, title, limit, cursor), "sessions", limit)
        there = [session for session in reversed(self.log.sessions) if session.project_id == project_id and not session.deleted]
        assert found == [self.listed(session) for session in there if title is None or title.lower() in session.title.lower()]

    def check_snapshots(self, session: Session | None, limit: int) -> None:
        if session and session.deleted:
            self.refused("session_deleted", lambda: self.door.snapshots(session.session_id, limit, None))
            return
        session_id = session.session_id if session else None
        begin = str(self.log.base)  # what others took before is not of this model
        found = self.pages(lambda cursor: self.door.snapshots(session_id, limit, cursor or begin), "snapshots", limit)
        there = session.snapshots if session else [one for one in self.log.snapshots if not one.session.deleted]
        assert found == [self.shown(snapshot) for snapshot in there]

    def check_snapshot(self, snapshot: Snapshot) -> None:
        if snapshot.session.deleted:
            self.refused("session_deleted", lambda: self.door.read_snapshot(snapshot.snapshot_id))
        else:
            assert self.door.read_snapshot(snapshot.snapshot_id) == self.shown(snapshot)

    def listed(self, session: Session) -> Answer:
        """A session as lists and lineage show it; of what it says of messages, its own alone count."""
        own = [event for event in session.events if event.kind == "message.appended"]
        metadata = [event.payload["metadata"] for event in own]
        shown = {
            "session_id": session.session_id,
            "project_id": session.project_id,
            "meta": session.meta,
            "seq": session.seq,
            "head_seq": session.head_seq,
            "last_seq": session.last_seq,
            "message_count": len(own),
            **{f"{role}_count": [event.payload["role"] for event in own].count(role) for role in ROLES},
            "snapshot_count": len(session.snapshots),
            "fork_count": sum(other.parent is session for other in self.log.sessions),
            **{name: sum(one.get("usage", {}).get(name, 0) for one in metadata) for name in ("input_tokens", "output_tokens")},
            "models": sorted({one["model"] for one in metadata if "model" in one}),
            "tools": sorted({call["function"]["name"] for event in own for call in event.payload.get("tool_calls", [])}),
            "created_at": self.created_at(session.seq),
            "updated_at": self.created_at(session.last_seq),
        }
        if own:
            shown |= {"first_message_at": self.created_at(own[0].seq), "last_message_at": self.created_at(own[-1].seq)}
        if session.source:
            parent = {"parent_session_id": session.source.session.session_id, "parent_snapshot_id": session.source.snapshot_id}
            shown |= parent
        return shown

    def shown(self, snapshot: Snapshot) -> Answer:
        """A snapshot as it is read and listed."""
        return {
            "snapshot_id": snapshot.snapshot_id,
            "session_id": snapshot.session.session_id,
            "seq": snapshot.seq,
            "created_at": self.created_at(snapshot.seq),
            "up_to_seq": snapshot.up_to_seq,
            "commit_msg": snapshot.commit_msg,
            "meta": snapshot.meta,
        }

    def created_at(self, seq: int) -> str:
        """When the server wrote an event: the log says."""
        event = self.log.events[seq - self.log.base - 1]
        if not event.created_at:
            event.created_at = self.door.log(seq - 1, 1)["events"][0]["created_at"]
        return event.created_at

    def pages(self, ask: Callable[[str | None], Answer], name: str, limit: int) -> list[Answer]:
        """All items of a list, page by page."""
        found: list[Answer] = []
        cursor: str | None = None
        for _ in range(PAGES_MAX):
            page = ask(cursor)
            assert set(page) == {name, "next"}
            assert len(page[name]) == limit or page["next"] is None
            found += page[name]
            cursor = page["next"]
            if cursor is None:
                return found
        raise AssertionError(f"{name} do not end")


def tuples(objects: Iterable[Answer], names: str) -> list[tuple[Any, ...]]:
    """Each object as a tuple of these members, which must be all that it has."""
    found = [dict(one) for one in objects]
    assert all(set(one) == set(names.split()) for one in found)
    return [tuple(one[name] for name in names.split()) for one in found]
