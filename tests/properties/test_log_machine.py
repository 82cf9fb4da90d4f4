"""Whatever order Hypothesis calls it in, the log reads as lists would: through the core and its SQL, and through HTTP."""

from collections.abc import Callable, Iterator

import pytest
from doors import Door, core_door, rest_door
from draws import draws
from hubs import running_hub
from hypothesis import Phase
from log_bugs import BUGS
from log_machine import run_log_machine
from planted import Bug

import eventstore.fork
from eventstore.lineage import SEQ_MAX, Part

# A core that is ended in the middle of a poll: the pool was about to replace the connection that this broke, and drops the new one.
pytestmark = pytest.mark.filterwarnings("ignore:.*BaseConnection.__del__:pytest.PytestUnraisableExceptionWarning")
UNTIL_FOUND = draws(40, stateful_step_count=25, phases=[Phase.generate], report_multiple_bugs=False)


@pytest.fixture(params=["core", "rest"])
def door(request: pytest.FixtureRequest, database: str) -> Iterator[Door]:
    if request.param == "core":
        with core_door(database) as door:
            yield door
    else:
        with running_hub(database) as hub, rest_door(hub) as door:
            yield door


def test_the_log_reads_as_its_model_after_any_calls(door):
    run_log_machine(door, draws(20, stateful_step_count=30))


@pytest.mark.long
def test_the_log_reads_as_its_model_after_many_more_calls(door):
    run_log_machine(door, draws(1500, stateful_step_count=50))


# --- a machine that never fails proves nothing


def is_noticed(run: Callable[[], None]) -> bool:
    """Whether the machine fails; how does not matter."""
    try:
        run()
    except Exception:  # noqa: BLE001  # wrong answers, refusals, faults, and that it fails differently when it is run again
        return True
    return False


@pytest.mark.parametrize("bug", BUGS, ids=str)
def test_the_machine_notices_a_bug_in_sql(database: str, bug: Bug):
    bug.plant(database)
    with core_door(database) as door:
        assert is_noticed(lambda: run_log_machine(door, UNTIL_FOUND))


Lineage = tuple[Part, ...]


def whole_parent(parent: Lineage, parent_no: int, parent_id: str, up_to_seq: int) -> Lineage:
    """As `inherited`, but what the parent inherits is not cut."""
    own = (Part(parent_no, up_to_seq, parent_id),) if parent_no < up_to_seq else ()
    return (*parent, *own)


def parent_alone(parent: Lineage, parent_no: int, parent_id: str, up_to_seq: int) -> Lineage:
    """As `inherited`, but grandparents are forgotten."""
    return (Part(parent_no, up_to_seq, parent_id),)


def later_sessions_too(parent: Lineage, parent_no: int, parent_id: str, up_to_seq: int) -> Lineage:
    """As `inherited`, but the parent goes on in the child."""
    return tuple(Part(p.session_no, p.to_seq, p.session_id) for p in (*parent, Part(parent_no, SEQ_MAX, parent_id)))


@pytest.mark.parametrize("wrong", [whole_parent, parent_alone, later_sessions_too])
def test_the_machine_notices_a_wrong_lineage(database: str, monkeypatch: pytest.MonkeyPatch, wrong: Callable[..., Lineage]):
    monkeypatch.setattr(eventstore.fork, "inherited", wrong)
    with core_door(database) as door:
        assert is_noticed(lambda: run_log_machine(door, UNTIL_FOUND))
