"""Pure rooms compute and nothing else: no file, no socket, no clock, no dice."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PURE = (
    "adapters/**/*.py",
    "eventstore/wire/*.py",
    "eventstore/upcast.py",
    "eventstore/lineage.py",
    "eventstore/redact*.py",
    "eventstore/possessive.py",
    "eventstore/derive.py",
    "projections/context.py",
    "workers/archive/layout.py",
    "workers/embed/chunks.py",
)
WORLDLY = set(
    "anyio asyncio ctypes fcntl glob http httpx2 io logging mmap multiprocessing os pathlib psycopg pygit2 random "
    "secrets select selectors shutil signal socket sqlite3 ssl starlette subprocess tempfile threading time urllib "
    "uvicorn".split()
)
WORLDLY_CALLS = {"open", "input", "print"}
WORLDLY_METHODS = {"now", "utcnow", "today", "uuid1", "uuid4", "uuid6", "uuid7", "getnode"}
WIRE_MAY_IMPORT = {"msgspec", "eventstore"}


@pytest.fixture
def pure(repository: Path, modules: list[Path]) -> list[Path]:
    rooms = {path.relative_to(repository) for pattern in PURE for path in repository.glob(pattern)}
    return [path for path in modules if path in rooms]


def test_a_pure_room_asks_nothing_of_the_world(pure, tree_of):
    assert len(pure) > len(PURE)
    assert [f"{path}: {asked}" for path in pure for asked in worldly(tree_of(path))] == []


def test_the_rule_sees_what_it_is_for():
    for code in ("import time", "from os import path", "open('x')", "datetime.now(UTC)", "uuid.uuid4()"):
        assert list(worldly(ast.parse(code))), code
    assert list(worldly(ast.parse("from urllib.parse import quote\nrow.open()\nnow(1)"))) == []


def worldly(tree: ast.Module) -> Iterator[str]:
    for name in imported(tree):
        if name.split(".")[0] in WORLDLY and not name.startswith("urllib.parse"):
            yield f"imports {name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and called.id in WORLDLY_CALLS:
                yield f"calls {called.id}, line {node.lineno}"
            if isinstance(called, ast.Attribute) and called.attr in WORLDLY_METHODS:
                yield f"calls {called.attr}, line {node.lineno}"


def test_the_wire_imports_msgspec_the_standard_library_and_errors(modules, tree_of):
    wire = [path for path in modules if path.parts[:2] == ("eventstore", "wire")]
    assert wire
    for path in wire:
        for name in imported(tree_of(path)):
            root = name.split(".")[0]
            assert root in WIRE_MAY_IMPORT or root in sys.stdlib_module_names, f"{path} imports {name}"
            if root == "eventstore":
                assert name.startswith(("eventstore.errors", "eventstore.wire")), f"{path} imports {name}"


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_a_group_is_repeated_possessively_by_the_one_who_knows_how(repository):
    """Python before 3.11.5 does it wrongly: eventstore/possessive.py. The codec's strings have no group that can backtrack."""
    found = [
        f"{path.relative_to(repository)}:{number}"
        for room in ("eventstore", "adapters", "transports", "projections", "workers", "cli", "sql")
        for path in (repository / room).rglob("*.py")
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if re.search(r"\)(?:[*+?]|\{+\d*,?\d*\}+)\+", line)
    ]
    assert [place.partition(":")[0] for place in found] == ["eventstore/wire/codec.py"]
