"""The embedded PostgreSQL runs under root and under an ordinary user, and opens no door on the way."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from eventstore import embedded_engine
from eventstore.embedded import EmbeddedPostgres
from eventstore.embedded_engine import Wheel, find_wheel
from eventstore.errors import EmbeddedUnavailable

NOBODY = 65534
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="not root: only root can run the engine as someone else")

AS_NOBODY = """
import encodings.idna, os, sys, urllib.parse
from pathlib import Path
import psycopg
from eventstore import embedded, embedded_engine
wheel = embedded_engine.Wheel("copied", *(Path(path) for path in sys.argv[2:]))
embedded_engine.find_wheel = lambda: wheel
os.setgroups([]); os.setgid(65534); os.setuid(65534)
with embedded.EmbeddedPostgres(Path(sys.argv[1])) as postgres, psycopg.connect(postgres.start()) as connection:
    assert connection.execute("select 1").fetchone() == (1,)
"""


def copied_wheel(folder: Path) -> Wheel:
    """The engine's wheel once more, in a folder of ours."""
    wheel = find_wheel()
    package = folder / wheel.package.name
    install = package / wheel.install.name
    shutil.copytree(wheel.install, install, symlinks=True)
    libraries = folder / wheel.libraries.name
    if wheel.libraries.exists():
        shutil.copytree(wheel.libraries, libraries, symlinks=True)
    return Wheel(wheel.name, package, install, libraries)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@root_only
def test_under_root_an_unprivileged_account_runs_it_and_owns_nothing_but_the_cluster(engine_folder):
    with EmbeddedPostgres(engine_folder / "hub") as postgres:
        postgres.start()
        base = engine_folder / "hub" / "postgres"
        pid = int((base / "cluster" / "postmaster.pid").read_text().split()[0])
        assert Path(f"/proc/{pid}").stat().st_uid == (base / "cluster").stat().st_uid != 0
        assert {path.name for path in base.iterdir() if path.stat().st_uid != 0} == {"cluster"}
        assert mode(base / "cluster") == 0o700
        assert {mode(base / name) for name in ("pgpass", "log", "start.lock", "users.lock", "running.lock")} == {0o600}
        assert mode(engine_folder) == 0o711


@root_only
def test_under_root_an_engine_out_of_reach_is_copied_once(engine_folder, monkeypatch):
    hidden = engine_folder / "hidden"
    hidden.mkdir(mode=0o700)
    wheel = copied_wheel(hidden)
    monkeypatch.setattr(embedded_engine, "find_wheel", lambda: wheel)
    copies: set[tuple[Path, int]] = set()
    for _ in range(2):
        with EmbeddedPostgres(engine_folder / "hub") as postgres, psycopg.connect(postgres.start()) as connection:
            connection.execute("create extension if not exists pg_trgm")
            copies.update((path, path.stat().st_ino) for path in (engine_folder / "hub" / "postgres").glob("engine-*"))
    assert [path.name for path, _ in copies] == [f"engine-{wheel.name}"]
    assert mode(hidden) == 0o700


@root_only
def test_under_root_a_directory_out_of_reach_is_refused_and_left_as_it_is(engine_folder):
    private = engine_folder / "home"
    private.mkdir(mode=0o700)
    with pytest.raises(EmbeddedUnavailable, match="cannot reach") as refused:
        EmbeddedPostgres(private / "hub").start()
    assert "TASUKI_DATA_DIR" in refused.value.detail
    assert mode(private) == 0o700


@root_only
def test_under_root_a_private_folder_is_opened_for_passing_only_while_it_is_surely_ours(engine_folder):
    ours, shared = engine_folder / "ours", engine_folder / "shared"
    for folder in (ours, shared):
        folder.mkdir(mode=0o700)
    (shared / "diary").touch()
    with EmbeddedPostgres(ours) as postgres:
        postgres.start()
    with pytest.raises(EmbeddedUnavailable, match="cannot reach"):
        EmbeddedPostgres(shared).start()
    assert (mode(ours), mode(shared)) == (0o711, 0o700)


@root_only
def test_an_ordinary_user_runs_it_as_himself(engine_folder):
    wheel = copied_wheel(engine_folder)
    hub = engine_folder / "hub"
    hub.mkdir(mode=0o700)
    os.chown(hub, NOBODY, NOBODY)
    places = [wheel.package, wheel.install, wheel.libraries]
    done = subprocess.run([sys.executable, "-c", AS_NOBODY, hub, *places], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert mode(hub) == 0o700
    with EmbeddedPostgres(hub) as postgres, psycopg.connect(postgres.start()) as by_root_later:
        assert by_root_later.execute("select 1").fetchone() == (1,)


def test_importing_it_needs_nothing_that_only_posix_has():
    script = (
        "import sys; sys.modules.update(fcntl=None, pwd=None); sys.platform = 'win32'\n"
        "from pathlib import Path\n"
        "from eventstore.embedded import EmbeddedPostgres\n"
        "try: EmbeddedPostgres(Path('hub')).start()\n"
        "except Exception as refused: print(refused.code, refused)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert "embedded_unavailable" in done.stdout, done.stderr
    assert "TASUKI_DSN" in done.stdout
