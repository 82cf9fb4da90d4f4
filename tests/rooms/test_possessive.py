"""Possessive repeats find the same in every Python, so that what is redacted does not depend on the interpreter."""

import random
import re

import pytest

from eventstore.possessive import possessive

GROUPS = {
    "alternatives": (r"[a-z0-9]|\.(?=[a-z0-9])", "{4,}", "a1.=-"),
    "nested": (r"\\{1,3}+[nr]|[ \n>]", "{1,6}", "\\nr >"),
    "ahead": (r"-(?!--)[^-]*+", "*", "-ab"),
    "optional": (r":[ ]{0,2}[a-z]{0,4}(?==)", "?", ": a="),
}


@pytest.mark.parametrize("name", GROUPS)
def test_what_is_taken_is_what_a_greedy_repeat_takes_first(name: str):
    """What a lookahead has taken is never given back, in any version."""
    group, times, letters = GROUPS[name]
    before, after = "x?", "(?:a|=)?"
    ours = re.compile(before + possessive(group, times) + after)
    taken = re.compile(rf"{before}(?=(?P<taken>(?:{group}){times}))(?P=taken){after}")
    draw = random.Random(name)
    matches = 0
    for _ in range(20_000):
        text = "".join(draw.choice(letters + "x") for _ in range(draw.randint(0, 12)))
        found = [match.span() for match in ours.finditer(text)]
        assert found == [match.span() for match in taken.finditer(text)], text
        matches += sum(end > start + 1 for start, end in found)
    assert matches > 1000


def test_nothing_is_given_back():
    assert re.fullmatch(possessive("a|ab", "+") + "b?", "aab")
    assert not re.fullmatch(possessive("a|b", "+") + "b", "aab")
