"""The public MCP conformance suite: what fails is exactly what `expected.toml` says, with its reason, and so does the document.

The suite meets two servers. `fixture` has the fixed names that the suite calls, behind the hub's own transport, front and
process; `hub` is the hub with its own tools, so that what is asked of every server is asked of it too.
"""

import json
import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from itertools import product
from pathlib import Path

import pytest

RUNS = {
    "0.1.16": ("conformance/dist/index.js", "--suite", "all"),
    "2025-11-25": ("conformance-next/dist/index.js", "--requirements", "2025-11-25"),
    "2026-07-28": ("conformance-next/dist/index.js", "--requirements", "2026-07-28"),
}
TITLES = {
    "0.1.16": "0.1.16, all scenarios",
    "2025-11-25": "0.2.0-alpha.12, required by 2025-11-25",
    "2026-07-28": "0.2.0-alpha.12, required by 2026-07-28",
}
SERVERS = ("fixture", "hub")
HERE = Path(__file__).parent
DOCUMENT = HERE.parents[1] / "docs" / "protocol.md"
FOLDER = re.compile(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z")
SHORT = {"FAILURE", "WARNING"}


@dataclass(frozen=True)
class Check:
    """One thing that a scenario looked at, and what became of it: SUCCESS, FAILURE, WARNING, SKIPPED, INFO."""

    scenario: str
    name: str
    status: str
    said: str

    @property
    def path(self) -> str:
        return f"{self.scenario}/{self.name}"


@dataclass(frozen=True)
class Expected:
    """Checks that fall short in some runs, by patterns of `scenario/check`, and why."""

    reason: str
    servers: tuple[str, ...]
    runs: tuple[str, ...]
    checks: tuple[str, ...]


def expected() -> list[Expected]:
    entries = tomllib.loads((HERE / "expected.toml").read_text("utf-8"))["expected"]
    return [
        Expected(one["reason"], tuple(one.get("servers", SERVERS)), tuple(one.get("runs", RUNS)), tuple(one["checks"]))
        for one in entries
    ]


@pytest.fixture(scope="module")
def results(node, open_hubs, tmp_path_factory):
    """Run the suite against a server once, `results("fixture", "0.1.16")`, and return its checks."""

    @cache
    def run(server: str, name: str) -> list[Check]:
        script, *options = RUNS[name]
        home, out = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("results")
        done = node(script, "server", "--url", f"{open_hubs[server].url}/mcp", *options, "-o", str(out), home=home)
        assert "=== SUMMARY ===" in done.stdout, done.stdout[-2000:] + done.stderr[-2000:]
        return [check for path in sorted(out.glob("*/checks.json")) for check in _checks(path)]

    return run


def _checks(path: Path) -> list[Check]:
    scenario = FOLDER.fullmatch(path.parent.name)
    assert scenario is not None, path
    return [
        Check(scenario[1], one["id"], one["status"], str(one.get("errorMessage") or ""))
        for one in json.loads(path.read_text("utf-8"))
    ]


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("server", SERVERS)
def test_what_falls_short_is_what_is_expected_to(results, server, run):
    checks = results(server, run)
    patterns = [pattern for one in expected() if server in one.servers and run in one.runs for pattern in one.checks]

    surprises = [f"{c.path}: {c.status} {c.said[:300]}" for c in checks if c.status in SHORT and not _any(patterns, c.path)]
    passing = [
        f"{scenario} ({pattern}): take it out of expected.toml" for pattern in patterns for scenario in _passing(checks, pattern)
    ]

    assert surprises == []
    assert passing == []


def test_every_expectation_is_met_somewhere(results):
    unmet = [
        f"{pattern}: {one.reason}"
        for one in expected()
        for pattern in one.checks
        if not any(
            check.status in SHORT and fnmatchcase(check.path, pattern)
            for server, run in product(one.servers, one.runs)
            for check in results(server, run)
        )
    ]
    assert unmet == []


def test_the_document_says_how_it_stands(results):
    section = "\n".join(_section(results))
    assert section in DOCUMENT.read_text("utf-8"), f"docs/protocol.md should hold:\n\n{section}"


def _any(patterns: list[str], path: str) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in patterns)


def _passing(checks: list[Check], pattern: str) -> list[str]:
    """The scenarios of which all that the pattern names passes."""
    by_scenario: dict[str, set[str]] = {}
    for check in checks:
        if fnmatchcase(check.path, pattern):
            by_scenario.setdefault(check.scenario, set()).add(check.status)
    return [scenario for scenario, statuses in by_scenario.items() if "SUCCESS" in statuses and not statuses & SHORT]


def _section(results) -> list[str]:
    """The tables of the document: how many checks pass against the fixture, and why anything falls short."""
    lines = ["| suite | pass | fail | warn |", "|---|---|---|---|"]
    for run, title in TITLES.items():
        counts = Counter(check.status for check in results("fixture", run))
        lines.append(f"| {title} | {counts['SUCCESS']} | {counts['FAILURE']} | {counts['WARNING']} |")
    lines += ["", "| falls short | in | against | why |", "|---|---|---|---|"]
    for one in expected():
        scenarios = dict.fromkeys(pattern.partition("/")[0] for pattern in one.checks)
        names = ", ".join(f"`{name}`" for name in scenarios)
        lines.append(f"| {names} | {', '.join(one.runs)} | {', '.join(one.servers)} | {one.reason} |")
    return lines
