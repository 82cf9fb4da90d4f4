"""Calls and results find each other in any session, and every id becomes one that the target takes."""

import re

from hypothesis import given
from hypothesis import strategies as st

from adapters.pairing import pair

VALID = re.compile(r"[A-Za-z0-9_-]{1,64}").fullmatch


def calls(*ids: str) -> dict:
    return {
        "role": "assistant",
        "tool_calls": [{"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}} for name in ids],
    }


def result(name: str) -> dict:
    return {"role": "tool", "tool_call_id": name, "content": ""}


def said(role: str = "user") -> dict:
    return {"role": role, "content": "x"}


def answers(messages: list[dict]) -> list[list[int | None]]:
    return [[call.result for call in of_message] for of_message in pair(messages).calls.values()]


def test_results_in_any_order_find_their_calls():
    assert answers([calls("a", "b"), result("b"), said(), result("a")]) == [[3, 1]]


def test_an_id_used_again_in_another_turn_is_answered_by_the_nearest():
    assert answers([calls("a"), result("a"), calls("a"), result("a")]) == [[1], [3]]
    assert answers([calls("a"), calls("a"), result("a")]) == [[None], [2]]


def test_equal_ids_in_one_message_are_answered_in_order():
    assert answers([calls("", ""), result(""), result("")]) == [[1, 2]]


def test_the_first_of_two_results_counts():
    pairing = pair([calls("a"), result("a"), result("a")])
    assert (set(pairing.doubled), pairing.orphans) == ({2}, set())


def test_a_result_before_its_call_is_taken_when_no_other_comes():
    assert answers([result("a"), calls("a")]) == [[0]]
    pairing = pair([result("a"), calls("a"), result("a")])
    assert (pairing.calls[1][0].result, set(pairing.doubled)) == (2, {0})


def test_a_result_without_a_call_is_an_orphan_and_a_call_without_a_result_is_told():
    pairing = pair([calls("a"), result("b")])
    assert pairing.orphans == {1}
    assert [index for index, _ in pairing.unanswered] == [0]


def test_ids_that_are_fixed_stay_and_nobody_else_gets_them():
    pairing = pair([calls("a"), calls("a")], fixed=[1])
    assert pairing.calls[1][0].id == "a"
    assert pairing.calls[0][0].is_renamed


ids = st.sampled_from(["a", "b", "", "ä b", "x" * 70])
sessions = st.lists(st.lists(ids, min_size=1, max_size=3).map(lambda names: calls(*names)) | ids.map(result) | st.just(said()))


@given(sessions)
def test_every_result_has_one_place_and_every_id_is_valid_and_unique(messages):
    pairing = pair(messages, lambda name: bool(VALID(name)))
    results = {index for index, message in enumerate(messages) if message["role"] == "tool"}
    placed = [*pairing.answered, *pairing.orphans, *pairing.doubled]
    assert sorted(placed) == sorted(results)
    written = [call.id for of_message in pairing.calls.values() for call in of_message]
    assert all(map(VALID, written))
    assert len(written) == len(set(written))
    assert pair(messages, lambda name: bool(VALID(name))) == pairing
