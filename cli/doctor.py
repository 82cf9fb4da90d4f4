"""Doctor: what stands in the way of a working hub here, one line each, with what to do about it.

It opens no database: what a hub knows is asked of the hub, and where none answers, only this host is looked at.
"""

import argparse
import importlib.util
import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from cli.address import HubUnreachable, is_loopback
from cli.client import Hub
from cli.stores import claude_home
from cli.terminal import Screen, counted
from cli.verbs import add_verb, hub_of
from eventstore.embedded_engine import choose_account, find_wheel
from eventstore.errors import EmbeddedUnavailable, StoreError, Unauthorized
from eventstore.settings import Settings, load_settings

PYTHON_MIN = (3, 11)
DAYS_DEFAULT, DAYS_FEW, DAYS_ADVISED = 30, 30, 3650
_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}
_IS_POSIX = os.name == "posix"

Status = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, how it is, and what to do about it ("" for nothing)."""

    name: str
    status: Status
    detail: str
    advice: str = ""


def register(verbs: Any) -> None:
    """Add the verb."""
    add_verb(
        verbs,
        "doctor",
        run_doctor,
        summary="look what stands in the way",
        more="Look at this host and at the hub, and say what is wrong and what to do. Exit code 1 if something does not work.",
        examples=["tasuki doctor", "tasuki doctor --json", "TASUKI_URL=https://hub.example tasuki doctor"],
    )


def run_doctor(options: argparse.Namespace) -> int:
    screen = Screen()
    found: list[Finding] = []
    for finding in _look(options):
        found.append(finding)
        if not options.json:
            _tell(screen, finding)
    is_ok = all(finding.status != "fail" for finding in found)
    if options.json:
        screen.line(json.dumps({"ok": is_ok, "checks": [asdict(finding) for finding in found]}))
    return 0 if is_ok else 1


def _tell(screen: Screen, finding: Finding) -> None:
    head = screen.styled(f"{finding.status:<4}", _STYLES[finding.status])
    screen.line(f"{head}  {finding.name:<14} {finding.detail}")
    if finding.advice:
        screen.block(finding.advice, 21, "dim")


def _look(options: argparse.Namespace) -> Iterator[Finding]:
    settings = load_settings(os.environ)
    yield _python()
    yield from _data_dir(settings)
    yield _database(settings)
    yield _redaction(settings)
    yield _claude_code(claude_home())
    with hub_of(options) as hub:
        yield from _hub(hub, is_named=bool(options.url or os.environ.get("TASUKI_URL")))


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < PYTHON_MIN:
        return Finding("python", "fail", version, "Tasuki needs Python 3.11 or newer.")
    return Finding("python", "ok", version)


def _data_dir(settings: Settings) -> Iterator[Finding]:
    folder, token = settings.data_path, settings.token_path
    try:
        mode = folder.stat().st_mode
    except FileNotFoundError:
        yield Finding("data", "ok", f"{folder} is not there yet; the first `tasuki serve` makes it")
        return
    except OSError as error:
        advice = "Use the account that the hub runs as, or another folder (TASUKI_DATA_DIR)."
        yield Finding("data", "fail", f"{folder}: {error.strerror}", advice)
        return
    if not stat.S_ISDIR(mode) or not os.access(folder, os.W_OK):
        yield Finding("data", "fail", f"{folder} is no folder that you can write to", "Set TASUKI_DATA_DIR to one that is.")
    elif _IS_POSIX and mode & stat.S_IWOTH:
        yield Finding("data", "fail", f"{folder} can be written by everyone", f"chmod o-w {folder}")
    else:
        yield Finding("data", "ok", str(folder))
    yield _token(token)


def _token(path: Path) -> Finding:
    try:
        mode = path.stat().st_mode
        text = path.read_text("ascii").strip()
    except FileNotFoundError:
        return Finding("token", "ok", f"none in {path} yet; the first `tasuki serve` makes it")
    except (OSError, UnicodeDecodeError):
        return Finding("token", "fail", f"{path} cannot be read", "Set TASUKI_TOKEN, or use the account that the hub runs as.")
    if not text:
        return Finding("token", "fail", f"{path} is empty", f"Remove {path}: the next `tasuki serve` makes a token.")
    if _IS_POSIX and mode & 0o077:
        shown = f"{path} has mode {stat.S_IMODE(mode):04o}: others can read it"
        return Finding("token", "fail", shown, f"chmod 600 {path}")
    return Finding("token", "ok", f"{path}, for your eyes only" if _IS_POSIX else str(path))


def _database(settings: Settings) -> Finding:
    """The PostgreSQL that `tasuki serve` would use; whether it answers is for a hub to say."""
    if settings.dsn:
        return Finding("postgresql", "ok", "the one of TASUKI_DSN")
    advice = "Set TASUKI_DSN to a PostgreSQL 14 or newer."
    if not _IS_POSIX:
        return Finding("postgresql", "warn", "there is no embedded one for Windows; a hub here needs its own", advice)
    try:
        wheel = find_wheel()
        account = choose_account(settings.data_path / "postgres")
    except EmbeddedUnavailable as error:
        return Finding("postgresql", "fail", error.detail, advice)
    if account.uid is None and not account.can_execute(wheel.install / "bin" / "postgres"):
        return Finding("postgresql", "fail", f"{wheel.name} does not run on this system", advice)
    return Finding("postgresql", "ok", f"{wheel.name}" + (f", run as {account.name}" if account.name else ""))


def _redaction(settings: Settings) -> Finding:
    if not settings.redaction:
        return Finding("redaction", "warn", "a hub started here stores secrets as they come", "Take TASUKI_REDACTION=off away.")
    if importlib.util.find_spec("redact_secret") is None:
        return Finding("redaction", "warn", "only our own rules; redact-secret is not installed", "pip install redact-secret")
    return Finding("redaction", "ok", "our own rules and redact-secret")


def _claude_code(home: Path) -> Finding:
    """Claude Code deletes transcripts after 30 days unless it is told otherwise."""
    if not home.is_dir():
        return Finding("claude-code", "ok", f"not on this host ({home})")
    path = home / "settings.json"
    try:
        text = path.read_text("utf-8-sig")
        settings = json.loads(text)
    except FileNotFoundError:
        text, settings = "", {}
    except (OSError, ValueError):
        return Finding("claude-code", "warn", f"{path} cannot be read", "It must be a JSON object.")
    line = f'"cleanupPeriodDays": {DAYS_ADVISED}'
    edit = f"Add {line} to the object in {path}" if text.strip() else f"Write {{{line}}} to {path}"
    if not isinstance(settings, dict) or "cleanupPeriodDays" not in settings:
        detail = f"deletes transcripts after {DAYS_DEFAULT} days: no cleanupPeriodDays"
        return Finding("claude-code", "warn", detail, f"{edit}. What was pushed stays in the hub either way.")
    days = settings["cleanupPeriodDays"]
    if not isinstance(days, int) or days <= DAYS_FEW:
        return Finding("claude-code", "warn", f"deletes transcripts after {days!r} days", f"Set {line} in {path}.")
    return Finding("claude-code", "ok", f"keeps transcripts for {counted(days, 'day')}")


def _hub(hub: Hub, is_named: bool) -> Iterator[Finding]:
    try:
        health = hub.get("/healthz").value
    except HubUnreachable as error:
        yield Finding("hub", "fail" if is_named else "warn", f"none answers at {hub.url}", error.detail.partition("). ")[2])
        return
    except StoreError as error:
        yield Finding("hub", "fail", error.detail)
        return
    if is_loopback(hub.url) or hub.url.startswith("https:"):
        yield Finding("hub", "ok", hub.url)
    else:
        yield Finding("hub", "warn", f"{hub.url}: token and sessions cross the network in clear", "Put TLS before the hub.")
    yield from _answers(hub)
    yield _live(health)
    if health.get("redaction") == "off":
        yield Finding("hub redaction", "warn", "the hub stores secrets as they come", "Start it without TASUKI_REDACTION=off.")


def _answers(hub: Hub) -> Iterable[Finding]:
    try:
        hub.get("/readyz")
        yield Finding("hub database", "ok", "answers")
        found = hub.get("/v1/admin/log/check").value
    except Unauthorized as error:
        yield Finding("hub token", "fail", "not accepted", error.detail)
        return
    except StoreError as error:
        yield Finding("hub database", "fail", f"{error.detail} [{error.code}]", "Look at the hub's log and at its PostgreSQL.")
        return
    yield Finding("hub token", "ok", "accepted")
    if found["dense"]:
        yield Finding("log", "ok", f"dense, {counted(found['events'], 'event')}")
    else:
        detail = f"{counted(found['head_seq'] - found['events'], 'event')} missing, first {found['first_missing']}"
        yield Finding("log", "fail", detail, "Events were lost beneath the hub: restore the database from a backup.")


def _live(health: dict[str, Any]) -> Finding:
    if health["live"] == "notify":
        return Finding("live", "ok", "readers are woken by NOTIFY")
    advice = (
        "Readers see new messages up to a second late. A pooler between hub and PostgreSQL (pgbouncer in transaction mode) swallows"
        " NOTIFY: set TASUKI_LISTEN_DSN to a direct connection. On a replica this is as it must be."
    )
    return Finding("live", "warn", "readers poll: no NOTIFY arrives", advice)
