"""What an agent would refuse is told of any records, however odd: a validator answers, it never fails."""

import copy
from pathlib import Path
from typing import Any

import pytest

from adapters.registry import READERS, WRITERS
from adapters.session import session_of
from adapters.target import Target
from eventstore.wire.codec import dump, parse

TRANSCRIPT = (Path(__file__).parents[2] / "cli" / "samples" / "relay-timer.jsonl").read_bytes().splitlines(keepends=True)
ODD: list[Any] = [None, True, "", "NaN", "x", [], [[]], {}, {"a": []}, parse("1"), parse("1e999"), "\ud800", [None, 1]]


def places(value: Any) -> list[tuple[Any, ...]]:
    """The path of every value in a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(), *((key, *path) for key, one in inner for path in places(one))]


def replaced(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    if not path:
        return odd
    changed = copy.copy(value)
    changed[path[0]] = replaced(value[path[0]], path[1:], odd)
    return changed


@pytest.mark.parametrize("agent", WRITERS)
def test_a_validator_has_an_answer_for_anything(agent: str):
    target = Target(now_ms=1_800_000_000_000, cwd="/work", provider="acme", model="large")
    written = WRITERS[agent].write(session_of(READERS["claude-code"].read(TRANSCRIPT)), target)
    assert WRITERS[agent].problems(written.records) == []
    records = [parse(one.decode()) if isinstance(one, bytes) else one for one in written.records]
    records = records[:4] if isinstance(written.records[0], bytes) else [_short(one) for one in records]
    tried = 0
    for at, record in enumerate(records):
        for number, path in enumerate(places(record)):
            odd = [replaced(record, path, ODD[(number + turn) % len(ODD)]) for turn in range(3)]
            for one in odd:
                changed = [*records[:at], one, *records[at + 1 :]]
                lines = [dump(each).encode() + b"\n" for each in changed]
                found = WRITERS[agent].problems(lines if isinstance(written.records[0], bytes) else changed)
                assert all(isinstance(problem, str) for problem in found)
                tried += 1
    assert tried > 50


def _short(document: Any) -> Any:
    return document | {"messages": document["messages"][:4]} if isinstance(document.get("messages"), list) else document
