"""The command line as a whole: a verb is found in its own file, and loads that one alone."""

import argparse
import re
import subprocess
import sys
from importlib import import_module

import pytest

from cli.main import GROUPS, parser

NOT_LOADED = {
    "sessions": ["adapters.registry", "cli.convert", "mcp"],
    "convert": ["httpx2", "cli.push"],
    "serve": ["httpx2", "adapters.registry"],
}


@pytest.mark.parametrize("group", GROUPS)
def test_each_file_adds_the_verbs_that_are_looked_for_in_it(group):
    verbs = argparse.ArgumentParser().add_subparsers()
    import_module(f"cli.{group}").register(verbs)
    assert tuple(verbs.choices) == GROUPS[group]


def test_the_help_shows_every_verb():
    told = re.findall(r"^    (\S+)", parser().format_help(), re.MULTILINE)
    assert [verb for verbs in GROUPS.values() for verb in verbs if verb not in told] == []


def test_what_is_no_verb_is_answered_with_those_that_are(cli_of, tmp_path):
    for wrong in (["sing"], []):
        refused = cli_of(tmp_path).run(*wrong)
        assert (refused.returncode, refused.stdout) == (2, "")
    assert "'sing'" in cli_of(tmp_path).run("sing").stderr


@pytest.mark.parametrize("verb", NOT_LOADED)
def test_a_verb_loads_only_what_it_takes(verb):
    script = f"import sys; from cli.main import parser; parser({verb!r}); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert [name for name in NOT_LOADED[verb] if name in loaded] == []
