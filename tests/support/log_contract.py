"""What the contract says of every write: duplicates first, then refusals, then it is new and gets the next number."""

from collections.abc import Callable
from typing import Any, ClassVar

from doors import Answer, Door, Refused
from hypothesis.stateful import RuleBasedStateMachine
from log_model import Event, Known, Log, Session

Send = Callable[[Answer], Answer]


class LogContract(RuleBasedStateMachine):
    """One log, one caller at a time."""

    door: ClassVar[Door]

    def __init__(self) -> None:
        super().__init__()
        self.log = Log(self.door.log(0, 1)["head_seq"])
        self.repeats: list[Callable[[], None]] = []  # each makes a request again that was answered, and checks the answer
        self.conflicts: list[Callable[[], None]] = []  # each makes another one under the append id of such a request

    def write(
        self,
        scope: Any,
        append_id: str | None,
        body: Answer,
        other: Answer,
        send: Send,
        refusal: str | None,
        apply: Callable[[Answer], Any],
    ) -> Any:
        """Make one request; return what `apply` makes of the answer where it is new, None where nothing is written.

        `scope`: where the append id is unique; `other`: a body that is not the same; `refusal`: why it is refused if new.
        """
        sent = body | ({"append_id": append_id} if append_id else {})
        known = self.log.answers.get((scope, append_id)) if append_id else None
        if known and known.body == body:
            assert send(sent) == known.answer | {"duplicate": True}
        elif known:
            assert self.refused("append_id_reused", lambda: send(sent))["seq"] == known.seq
        elif refusal:
            self.check_conflict(scope, self.refused(refusal, lambda: send(sent)))
        else:
            answer = send(sent)
            assert (answer["seq"], answer["duplicate"]) == (self.log.head + 1, False)
            assert append_id in (None, answer["append_id"])
            made = apply(answer)
            self.remember(scope, body, answer)
            self.may_come_again(scope, body, other, answer, send)
            return made
        return None

    def remember(self, scope: Any, body: Answer, answer: Answer) -> None:
        self.log.answers[scope, answer["append_id"]] = Known(body, answer)

    def may_come_again(self, scope: Any, body: Answer, other: Answer, answer: Answer, send: Send) -> None:
        """A retry knows the append id, its own or the one that the server made."""
        name = {"append_id": answer["append_id"]}

        def again() -> None:
            assert send(body | name) == answer | {"duplicate": True}

        def changed() -> None:
            assert self.refused("append_id_reused", lambda: send(other | name))["seq"] == answer["seq"]

        self.repeats.append(again)
        self.conflicts.append(changed)

    def write_several(self, session: Session, several: list[tuple[Answer, str | None]], expected: int | None) -> None:
        """Append several messages in one request: all of them or none."""
        body: Answer = {"messages": [message | ({"append_id": key} if key else {}) for message, key in several]}
        if expected is not None:
            body["expected_seq"] = expected

        def send() -> Answer:
            return self.door.append(session.session_id, body)

        refused, index = self.first_refusal(session, several, self.refusal(session, expected))
        if refused:
            facts = self.refused(refused, send)
            assert index in (None, facts.get("index"))
            self.check_conflict(session, facts)
            return
        results = send()["results"]
        assert len(results) == len(several)
        for (message, key), result in zip(several, results, strict=True):
            known = self.log.answers.get((session, key)) if key else None
            if known:
                assert result == {"seq": known.seq, "append_id": key, "duplicate": True}
            else:
                event = self.said(session, message, result["append_id"])
                assert result == {"seq": event.seq, "append_id": key or event.append_id, "duplicate": False}
                self.remember(session, message, result)

        def again() -> None:
            assert send()["results"] == [result | {"duplicate": True} for result in results]

        if all(key for _, key in several):
            self.repeats.append(again)

    def first_refusal(
        self, session: Session, several: list[tuple[Answer, str | None]], refusal: str | None
    ) -> tuple[str | None, int | None]:
        """Why a request with several messages is refused as a whole, and the message that is the reason, where it is told."""
        bodies: dict[str, Answer] = {}
        for index, (message, key) in enumerate(several):
            if key and bodies.setdefault(key, message) != message:
                return "append_id_reused", index
        for message, key in several:
            known = self.log.answers.get((session, key)) if key else None
            if known and known.body != message:
                return "append_id_reused", None
            if not known and refusal:
                return refusal, None
        return None, None

    def said(self, session: Session, message: Answer, append_id: str) -> Event:
        """The model's event of a message: what the server fills in is known."""
        metadata = {"agent_source": session.agent_source} | message.get("metadata", {})
        payload = {name: value for name, value in message.items() if name != "native"} | {"metadata": metadata}
        return self.log.add(session, "message.appended", append_id, payload, message.get("native"))

    def refused(self, code: str, call: Callable[[], Any]) -> Answer:
        """The facts of the refusal, which must be this one."""
        try:
            answer = call()
        except Refused as error:
            found, answer = error.code, error.facts
        else:
            found = "no refusal"
        assert found == code, (found, answer)
        return dict(answer)

    def check_conflict(self, scope: Any, facts: Answer) -> None:
        """Who expected another head is told the right one."""
        if facts.get("code", "seq_conflict") == "seq_conflict" and "head_seq" in facts:
            assert facts["head_seq"] == scope.head_seq

    def refusal(self, session: Session, expected_seq: int | None = None) -> str | None:
        """Why a new event is refused by this session."""
        if session.deleted:
            return "session_deleted"
        return "seq_conflict" if expected_seq not in (None, session.head_seq) else None

    def expected_seq(self, session: Session, expect: str) -> int | None:
        """A head to expect: the right one, the one before it, one that is no message's, one to come."""
        if expect == "none":
            return None
        messages = session.messages()
        before = messages[-2].seq if len(messages) > 1 else 0
        return {"right": session.head_seq, "stale": before, "other": session.last_seq, "ahead": self.log.head + 1}[expect]
