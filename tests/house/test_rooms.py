"""Each file says what it is for, stays small, and stands where it is looked for."""

import ast
import importlib.util
import re
import tomllib
from pathlib import Path

LINES_MAX = 300
FUNCTION_LINES_MAX = 70
# A longer file, and why it is one.
LONGER: dict[str, str] = {}
UNEXPLAINED = re.compile(r"#\s*(noqa(:\s*[A-Z]+\d+(,\s*[A-Z]+\d+)*)?|type:\s*ignore(\[[\w, -]+\])?)\s*$")


def test_every_module_begins_with_a_caption(modules, tree_of):
    assert [str(path) for path in modules if not ast.get_docstring(tree_of(path))] == []


def test_every_sql_file_begins_with_a_caption(repository, files):
    sql = [path for path in files if path.suffix == ".sql"]
    assert [str(path) for path in sql if not (repository / path).read_text("utf-8").startswith("-- ")] == []


def test_no_file_is_longer_than_a_room(repository, files):
    rooms = [path for path in files if path.suffix in {".py", ".sql"} and path.parts[0] != "tests"]
    lengths = {str(path): len((repository / path).read_text("utf-8").splitlines()) for path in rooms}
    assert {path: lines for path, lines in lengths.items() if lines > LINES_MAX and path not in LONGER} == {}
    assert {path for path in LONGER if lengths.get(path, 0) <= LINES_MAX} == set(), "no exception needed any more"


def test_no_function_is_longer_than_a_screen(modules, tree_of):
    long = [
        f"{path}:{node.lineno} {node.name}"
        for path in modules
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno >= FUNCTION_LINES_MAX
    ]
    assert long == []


def test_an_init_is_one_docstring_and_nothing_else(modules, tree_of):
    inits = [path for path in modules if path.name == "__init__.py"]
    assert [str(path) for path in inits if len(tree_of(path).body) != 1] == []


def test_tests_are_no_package_that_could_shadow_the_program(modules):
    assert [str(path) for path in modules if path.parts[0] == "tests" and path.name == "__init__.py"] == []


def test_each_root_package_resolves_inside_the_repository(repository):
    project = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))
    for package in project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]:
        spec = importlib.util.find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        assert Path(spec.origin).resolve() == repository / package / "__init__.py"


def test_what_a_check_is_told_to_overlook_has_its_reason_beside_it(repository, modules):
    silent = [
        f"{path}:{number}"
        for path in modules
        for number, line in enumerate((repository / path).read_text("utf-8").splitlines(), 1)
        if UNEXPLAINED.search(line)
    ]
    assert silent == []
