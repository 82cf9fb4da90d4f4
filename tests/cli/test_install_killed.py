"""An install or an undo that was killed anywhere is finished or taken back by the next, and leaves nothing behind."""

import subprocess
import sys
from typing import Any

import pytest
from installing import files_of, installed, tree, with_subagent

from cli import install_files


def test_an_install_that_was_killed_before_anything_was_put_in_place_is_done_again(cli, session, work):
    installed(cli, session, "claude-code", work)
    (file,) = (cli.home / ".claude").rglob("*.jsonl")
    content = file.read_bytes()
    file.unlink()
    assert installed(cli, session, "claude-code", work)["was_there"] is False
    assert file.read_bytes() == content
    file.unlink()
    assert cli.json("pull", session, "--to", "claude-code", "--undo")["undone"] is False


def test_an_install_that_was_killed_midway_is_finished_or_taken_out(cli, project, work):
    session = with_subagent(cli, project)
    killer = "import sys, os; import cli.install_files as files; put = files._place\n"
    killer += "files._place = lambda path, *a, **k: put(path, *a, **k) or path.name != 'agent-a1.jsonl' or os._exit(9)\n"
    killer += "import cli.main; sys.exit(cli.main.main(sys.argv[1:]))"
    command = ["pull", session, "--to", "claude-code", "--install", "--cwd", str(work)]
    for way_on in ([*command, "--json"], [*command[:4], "--undo"]):
        killed = subprocess.run([sys.executable, "-c", killer, *command], env=cli.env, cwd=cli.home, check=False)
        assert killed.returncode == 9
        assert {path.name for path in files_of(cli, "claude-code")} == {"agent-a1.jsonl"}
        cli.out(*way_on)
        assert len(files_of(cli, "claude-code")) == (2 if "--install" in way_on else 0)
        if "--install" in way_on:
            cli.out(*command[:4], "--undo")


def killed_before_its_first_file_is_in_place(cli: Any, *command: Any) -> None:
    killer = "import os, sys; import cli.install_files as room; room._link = lambda *a: os._exit(9)\n"
    killer += "import cli.main; sys.exit(cli.main.main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", killer, *map(str, command)], env=cli.env, cwd=cli.home, check=False)
    assert done.returncode == 9


@pytest.mark.parametrize("agent", ["claude-code", "codex", "dsh", "gemini"])
def test_an_install_that_was_killed_before_its_first_file_is_in_place_leaves_nothing_after_undo(cli, session, work, agent):
    before = tree(cli.home)
    killed_before_its_first_file_is_in_place(cli, "pull", session, "--to", agent, "--install", "--cwd", work)
    assert [path for path in cli.home.rglob("*") if path.name.endswith(".draft")]
    cli.out("pull", session, "--to", agent, "--undo")
    assert tree(cli.home) == before


@pytest.mark.parametrize("at", [1, 2])
@pytest.mark.parametrize("step", ["replace", "unlink"])
@pytest.mark.parametrize("way_on", ["--undo", "--install"])
def test_an_undo_that_was_killed_midway_is_finished_or_undone(cli, project, work, step, at, way_on):
    session = with_subagent(cli, project)
    before = tree(cli.home)
    cli.out("pull", session, "--to", "claude-code", "--install", "--cwd", work)
    whole = tree(cli.home)
    killer = f"import sys, os; from pathlib import Path; real = Path.{step}; count = []\n"
    killer += "def call(self, *a, **k):\n    if '.undo' in f'{self} {a}': count.append(1)\n"
    killer += f"    if len(count) == {at}: os._exit(9)\n    return real(self, *a, **k)\n"
    killer += f"Path.{step} = call\nimport cli.main; sys.exit(cli.main.main(sys.argv[1:]))"
    command = ["pull", session, "--to", "claude-code"]
    killed = subprocess.run([sys.executable, "-c", killer, *command, "--undo"], env=cli.env, cwd=cli.home, check=False)
    assert killed.returncode == 9
    cli.out(*command, way_on, *(["--cwd", work] if way_on == "--install" else []))
    assert tree(cli.home) == (before if way_on == "--undo" else whole)


def test_half_of_a_newer_install_is_known_as_ours():
    old, new = {"own": b"1", "child": b"1"}, {"own": b"2", "child": b"2"}
    midway = install_files._digest({"own": b"1", "child": b"2"})
    assert midway in install_files._half_done(new, old)
    assert midway not in install_files._half_done(new, {"own": b"3", "child": b"1"})
    assert install_files._half_done(new, {}) == (install_files._digest({"child": b"2"}),)
