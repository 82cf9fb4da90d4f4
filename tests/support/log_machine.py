"""Sessions as a state machine: Hypothesis chooses the calls, the model says what each must answer.

Draws are aimed: at the newest sessions, so that forks of forks of forks come about; at shares of what a session reads and the
seqs beside a border; at append ids of a small pool, so that repeats and conflicts happen all the time.
"""

from typing import Any

from doors import Answer, Door
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule, run_state_machine_as_test
from log_model import Session, Snapshot, merged
from log_reads import LogReads

SESSIONS_MAX, SNAPSHOTS_MAX = 7, 12
back = st.sampled_from([0, 0, 0, 1, 1, 2, 3, 5])  # how many sessions or snapshots back from the newest
append_ids = st.sampled_from([None, "k1", "k2", "k3"])
expectations = st.sampled_from(["none", "none", "right", "stale", "other", "ahead"])
limits = st.sampled_from([1, 2, 3, 1000])
shares = st.sampled_from([1 / 3, 2 / 3, 1])
beside_events = st.tuples(st.integers(0, 9), st.sampled_from([-1, 0, 0, 0, 1]))
places = shares | beside_events  # of a session: a share of its messages, or at or beside an event of any kind
metas = st.fixed_dictionaries(
    {},
    optional={
        "title": st.sampled_from(["Plan", "relay plan", "x", None]),
        "agent_source": st.sampled_from(["dsh", "hermes", None]),
        "deep": st.sampled_from([{}, {"a": None}, {"a": 1}, {"b": {"c": 2}}]),
    },
)
USAGE = {"model": "m1", "usage": {"input_tokens": 2, "output_tokens": 30}}
CALL = {"id": "c", "type": "function", "function": {"name": "ls", "arguments": "{not json"}}
messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "system"]), "content": st.sampled_from(["a", "b", "\0 \ud83d", "日本 😀"])},
    optional={
        "metadata": st.sampled_from([{"x": 1}, {"agent_source": "hand"}, USAGE, {"model": "m0"}]),
        "native": st.sampled_from([{"raw": [1]}, {}]),
    },
) | st.sampled_from(
    [{"role": "assistant", "tool_calls": [CALL], "metadata": USAGE}, {"role": "tool", "tool_call_id": "c", "content": ""}]
)

Place = float | tuple[int, int]


class LogMachine(LogReads):
    """The calls that can be made, in any order."""

    def session(self, steps: int) -> Session:
        return self.log.sessions[-1 - steps % len(self.log.sessions)]

    @initialize(meta=metas, message=messages, first=places, second=places)
    def begin(self, meta: Answer, message: Answer, first: Place, second: Place) -> None:
        """A session, a fork of it, and a fork of that: what is wrong shows in the third generation."""
        self.make_session("a", meta, None)
        root = self.session(0)
        self.say(root, message, None, "none")
        self.record(root, [1], None)
        self.write_several(root, [(message, "k1"), ({"role": "user", "content": "b"}, None)], root.head_seq)
        self.part_ways(root, first, message)
        self.part_ways(self.session(0), second, message)

    # --- writing

    @precondition(lambda self: len(self.log.sessions) < SESSIONS_MAX)
    @rule(project=st.sampled_from("aab"), meta=metas, append_id=append_ids)
    def create(self, project: str, meta: Answer, append_id: str | None) -> None:
        self.make_session(project, meta, append_id)

    @rule(
        steps=back,
        several=st.lists(st.tuples(messages, append_ids), min_size=1, max_size=3),
        is_spoiled=st.sampled_from([False, False, True]),
        expect=expectations,
    )
    def append(self, steps: int, several: list[tuple[Answer, str | None]], is_spoiled: bool, expect: str) -> None:
        """One message, or several in one request; spoiled: by a last one whose append id stands for something else."""
        session = self.session(steps)
        taken = [append_id for scope, append_id in self.log.answers if scope is session]
        if len(several) == 1 and not is_spoiled:
            self.say(session, *several[0], expect)
        else:
            spoiler: list[tuple[Answer, str | None]] = (
                [({"role": "user", "content": "other"}, taken[-1])] if is_spoiled and taken else []
            )
            self.write_several(session, several + spoiler, self.expected_seq(session, expect))
        self.check_page(session, 0, 1000, True)

    @rule(steps=back, records=st.lists(st.sampled_from(["line", {"x": [None]}]), max_size=2), append_id=append_ids)
    def record_native(self, steps: int, records: list[Any], append_id: str | None) -> None:
        self.record(self.session(steps), records, append_id)

    @rule(steps=back, patch=metas, append_id=append_ids)
    def patch(self, steps: int, patch: Answer, append_id: str | None) -> None:
        session = self.session(steps)

        def send(sent: Answer) -> Answer:
            merge = {name: value for name, value in sent.items() if name != "append_id"}
            return self.door.patch(session.session_id, merge, sent.get("append_id"))

        def patched(answer: Answer) -> None:
            session.meta = merged(session.meta, patch)
            assert answer["meta"] == session.meta
            self.log.add(session, "session.meta_updated", answer["append_id"], patch)

        self.write(session, append_id, patch, patch | {"title": "y"}, send, self.refusal(session), patched)

    @precondition(lambda self: len(self.log.snapshots) < SNAPSHOTS_MAX)
    @rule(steps=back, place=places | st.none(), msg=st.sampled_from(["", "done"]), append_id=append_ids)
    def snapshot(self, steps: int, place: Place | None, msg: str, append_id: str | None) -> None:
        """Anywhere in what it reads, inherited messages among them, beyond its head (refused), or at its head."""
        session = self.session(steps)
        self.take(session, self.seq_at(session, place), msg, append_id)

    @precondition(lambda self: self.log.snapshots and len(self.log.sessions) < SESSIONS_MAX)
    @rule(steps=back, meta=st.none() | metas, project=st.sampled_from([None, "c"]), append_id=append_ids)
    def fork(self, steps: int, meta: Answer | None, project: str | None, append_id: str | None) -> None:
        snapshot = self.log.snapshots[-1 - steps % len(self.log.snapshots)]
        body: Answer = {} if meta is None else {"meta": meta}
        self.make_fork(snapshot, body | ({"project_id": f"{project}-{self.log.base}"} if project else {}), append_id)

    @precondition(lambda self: len(self.log.sessions) < SESSIONS_MAX)
    @rule(steps=back, place=places, message=messages)
    def fork_and_go_on(self, steps: int, place: Place, message: Answer) -> None:
        self.part_ways(self.session(steps), place, message)

    @rule(steps=back, is_meant=st.sampled_from([False, True]), message=messages)
    def delete(self, steps: int, is_meant: bool, message: Answer) -> None:
        """Half of the draws delete; a session once deleted is deleted again, and takes nothing more."""
        session = self.session(steps)
        if session.deleted or is_meant:
            answer = self.door.delete(session.session_id)
            is_new = not session.deleted
            seq = self.log.add(session, "session.deleted", "", {"reason": ""}).seq if is_new else session.last_seq
            assert answer == {"ok": True, "seq": seq, "duplicate": not is_new}
            session.deleted = True
            self.say(session, message, None, "none")
            self.write_several(session, [(message, None), (message, "k1")], None)
            self.record(session, [], None)
            self.take(session, None, "", None)
            for snapshot in session.snapshots[-1:]:
                self.make_fork(snapshot, {}, None)
            self.check_page(session, 0, 1, False)

    @precondition(lambda self: self.conflicts)
    @rule(nth=st.integers(0, 50), is_other=st.sampled_from([False, False, True]))
    def retry(self, nth: int, is_other: bool) -> None:
        """Any request that was answered, again: the first answer, also when the session is deleted by now. Another one under its
        append id is refused."""
        requests = self.conflicts if is_other else self.repeats
        requests[-1 - nth % len(requests)]()

    # --- reading

    @rule(steps=back, place=beside_events, limit=limits, native=st.booleans())
    def read(self, steps: int, place: tuple[int, int], limit: int, native: bool) -> None:
        """From any event that it reads and the seqs beside it, and from the borders of what it inherits."""
        session, (nth, beside) = self.session(steps), place
        borders = [event.seq for event in session.stream()] + [snapshot.up_to_seq for _, snapshot in session.ancestors()]
        after = min(max(0, borders[-1 - nth % len(borders)] + beside), self.log.head)
        self.check_page(session, after, limit, native)
        self.check_events(session, after)
        self.check_all_pages(session, limit)
        self.refused("cursor_ahead", lambda: self.door.page(session.session_id, self.log.head + limit, 1, False))

    @rule(steps=back, share=st.floats(0, 1), project=st.sampled_from("abc"), title=st.sampled_from([None, "PLAN"]), limit=limits)
    def look_around(self, steps: int, share: float, project: str, title: str | None, limit: int) -> None:
        """The log from any cursor, lists and lineage."""
        after = self.log.base + round(share * len(self.log.events))
        page = self.door.log(after, limit)
        expected = self.log.events[after - self.log.base :][:limit]
        last = expected[-1].seq if expected else after
        assert (page["head_seq"], page["next_after_seq"], page["has_more"]) == (self.log.head, last, last < self.log.head)
        self.check_log(expected, page["events"])
        self.check_sessions(project, title, limit)
        self.check_snapshots(self.session(steps), limit)
        self.check_lineage(self.session(steps))

    @invariant()
    def the_log_is_dense(self) -> None:
        page = self.door.log(max(0, self.log.head - 1), 2)
        assert [event["seq"] for event in page["events"]] == ([self.log.head] if self.log.head else [])

    # --- one write of each kind

    def make_session(self, project: str, meta: Answer, append_id: str | None) -> None:
        project_id = f"{project}-{self.log.base}"
        body = {"project_id": project_id, "meta": meta}

        def created(answer: Answer) -> None:
            session = Session(answer["session_id"], project_id, meta)
            self.log.add(session, "session.created", answer["append_id"], body)
            self.log.sessions.append(session)

        self.write(("project", project_id), append_id, body, body | {"meta": {"y": 1}}, self.door.create, None, created)

    def say(self, session: Session, message: Answer, append_id: str | None, expect: str) -> None:
        expected = self.expected_seq(session, expect)
        self.write(
            session,
            append_id,
            message,
            message | {"content": "other"},
            lambda sent: self.door.append(session.session_id, sent, expected),
            self.refusal(session, expected),
            lambda answer: self.said(session, message, answer["append_id"]),
        )

    def record(self, session: Session, records: list[Any], append_id: str | None) -> None:
        body = {"agent": "dsh", "version": "1", "records": records}
        self.write(
            session,
            append_id,
            body,
            body | {"version": "2"},
            lambda sent: self.door.record_native(session.session_id, sent),
            self.refusal(session),
            lambda answer: self.log.add(session, "native.recorded", answer["append_id"], body),
        )

    def part_ways(self, parent: Session, place: Place, message: Answer) -> None:
        """Fork, and both sides go on: what the parent says now is not the child's, nor the child's the parent's."""
        snapshot = self.take(parent, self.seq_at(parent, place), "", None)
        child = self.make_fork(snapshot, {}, None) if snapshot else None
        if child:
            self.say(parent, message, None, "right")
            self.say(child, message, None, "right")
            self.record(child, [], None)
            self.say(child, message, None, "right")

    def seq_at(self, session: Session, place: Place | None) -> int | None:
        """The seq that a place of a session means; None, which is its head, where there is none."""
        if isinstance(place, tuple):
            nth, beside = place
            stream = session.stream()
            return max(0, stream[-1 - nth % len(stream)].seq + beside)
        seqs = [event.seq for event in session.messages()]
        return seqs[round(place * (len(seqs) - 1))] if place and seqs else None

    def take(self, session: Session, up_to_seq: int | None, msg: str, append_id: str | None) -> Snapshot | None:
        """Take a snapshot; None where it was refused or known."""
        place = session.head_seq if up_to_seq is None else up_to_seq
        body: Answer = {"session_id": session.session_id, "commit_msg": msg, "meta": {"n": 1}}
        body |= {} if up_to_seq is None else {"up_to_seq": up_to_seq}
        if place > session.head_seq and not session.deleted:
            self.refused("invalid_request", lambda: self.door.snapshot(body))
            return None

        def taken(answer: Answer) -> Snapshot:
            payload = {"up_to_seq": place, "commit_msg": msg, "meta": {"n": 1}}
            event = self.log.add(session, "snapshot.created", answer["append_id"], payload)
            snapshot = Snapshot(event.seq, session, place, msg, {"n": 1})
            assert (answer["snapshot_id"], answer["up_to_seq"]) == (snapshot.snapshot_id, place)
            session.snapshots.append(snapshot)
            self.log.snapshots.append(snapshot)
            return snapshot

        other = body | {"commit_msg": "other"}
        made: Snapshot | None = self.write(session, append_id, body, other, self.door.snapshot, self.refusal(session), taken)
        return made

    def make_fork(self, snapshot: Snapshot, body: Answer, append_id: str | None) -> Session | None:
        """Fork; None where it was refused or known."""
        parent = snapshot.session

        def send(sent: Answer) -> Answer:
            return self.door.fork(snapshot.snapshot_id, sent)

        def forked(answer: Answer) -> Session:
            project_id = body.get("project_id", parent.project_id)
            session = Session(answer["session_id"], project_id, body.get("meta", parent.meta), snapshot)
            origin = {"parent_session_id": parent.session_id, "parent_snapshot_id": snapshot.snapshot_id}
            payload = {"project_id": project_id, "meta": session.meta, "up_to_seq": snapshot.up_to_seq, **origin}
            self.log.add(session, "session.forked", answer["append_id"], payload)
            self.log.sessions.append(session)
            assert answer["parent_snapshot_id"] == snapshot.snapshot_id
            return session

        refusal = self.refusal(parent)
        made: Session | None = self.write(snapshot.seq, append_id, body, body | {"meta": {"y": 1}}, send, refusal, forked)
        return made


def run_log_machine(door: Door, bounds: settings) -> None:
    """Let Hypothesis call the hub behind a door in any order, within bounds. Raises what the first wrong answer does."""
    run_state_machine_as_test(type("LogMachine", (LogMachine,), {"door": door}), settings=bounds)
