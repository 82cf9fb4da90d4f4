"""Bugs planted in SQL functions on purpose: a test that cannot fail proves nothing."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import psycopg

DEFINITION = re.compile(r"^create (?:or replace )?function (?:\w+\.)?(\w+)(\(.*?^(?:end )?\$\$;)", re.MULTILINE | re.DOTALL)
SCHEMA = "select n.nspname from pg_proc p join pg_namespace n on n.oid = p.pronamespace where p.proname = 'append_events'"
Test = Callable[..., Any]


@dataclass(frozen=True)
class Bug:
    """A wrong text in the place of a right one, in the file of one function."""

    function: str
    right: str
    wrong: str

    def __str__(self) -> str:
        """Short enough for a test's name."""
        what = self.wrong or f"without {self.right}"
        return f"{self.function}: {' '.join(what.split())[:50]}"

    def plant(self, dsn: str) -> None:
        """Put the function into a migrated database as this bug has it."""
        text = sql_functions()[self.function]
        assert text.count(self.right) == 1, f"{self.right!r} stands {text.count(self.right)} times in {self.function}"
        self._put(dsn, text.replace(self.right, self.wrong))

    def weed(self, dsn: str) -> None:
        """Put the function in again as it is."""
        self._put(dsn, sql_functions()[self.function])

    def _put(self, dsn: str, definition: str) -> None:
        with psycopg.connect(dsn, autocommit=True) as connection:
            (schema,) = connection.execute(SCHEMA).fetchone() or ("",)
            connection.execute(f"create or replace function {schema}.{self.function}{definition}".encode())


def plant(function: str, right: str, wrong: str) -> Callable[[Test], Test]:
    """Mark a test as one that fails when `wrong` stands in the place of `right` in this function; it is run so too."""

    def marked(test: Test) -> Test:
        vars(test).setdefault("planted", []).insert(0, Bug(function, right, wrong))
        return test

    return marked


def bugs_of(test: Test) -> list[Bug]:
    """The bugs that a test is marked with."""
    return list(vars(test).get("planted", []))


def sql_functions() -> dict[str, str]:
    """Every function that a migrated database has from files that may change, with what follows its name where it is made."""
    texts = [
        file.read_text("utf-8")
        for folder in ("functions", "projections")
        for file in (files("sql") / folder).iterdir()
        if file.name.endswith(".sql")
    ]
    return {name: definition for text in texts for name, definition in DEFINITION.findall(text)}
