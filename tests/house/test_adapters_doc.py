"""Whoever asks what a session loses on its way finds in docs/adapters.md what the code says, no more and no less."""

import os

import pytest
from adapters_doc import FIELDS, with_tables
from field_probes import PROBES

from adapters.leaves import leaves, path_name
from adapters.registry import WRITERS

COMMAND = "TASUKI_WRITE_DOCS=1 .venv-dev/bin/python -m pytest -q tests/house/test_adapters_doc.py"


def test_the_tables_are_what_the_code_says(repository):
    path = repository / "docs" / "adapters.md"
    held = path.read_text("utf-8")
    made = with_tables(held)
    if os.environ.get("TASUKI_WRITE_DOCS"):
        path.write_text(made, "utf-8")
    elif held != made:
        pytest.fail(f"docs/adapters.md is not what the code says. Look at what changed, and commit it:\n{COMMAND}")


def test_every_agent_is_in_them_both_ways(repository):
    told = (repository / "docs" / "adapters.md").read_text("utf-8")
    assert set(FIELDS) == set(WRITERS) - {"messages"}
    assert told.count("\n### From ") == len(FIELDS)
    assert told.count("\n### ") == 2 * len(FIELDS)


def test_what_is_asked_for_stands_in_what_is_written():
    for probe in PROBES:
        said = {path_name(path) for message in probe.messages if message["role"] == probe.role for path, _ in leaves(message)}
        for asked in probe.paths:
            assert any(name == asked or name.startswith((f"{asked}.", f"{asked}[")) for name in said), (probe.what, asked)
