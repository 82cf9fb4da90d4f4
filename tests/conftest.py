"""What every test may ask for: a PostgreSQL, a database of its own, the corpus, and a program that may be missing.

A test that wants what is not here is skipped, and the end of the run names why. With TASUKI_TEST_STRICT=1, as CI runs
it, such a skip fails the run; only the corpus may be away.
"""

import os
import shutil
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from eventstore.embedded import EmbeddedPostgres

REPOSITORY = Path(__file__).resolve().parent.parent
STRICT = os.environ.get("TASUKI_TEST_STRICT") == "1"
NO_CORPUS = "no corpus of real sessions at "
TEMPLATE = "tasuki_template"
SMALL = {"shared_buffers": "64MB", "max_connections": "300"}
_databases = count(1)

# A job that a shell started in the background ignores it, and so would every program under test.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    """The DSN of a superuser on the PostgreSQL of this run; it forgets what a crash of the machine would."""
    with _reachable_folder() as folder, EmbeddedPostgres(folder, fsync=False, settings=SMALL) as postgres:
        yield postgres.start()


@pytest.fixture
def make_cluster(_made_cluster: Path) -> Iterator[Callable[..., EmbeddedPostgres]]:
    """Start PostgreSQLs of the test's own, `make_cluster(fsync=True, **settings)`, to be killed and started again."""
    with ExitStack() as stack:

        def make(*, fsync: bool = True, **settings: str) -> EmbeddedPostgres:
            folder = stack.enter_context(_copy_of(_made_cluster))
            return stack.enter_context(EmbeddedPostgres(folder, fsync=fsync, settings={**SMALL, **settings}))

        yield make


@pytest.fixture
def engine_folder() -> Iterator[Path]:
    """A new folder that the account of an embedded PostgreSQL can reach, unlike pytest's own `tmp_path` under root."""
    with _reachable_folder() as folder:
        yield folder


@pytest.fixture
def made_folder(_made_cluster: Path) -> Iterator[Path]:
    """Such a folder in which an embedded PostgreSQL has run and was stopped."""
    with _copy_of(_made_cluster) as folder:
        yield folder


@pytest.fixture(scope="session")
def _made_cluster() -> Iterator[Path]:
    """What each test that is not about making a cluster has a copy of: to make one takes a second of work."""
    with _reachable_folder() as folder:
        with EmbeddedPostgres(folder, fsync=False):
            pass
        yield folder


@pytest.fixture
def empty_database(cluster: str) -> Iterator[str]:
    """The DSN of a database with nothing in it."""
    with _new_database(cluster, "template0") as dsn:
        yield dsn


@pytest.fixture
def database(cluster: str, _template: str) -> Iterator[str]:
    """The DSN of a migrated database that only this test has."""
    with _new_database(cluster, _template) as dsn:
        yield dsn


@pytest.fixture
def second_database(cluster: str, _template: str) -> Iterator[str]:
    """The DSN of another one, for a test that compares two hubs."""
    with _new_database(cluster, _template) as dsn:
        yield dsn


@pytest.fixture(scope="module")
def module_database(cluster: str, _template: str) -> Iterator[str]:
    """The DSN of a migrated database that the tests of one file share."""
    with _new_database(cluster, _template) as dsn:
        yield dsn


@pytest.fixture(scope="session")
def shared_database(cluster: str, _template: str) -> Iterator[str]:
    """The DSN of a migrated database in which tests of many files have projects of their own."""
    with _new_database(cluster, _template) as dsn:
        yield dsn


@pytest.fixture(scope="session")
def _template(cluster: str) -> str:
    from sql.migrate import migrate

    with psycopg.connect(cluster, autocommit=True) as admin:
        admin.execute(f"create database {TEMPLATE} template template0")
    migrate(make_conninfo(cluster, dbname=TEMPLATE))
    return TEMPLATE


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real sessions, one folder an agent."""
    folder = Path(os.environ.get("TASUKI_CORPUS") or REPOSITORY.parent / "shared" / "corpus")
    if not folder.is_dir():
        pytest.skip(f"{NO_CORPUS}{folder}: set TASUKI_CORPUS")
    return folder


@contextmanager
def _new_database(admin_dsn: str, template: str) -> Iterator[str]:
    name = f"test_{next(_databases)}"
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        admin.execute(f"create database {name} template {template} strategy file_copy")
    try:
        yield make_conninfo(admin_dsn, dbname=name)
    finally:
        with psycopg.connect(admin_dsn, autocommit=True) as admin:
            admin.execute(f"drop database {name} with (force)")


@contextmanager
def _copy_of(made: Path) -> Iterator[Path]:
    with _reachable_folder() as folder:
        subprocess.run(["cp", "-a", made / "postgres", folder], check=True)  # owners too
        yield folder


@contextmanager
def _reachable_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="tasuki-test-"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("needs"):
        _require(*marker.args, **marker.kwargs)


def _require(program: str, package: str) -> None:
    # Debian puts daemons where an ordinary user's PATH does not look.
    if shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin") is None:
        pytest.skip(f"no {program}: apt-get install {package}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    if STRICT and _skips(session.config, but=NO_CORPUS) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    skips = _skips(config)
    if skips:
        terminalreporter.section("not run")
        for reason, number in sorted(skips.items()):
            terminalreporter.line(f"{number:4} skipped: {reason}")
    if STRICT and _skips(config, but=NO_CORPUS):
        terminalreporter.line("TASUKI_TEST_STRICT=1: these skips fail the run", red=True)


def _skips(config: pytest.Config, but: str | None = None) -> Counter[str]:
    """Count the skipped tests by reason, leaving out reasons that begin with `but`."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    reports = reporter.stats.get("skipped", []) if reporter else []
    reasons = (report.longrepr[2].removeprefix("Skipped: ") for report in reports)
    return Counter(reason for reason in reasons if but is None or not reason.startswith(but))
