"""The table of docs/adapters.md that `make relay-test` makes: which sessions real agents went on with, begun where.

It is written by a whole run and by nothing else, so it says no more than what was seen.
"""

import re
from collections.abc import Mapping

from adapters_doc import NAMES

AGENTS = ("opencode", "dsh", "hermes", "codex", "gemini")
PAIRS = tuple((begun, goes_on) for begun in NAMES for goes_on in AGENTS if begun != goes_on)
FAILED = "**no**"
_section = re.compile(r"(<!-- made by make relay-test -->\n).*?(<!-- end -->)", re.DOTALL)
_row = re.compile(r"^\| (.+) \|$", re.MULTILINE)


def with_pairs(document: str, versions: Mapping[str, str], proofs: Mapping[tuple[str, str], str]) -> str:
    """Return the document with what a run has shown: a proof for each pair, or that there was none."""
    head = ["begun in ↓, goes on in →", *(f"{NAMES[agent]} {versions[agent]}" for agent in AGENTS)]
    rows = [head, ["---"] * len(head)]
    rows += [
        [name, *(proofs.get((begun, agent), FAILED) if begun != agent else "" for agent in AGENTS)] for begun, name in NAMES.items()
    ]
    table = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    made, count = _section.subn(lambda match: f"{match[1]}\n{table}\n{match[2]}", document)
    assert count == 1, "there is one place for it"
    return made


def versions_in(document: str) -> dict[str, str]:
    """The versions that the table names."""
    head = _rows(document)[0][1:]
    return {agent: cell.removeprefix(NAMES[agent]).strip() for agent, cell in zip(AGENTS, head, strict=True)}


def proofs_in(document: str) -> dict[tuple[str, str], str]:
    """What the table says of each pair."""
    rows = {row[0]: row[1:] for row in _rows(document)[2:]}
    return {(begun, agent): rows[NAMES[begun]][AGENTS.index(agent)] for begun, agent in PAIRS if NAMES[begun] in rows}


def _rows(document: str) -> list[list[str]]:
    found = _section.search(document)
    assert found is not None
    return [row.split(" | ") for row in _row.findall(found[0])]
