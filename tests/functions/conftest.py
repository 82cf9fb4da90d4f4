"""Tests of SQL functions, each run once as it is and once more for every bug that is planted against it, where it must fail."""

from collections.abc import Generator, Iterator
from typing import Any

import pytest
from planted import Bug, bugs_of
from sql_log import SqlLog

LASTING = ["migrations", "installed", "identity", "projections"]
ONE_ROW = "archive_remote"  # of defaults, from the beginning


@pytest.fixture
def log(request: pytest.FixtureRequest, module_database: str) -> Iterator[SqlLog]:
    """A log of the test's own, spoken to in SQL: the tests of a file follow each other in one database, each in an empty log."""
    bug = getattr(request, "param", None)
    if bug:
        bug.plant(module_database)
    log = SqlLog(module_database)
    try:
        yield log
    finally:
        log.close()
        empty(module_database)
        if bug:
            bug.weed(module_database)


def empty(dsn: str) -> None:
    """Take out every event, token and note. To delete the few that a test made takes a hundredth of a truncate's time."""
    log = SqlLog(dsn)
    log.sql("set session_replication_role = replica")
    tables = log.sql("select tablename from pg_tables where schemaname = %s and not tablename = any (%s)", log.schema, LASTING)
    for (name,) in tables:
        log.sql(f"delete from {{}}.{name}")
    for (name,) in log.sql("select sequencename from pg_sequences where schemaname = %s", log.schema):
        log.sql(f"alter sequence {{}}.{name} restart")
    log.sql(f"insert into {{}}.{ONE_ROW} default values")
    log.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    bugs = bugs_of(metafunc.function)
    if bugs:
        metafunc.parametrize("log", [None, *bugs], ids=["right", *map(str, bugs)], indirect=True)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    bug = planted_in(pyfuncitem)
    if not bug:
        return (yield)
    try:
        yield
    except (Exception, pytest.fail.Exception):  # noqa: BLE001  # however it fails, it was noticed
        return True
    raise AssertionError(f"nobody noticed: {bug}")


def planted_in(item: pytest.Function) -> Bug | None:
    spec: Any = getattr(item, "callspec", None)
    bug = spec.params.get("log") if spec else None
    return bug if isinstance(bug, Bug) else None
