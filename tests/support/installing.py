"""A session in an agent's own store: put there with `tasuki pull --install`, and looked at from outside."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "tests" / "samples"
SAMPLE = SAMPLES / "claude_code" / "parallel.jsonl"
PARENT = "5e551017-9c1f-4a52-8f3e-2f6d0c6c1b11"
DATABASES = ("hermes", "opencode")


def tree(folder: Path) -> dict[str, bytes]:
    """Every file and folder below one, but the client's own records."""
    paths = sorted(path for path in folder.rglob("*") if "data" not in path.relative_to(folder).parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else b"" for path in paths}


def files_of(cli: Any, agent: str) -> list[Path]:
    """The sessions' files in a store that is made of files."""
    places = {"claude-code": ".claude", "codex": ".codex", "dsh": ".dsh"}
    return sorted(path for path in (cli.home / places[agent]).rglob("*") if ".jsonl" in path.name)


def store_of(cli: Any, agent: str) -> Path:
    """The database of an agent that has one."""
    places = {"hermes": ".hermes/state.db", "opencode": ".local/share/opencode/opencode.db"}
    return Path(cli.home / places[agent])


def rows(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All that a database says."""
    with closing(sqlite3.connect(path)) as database:
        names = [row[0] for row in database.execute("select name from sqlite_master where type = 'table' order by name")]
        return {name: database.execute(f"select * from '{name}'").fetchall() for name in names if name != "sqlite_sequence"}


def installed(cli: Any, session: str, agent: str, work: Path, *more: Any) -> Any:
    """Install it; what was told of that."""
    return cli.json("pull", session, "--to", agent, "--install", "--cwd", work, "--model", "acme/large", *more)


def refused(cli: Any, code: str, *arguments: Any) -> str:
    """Expect a pull to be refused with this code; return what it said."""
    done = cli.run("pull", *arguments)
    assert (done.returncode, f"[{code}]" in done.stderr) == (1, True), done.stderr
    assert "Traceback" not in done.stderr
    return str(done.stderr)


def with_subagent(cli: Any, project: str) -> str:
    """The hub's id of a session that started another."""
    folder = cli.home / "origin"
    (folder / PARENT / "subagents").mkdir(parents=True)
    shutil.copy(SAMPLE, folder / f"{PARENT}.jsonl")
    shutil.copy(SAMPLES / "claude_code" / "agent-a1.jsonl", folder / PARENT / "subagents")
    (folder / PARENT / "subagents" / "agent-a1.meta.json").write_text('{"agentType":"Explore","toolUseId":"toolu_1"}')
    return str(cli.json("push", folder / f"{PARENT}.jsonl", "--project", project)["session_id"])
