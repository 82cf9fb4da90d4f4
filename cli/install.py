"""Install: a session into an agent's own store, so that its own resume command goes on with it; and out again.

1. A session that is there is left alone, unless it is byte for byte what an earlier install left: then the new one takes its
   place.
2. The record of an install is kept before anything is put in place, with all that is needed to take it out.
3. What was put in is read back with our own reader, and is what was meant, or it is taken out again.

An agent more is a line in `INSTALLERS`; one whose sessions are files needs no more than that where `Written.path` says their place.
"""

import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from adapters.dsh.records import VERSION as DSH_VERSION
from adapters.written import Written
from cli.containers_dsh import home as dsh_home
from cli.containers_hermes import DATABASE, home_dir
from cli.containers_opencode import data_dir, store_of
from cli.install_claude_code import ClaudeCodeStore
from cli.install_codex import CodexStore
from cli.install_dsh import DshStore
from cli.install_gemini import GeminiStore
from cli.install_hermes import HermesStore
from cli.install_opencode import OpenCodeStore
from cli.install_store import GoneOn, NoSuchInstall, NotInstalled, SessionInTheWay, Store, UnsupportedStore
from cli.installs import Journal, Record, now
from cli.pull_session import Pulled
from cli.stores import claude_home
from cli.stores_codex import codex_home
from cli.stores_gemini import gemini_home

Environ = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Installer:
    """An agent's store, by environment and working directory, and the command that goes on with a session of it."""

    store: Callable[[Environ, str], Store]
    resume: tuple[str, ...]  # `{id}` stands for the session
    model: tuple[str, ...] = ()  # what is added where a model was named, as `{model}`
    version: str = ""  # of the agent to write for; "" for the newest, or that of a session that goes home


@dataclass(frozen=True, slots=True)
class Installed:
    """What is in the store now. `is_new`: was it put there just now; `left_out`, `notes`: as in a `Plan`."""

    store: str
    names: tuple[str, ...]
    messages: int
    is_new: bool
    left_out: list[str]
    notes: list[str]


def opencode_store(environ: Environ, cwd: str) -> Store:
    place = store_of(environ) or data_dir(environ) / (environ.get("OPENCODE_DB") or "opencode.db")
    if place.is_dir():
        raise UnsupportedStore(f"{place} is of OpenCode before 1.2, which kept no database: start a newer one there once.")
    return OpenCodeStore(place, cwd)


INSTALLERS: Mapping[str, Installer] = {
    "claude-code": Installer(lambda environ, cwd: ClaudeCodeStore(claude_home(environ), cwd), ("claude", "--resume", "{id}")),
    "codex": Installer(lambda environ, cwd: CodexStore(codex_home(environ)), ("codex", "resume", "{id}")),
    "dsh": Installer(lambda environ, cwd: DshStore(dsh_home(environ)), ("dsh", "tui", "--resume", "{id}"), version=DSH_VERSION),
    "gemini": Installer(lambda environ, cwd: GeminiStore(gemini_home(environ), cwd), ("gemini", "--resume", "{id}")),
    "hermes": Installer(lambda environ, cwd: HermesStore(home_dir(environ) / DATABASE), ("hermes", "--resume", "{id}")),
    "opencode": Installer(opencode_store, ("opencode", "-s", "{id}"), ("-m", "{model}")),
}


def install(
    journal: Journal, pulled: Pulled, written: Written, cwd: str, environ: Environ, *, is_strict: bool = False
) -> Installed:
    """Put a session into its agent's store on this host. `cwd`: where it is gone on with, a folder of this host;
    `is_strict`: all of it, or nothing.

    Raises SessionInTheWay, StoreHeld, UnsupportedStore, NotInstalled.
    """
    store = INSTALLERS[written.agent].store(environ, cwd)
    before = journal.find(written.agent, store.place, written.session_id)
    with store.held(is_to_write=True) as hold:
        plan = hold.plan(written)
        if not plan.meant:
            raise NotInstalled("There is no message in it that the agent would show.")
        if is_strict and plan.left_out:
            raise NotInstalled(f"The store cannot hold all of it: {plan.left_out[0]}.")
        there = hold.digest(plan.names)
        if there == plan.digest:
            return Installed(str(store.place), plan.names, len(plan.meant), False, plan.left_out, plan.notes)
        old = before if before and hold.digest(before.names) in before.digests else None
        if there and not old:
            raise SessionInTheWay(_in_the_way(written, before))
        undo = hold.undo_of(plan, old.undo if old else None)
        record = Record(
            agent=written.agent,
            store=str(store.place),
            session_id=pulled.session_id,
            native_id=written.session_id,
            head_seq=pulled.head_seq,
            messages=len(plan.meant),
            installed_at=now(),
            names=plan.names,
            digests=[*(old.digests if old else ()), *plan.half_done, plan.digest],
            undo=undo,
        )
        journal.save(record)
        hold.put(plan, old.undo if old else None)
    record = msgspec.structs.replace(record, digests=[*plan.half_done, plan.digest], undo=store.facts_after(undo))
    journal.save(record)
    if store.read_back(plan.names) != plan.meant:
        _take_out(journal, store, record)
        raise NotInstalled("What was read back from the store is not what was written. It was taken out again.")
    return Installed(str(store.place), plan.names, len(plan.meant), True, plan.left_out, plan.notes)


def undo(journal: Journal, agent: str, session: str, environ: Environ) -> tuple[Record, bool]:
    """Take out what the last install of a session put in, and return its record and whether it was there still.

    `session`: the hub's id or the agent's. Raises NoSuchInstall, GoneOn, StoreHeld, UnsupportedStore.
    """
    record = journal.newest(agent, session)
    if record is None:
        raise NoSuchInstall(f"No install of session {session[:80]!a} for {agent} is known on this host.")
    store = INSTALLERS[agent].store(environ, os.curdir)
    store.place = Path(record.store)
    return record, _take_out(journal, store, record)


def resume_command(agent: str, native_id: str, model: str) -> list[str]:
    """Return the command that goes on with a session."""
    installer = INSTALLERS[agent]
    words = (*installer.resume, *(installer.model if model else ()))
    return [word.format(id=native_id, model=model) for word in words]


def spelled(command: list[str], cwd: str) -> str:
    """A command as it is typed in a shell, from anywhere."""
    return f"cd {shlex.quote(cwd)} && {shlex.join(command)}"


def _take_out(journal: Journal, store: Store, record: Record) -> bool:
    with store.held(is_to_write=False) as hold:
        there = hold.digest(record.names)
        if there and there not in record.digests:
            raise GoneOn(
                f"{record.agent} has written to session {record.native_id} since it was installed. Nothing was taken out. Bring"
                f" what is new to the hub first (`tasuki push`), then delete the session in {record.agent} itself."
            )
        if there:
            hold.take(record.names, record.undo, record.digests)
        else:
            hold.sweep(record.names, record.undo)
    journal.remove(record)
    return bool(there)


def _in_the_way(written: Written, before: Record | None) -> str:
    what = f"{written.agent} has session {written.session_id} already, and "
    if before:
        what += "has gone on with it since it was installed. Bring what is new to the hub first (`tasuki push`)"
    else:
        what += "it is not the same"
    return f"{what}; it is left as it is. To have both, give --session-id an id of its own."
