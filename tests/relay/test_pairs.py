"""A session begun in one agent goes on in another: pushed to a hub, pulled into the other's own store, resumed by its own command.

Each begins in the real agent (that of Claude Code is a transcript), with a tool call that it really makes. The other agent's model
is scripted, and tells what it was shown: all that was said before. A whole run writes the table of docs/adapters.md, where
TASUKI_WRITE_DOCS says so.
"""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hubs import running_hub
from pairs_doc import AGENTS, PAIRS, with_pairs
from real_agents import MARKER
from relay_team import Team
from scripted_model import ANSWER
from shown import Said, assert_arrived, said_in, shown_to

TRANSCRIPT = Path(__file__).parent.parent / "samples" / "claude_code" / "parallel.jsonl"
DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "adapters.md"
PROMPT = "Where is the baton?"
COMMAND = "printf 'baton-%s' 42"


class Begun:
    """Sessions that were begun, each once and before any other comes into that agent's store; and what was proven of them."""

    def __init__(self, team: Team) -> None:
        self.team = team
        self.proofs: dict[tuple[str, str], str] = {}
        self.tried: set[tuple[str, str]] = set()
        self._sessions: dict[str, str] = {}

    def session(self, agent: str, on: str) -> str:
        """The hub's id of the session that an agent began; a transcript's is pushed from host `on`."""
        if agent not in self._sessions:
            is_real = agent in AGENTS
            pushed = self.team.begun(agent, PROMPT, COMMAND) if is_real else self.team.host(on).pushed(TRANSCRIPT, "relay")
            self._sessions[agent] = pushed
        return self._sessions[agent]


@pytest.fixture(scope="module")
def begun(module_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Begun]:
    with ExitStack() as stack:
        hub = stack.enter_context(running_hub(module_database, redaction="off"))
        begun = Begun(Team(hub, tmp_path_factory.mktemp("pairs"), stack, "relay"))
        yield begun
        if os.environ.get("TASUKI_WRITE_DOCS") and begun.tried == set(PAIRS):
            versions = {name: begun.team.agent(name).version() for name in AGENTS}
            DOCUMENT.write_text(with_pairs(DOCUMENT.read_text("utf-8"), versions, begun.proofs), "utf-8")


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=[f"{source} to {target}" for source, target in PAIRS])
def test_a_session_begun_in_one_goes_on_in_the_other(begun, source, target):
    team, agent = begun.team, begun.team.agent(target)
    begun.session(target, target)
    session = begun.session(source, target)
    begun.tried.add((source, target))
    said = said_in(team.messages(target, session))
    kinds = Counter(one.kind for one in said)
    assert min(kinds[kind] for kind in ("user", "assistant", "call", "result")) >= 1
    if source in AGENTS:
        assert ["baton-42" in one.text for one in said if one.kind == "result"] == [True], "it made the call"
    native_id, before = team.pulled(target, session), len(agent.requests)
    assert ANSWER in agent.go_on(native_id, MARKER)
    assert_arrived([*said, Said("user", "".join(MARKER.split()))], shown_to(agent.requests[before:], MARKER))
    texts = kinds["user"] + kinds["assistant"]
    begun.proofs[source, target] = f"{texts} texts, {kinds['call']} calls, {kinds['result']} results"
