"""The files that the house rules are about: what git has, or would take with the next commit."""

import ast
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture(scope="session")
def files() -> list[Path]:
    """Every file of the repository, as a path from its root."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return sorted(Path(name) for name in set(listed.split("\0")) - {""} if (REPOSITORY / name).is_file())


@pytest.fixture(scope="session")
def modules(files: list[Path]) -> list[Path]:
    """Every Python file."""
    return [path for path in files if path.suffix == ".py"]


@pytest.fixture(scope="session")
def tree_of() -> Callable[[Path], ast.Module]:
    """Parse a Python file of the repository."""
    return cache(lambda path: ast.parse((REPOSITORY / path).read_text("utf-8"), filename=str(path)))
