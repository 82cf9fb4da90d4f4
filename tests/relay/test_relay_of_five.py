"""One task goes through the hands of five agents: each goes on with what the one before said, and the hub has it all in order.

Each leg is a message, a tool call that the agent really makes, and an answer. Between them there is nothing but the hub.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hubs import running_hub
from relay_team import Team
from scripted_model import ANSWER
from shown import Said, assert_arrived, said_in, shown_to

QUOTES = '"'  # in which `opencode run` puts what it is told on its command line
ORDER = ("opencode", "dsh", "hermes", "codex", "gemini")


@pytest.fixture
def team(database: str, tmp_path: Path) -> Iterator[Team]:
    with ExitStack() as stack:
        hub = stack.enter_context(running_hub(database, redaction="off"))
        yield Team(hub, tmp_path, stack, "relay")


def prompt_of(leg: int) -> str:
    return f"Leg {leg}: carry the baton on."


def command_of(leg: int) -> str:
    return f"printf 'baton-%s' {leg}"


def assert_legs(said: list[Said], legs: int) -> None:
    """What was said are these legs, in order, and no more."""
    spoken = [one.text for one in said if one.kind == "user"]
    wanted = ["".join(prompt_of(leg).split()) for leg in range(legs)]
    assert [text.strip(QUOTES) for text in spoken] == wanted
    calls = [json.loads(one.text) for one in said if one.kind == "call"]
    assert [command_of(leg) in call.values() for leg, call in enumerate(calls)] == [True] * legs
    results = [one.text for one in said if one.kind == "result"]
    assert [f"baton-{leg}" in result for leg, result in enumerate(results)] == [True] * legs
    assert [one.kind for one in said] == ["user", "assistant", "call", "result", "assistant"] * legs


def test_a_task_goes_through_five_agents_and_is_whole_and_in_order(team):
    session, ids, homes = "", {}, {}
    for leg, name in enumerate(ORDER):
        agent = team.agent(name)
        if leg == 0:
            session = team.begun(name, prompt_of(leg), command_of(leg))
        else:
            before = said_in(team.messages(name, session))
            ids[name] = team.pulled(name, session)
            agent.will_call(command_of(leg))
            assert ANSWER in agent.go_on(ids[name], prompt_of(leg))
            assert_arrived(before, shown_to(agent.requests, prompt_of(leg)))
            session = team.pushed(name, ids[name])["session_id"]
        homes[name] = session
        assert_legs(said_in(team.messages(name, session)), leg + 1)
    for leg, name in list(enumerate(ORDER))[1:]:
        again = team.pushed(name, ids[name])
        assert (again["session_id"], again["appended"]) == (homes[name], 0), "the hub has all that is in the store"
        alone = team.pushed(name, ids[name], "elsewhere")["session_id"]
        assert_legs(said_in(team.messages(name, alone)), leg + 1)
