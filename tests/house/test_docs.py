"""Whoever meets an error code or looks for a setting finds it in the documents."""

import re

from adapters import registry, target
from eventstore import errors
from eventstore.errors import StoreError
from eventstore.settings import Settings
from transports.rest.errors import STATUS_OF_CODE


def test_every_error_code_is_in_the_protocol(repository):
    protocol = (repository / "docs" / "protocol.md").read_text("utf-8")
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, StoreError)]
    assert len(kinds) > 10
    assert sorted({kind.code for kind in kinds if f"`{kind.code}`" not in protocol}) == []


def test_the_protocol_has_the_status_of_every_code_that_an_answer_may_have(repository):
    protocol = (repository / "docs" / "protocol.md").read_text("utf-8")
    told = {code: int(status) for code, status in re.findall(r"^\| `(\w+)` \| (\d{3}) \|", protocol, re.MULTILINE)}
    assert told == STATUS_OF_CODE


def test_every_error_of_an_adapter_has_a_status(repository):
    kinds = {kind for module in (registry, target) for kind in vars(module).values() if _is_error(kind)} - {StoreError}
    assert sorted(kind.code for kind in kinds if kind.code not in STATUS_OF_CODE) == []
    assert len(kinds) >= 4


def _is_error(kind):
    return isinstance(kind, type) and issubclass(kind, StoreError)


def test_every_setting_is_in_the_operators_guide(repository):
    guide = (repository / "docs" / "operations.md").read_text("utf-8")
    variables = [f"TASUKI_{name.upper()}" for name in Settings.__struct_fields__]
    assert [name for name in variables if f"`{name}`" not in guide] == []


def test_every_error_has_a_code_and_a_title_of_its_own(repository):
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, StoreError)]
    codes = [kind.code for kind in kinds if kind is not StoreError]
    assert sorted(codes) == sorted(set(codes))
    assert [kind.__name__ for kind in kinds if not (kind.__doc__ and kind.title)] == []


def test_make_help_names_every_target_for_people(repository):
    makefile = (repository / "Makefile").read_text("utf-8")
    targets = makefile.split(".PHONY:", 1)[1].splitlines()[0].split()
    assert [name for name in targets if name not in {"help", "lock"} and f"'make {name} " not in makefile] == []
