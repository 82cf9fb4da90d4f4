"""Gemini CLI at work, as its 0.61 writes its log: whenever it is looked at, or killed, all is told that it said, once."""

import json
from typing import Any

from draws import draws
from gemini_records import HEADER, call, reply, response, user
from hypothesis import given
from hypothesis import strategies as st

from adapters.conversion import Conversion
from adapters.gemini.reader import read
from adapters.gemini.writer import write
from adapters.session import Session
from adapters.target import Target

# A turn: words as the model says them, does it think, how many calls are done at once, does the agent set its list anew behind it?
_turns = st.lists(
    st.tuples(
        st.sampled_from(["", "It is {}.", "I look for {}.\n", " <!-- {} -->It is {}.\n\n"]),
        st.booleans(),
        st.lists(st.integers(1, 2), max_size=3),
        st.booleans(),
    ),
    min_size=1,
    max_size=4,
)


class Agent:
    """What it has in its memory, and what it wrote."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.live: dict[str, dict[str, Any]] = {}
        self.raw: dict[str, list[dict[str, Any]]] = {}
        self.words: list[str] = []
        self.calls: list[str] = []
        self._write(HEADER)

    def turn(self, at: int, words: str, has_thought: bool, batches: list[int], is_set_anew: bool) -> None:
        self._say(user(f"u{at}", f"Question {at}?"))
        raw = words.replace("{}", f"number {at}")
        said = raw.replace(f"<!-- number {at} -->", "").strip()
        self.words += [said] if said else []
        record = reply(f"g{at}", said, thoughts=[{"subject": "", "description": f"hm {at}"}] if has_thought else [], tokens=None)
        self.raw[f"g{at}"] = [{"text": raw}] if raw else []
        self._say(record)
        answers: list[dict[str, Any]] = []
        for size in batches:
            new = [f"c{at}.{len(answers) + n}" for n in range(size)]
            self.calls += new
            record = record | {"toolCalls": [*record.get("toolCalls", ()), *(call(name, response(name, name)) for name in new)]}
            self._say(record, is_new=False)
            self.raw[f"g{at}"] += [
                {"functionCall": {"id": name, "name": "run_shell_command", "args": {"command": name}}} for name in new
            ]
            answers += [response(name, name) for name in new]
        if answers:
            self._say(user(f"r{at}", *answers))
        if is_set_anew:
            anew = [held | {"content": self.raw.get(native_id, held["content"])} for native_id, held in self.live.items()]
            self._write({"$set": {"messages": anew, "lastUpdated": "x"}})

    def _say(self, record: dict[str, Any], is_new: bool = True) -> None:
        self.live[record["id"]] = record
        self._write(record)
        if is_new:
            self._write({"$set": {"lastUpdated": "x"}})

    def _write(self, record: dict[str, Any]) -> None:
        self.lines.append(json.dumps(record).encode() + b"\n")


def at_work(turns: list[Any]) -> Agent:
    agent = Agent()
    for at, turn in enumerate(turns):
        agent.turn(at, *turn)
    return agent


def ids(conversion: Conversion) -> list[str]:
    return [message.append_id for message in conversion.messages]


@draws(80)
@given(_turns)
def test_a_follower_has_all_that_a_push_would_send_whenever_it_looks(turns):
    lines = at_work(turns).lines
    told: list[str] = []
    for end in range(len(lines) + 1):
        running = ids(read(lines[:end], is_final=False))
        assert running == ids(read(lines[:end]))
        assert running[: len(told)] == told
        told = running


@draws(80)
@given(_turns)
def test_what_was_said_called_and_answered_is_told_once_and_in_order(turns):
    agent = at_work(turns)
    bodies = [message.body for message in read(agent.lines).messages]
    assert [body["content"] for body in bodies if body["role"] == "assistant" and body["content"]] == agent.words
    assert [made["id"] for body in bodies for made in body.get("tool_calls", ())] == agent.calls
    assert [body["tool_call_id"] for body in bodies if body["role"] == "tool"] == agent.calls
    thoughts = [body["thinking"]["content"] for body in bodies if "thinking" in body]
    assert thoughts == [f"hm {at}" for at, (_, has_thought, _, _) in enumerate(turns) if has_thought]


@draws(40)
@given(_turns)
def test_what_was_pushed_while_it_grew_comes_home_as_it_was(turns):
    lines = at_work(turns).lines
    pushed = {entry.append_id: entry.body for end in range(len(lines)) for entry in read(lines[:end], is_final=False).entries}
    conversion = read(lines)
    pushed |= {entry.append_id: entry.body for entry in conversion.entries}
    written = write(Session(conversion.meta, tuple(pushed.values())), Target())
    assert [json.loads(line) for line in written.records] == [json.loads(line) for line in lines]
    for kind in ("dropped", "degraded", "synthesised", "warnings"):
        assert written.report[kind] == []
