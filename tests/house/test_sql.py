"""SQL lives in `sql/`, one function a file, under the name that Python calls."""

import ast
import re
from collections.abc import Iterator

STATEMENT = re.compile(
    r"\s*(select\s+(.+\sfrom\s|[\w.]+\()|insert\s+into\s|update\s+\S+\s+set\s|delete\s+from\s|truncate\s+\w"
    r"|create\s+(or\s+replace|table|index|unique|schema|function|view|temp|extension|database|role)\b"
    r"|alter\s+(table|role|database|system|sequence)\b|drop\s+(table|function|schema|view|index|database)\b"
    r"|(un)?listen\s+\w+\s*$|notify\s+\w+|lock\s+table\s|set\s+(local|session)\s|with\s+(recursive\s+)?\w+\s+as\s*\()",
    re.IGNORECASE | re.DOTALL,
)
ELSEWHERE = {
    "eventstore/db.py": "spells the one call of a function, from the catalogue",
    "eventstore/kept.py": "prepares that call, and asks who is at the other end",
    "eventstore/listener.py": "LISTEN is a command that no function can give",
}
DEFINITION = re.compile(r"^create\s+(?:or\s+replace\s+)?(?:function|procedure)\s+(?:\w+\.)?(\w+)", re.I | re.M)


def test_python_holds_no_sql(modules, tree_of):
    apart = {"sql", "tests", "bench"}
    found = [
        f"{path}:{line} {text[:60]!r}"
        for path in modules
        if path.parts[0] not in apart and str(path) not in ELSEWHERE
        for line, text in texts(tree_of(path))
        if STATEMENT.match(text)
    ]
    assert found == []


def test_the_rule_recognises_sql_and_leaves_prose_alone():
    for sql in ("select a from b", "  insert into t values (1)", "LISTEN tasuki", "with x as (select 1) select 2"):
        assert STATEMENT.match(sql), sql
    for prose in ("Listen, probe and poll.", "create one, or set TASUKI_DSN", "select an agent", "update the hub"):
        assert not STATEMENT.match(prose), prose


def texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every string of a module but the docstrings, an f-string with its holes as `_`."""
    apart = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            apart |= {id(value) for value in node.values}
            yield node.lineno, "".join(str(v.value) if isinstance(v, ast.Constant) else "_" for v in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in apart:
            yield node.lineno, node.value


def test_a_function_file_holds_the_one_function_that_it_is_named_for(repository):
    functions = sorted((repository / "sql" / "functions").glob("*.sql"))
    assert functions
    held = {path.stem: DEFINITION.findall(path.read_text("utf-8")) for path in functions}
    assert {name: found for name, found in held.items() if found != [name]} == {}


def test_a_function_file_begins_with_its_name(repository):
    functions = sorted((repository / "sql" / "functions").glob("*.sql"))
    assert [p.name for p in functions if not p.read_text("utf-8").startswith(f"-- {p.stem}: ")] == []


def test_migrations_are_numbered_without_a_hole(repository):
    numbers = [int(path.name[:4]) for path in sorted((repository / "sql" / "migrations").glob("*.sql"))]
    assert numbers == list(range(1, len(numbers) + 1))
