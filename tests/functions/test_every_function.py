"""No SQL function is without a bug that a test of it, or the log machine, was seen to notice."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path

from log_bugs import BUGS
from planted import Bug, bugs_of, sql_functions

HERE = Path(__file__).parent


def planted() -> Iterator[Bug]:
    """Every bug that a test of this folder is run with."""
    for path in HERE.glob("test_*.py"):
        spec = importlib.util.spec_from_file_location(f"planted_in_{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        if path != Path(__file__):
            spec.loader.exec_module(module)
        for test in vars(module).values():
            if callable(test) and hasattr(test, "__dict__"):
                yield from bugs_of(test)


def test_every_function_of_the_folder_has_a_bug_planted_against_it():
    noticed = {bug.function for bug in [*planted(), *BUGS]}
    assert sorted(sql_functions().keys() - noticed) == [], "plant a bug, and write the test that it fails"


def test_every_bug_is_planted_in_a_function_that_there_is_at_a_place_that_it_has():
    functions = sql_functions()
    bugs = [*planted(), *BUGS]
    assert len(bugs) > 2 * len(functions)
    assert [str(bug) for bug in bugs if functions.get(bug.function, "").count(bug.right) != 1] == []
    assert [str(bug) for bug in bugs if bug.right == bug.wrong] == []
