"""Every bug that tools like ours had, and every trap of the formats, has a test here, or a reason why none is needed."""

import ast
import tomllib
from pathlib import Path
from typing import Any

import pytest

AGENTS = {"claude-code", "codex", "dsh", "gemini", "hermes", "opencode"}


@pytest.fixture(scope="module")
def known(repository: Path) -> dict[str, list[dict[str, Any]]]:
    return tomllib.loads((repository / "tests" / "known_bugs.toml").read_text("utf-8"))


def test_each_bug_is_named_once_and_has_a_test_or_a_reason(known):
    names = [name for bug in known["bug"] for name in bug["names"]]
    assert len(names) == len(set(names))
    assert [bug["names"] for bug in known["bug"] if not bug.get("tests") and not bug.get("why_not")] == []


def test_each_trap_has_a_test_for_each_agent(known):
    assert [trap["name"] for trap in known["trap"] if not trap.keys() >= AGENTS] == []


def test_each_test_that_is_named_exists(known, repository, tree_of):
    named = [test for bug in known["bug"] for test in bug.get("tests", ())]
    named += [test for trap in known["trap"] for agent, tests in trap.items() if agent != "name" for test in tests]
    assert [test for test in sorted(set(named)) if not _exists(test, repository, tree_of)] == []


def _exists(test: str, repository: Path, tree_of: Any) -> bool:
    path, _, name = test.partition("::")
    if not (repository / "tests" / path).is_file():
        return False
    found = {getattr(node, "name", "") for node in tree_of(Path("tests") / path).body}
    found |= {
        target.id
        for node in tree_of(Path("tests") / path).body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return name in found
