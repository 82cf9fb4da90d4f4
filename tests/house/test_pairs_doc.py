"""Which agents really go on with whose sessions stands in docs/adapters.md, as a run of `make relay-test` saw it: all pairs."""

import re

from pairs_doc import AGENTS, PAIRS, proofs_in, versions_in


def test_every_pair_is_proven_at_the_versions_that_are_installed(repository):
    document = (repository / "docs" / "adapters.md").read_text("utf-8")
    proofs = proofs_in(document)
    assert set(proofs) == set(PAIRS)
    assert len(PAIRS) == 25
    assert [pair for pair, proof in proofs.items() if not re.fullmatch(r"\d+ texts, \d+ calls, \d+ results", proof)] == []
    makefile = (repository / "Makefile").read_text("utf-8")
    pins = dict(re.findall(r"^([A-Z]+) := \S+?(?:@|==)(\d\S*)", makefile, re.MULTILINE))
    assert versions_in(document) == {agent: pins[agent.upper()] for agent in AGENTS}
