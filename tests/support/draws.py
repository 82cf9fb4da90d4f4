"""How much Hypothesis draws: the same on every run and every machine, so that a red run stays red until it is mended."""

import pickle
from functools import cache
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

T = TypeVar("T")
SHARED = 300


def draws(count: int = 100, **more: Any) -> settings:
    """At most `count` examples, always the same ones, however slow the machine is."""
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much, HealthCheck.nested_given]
    return settings(
        max_examples=count, derandomize=True, deadline=None, database=None, suppress_health_check=slow, print_blob=False, **more
    )


def shared(strategy: st.SearchStrategy[T], count: int = SHARED) -> st.SearchStrategy[T]:
    """Of `count` values that are drawn once, for all tests that ask: to draw a large one takes ten times as long as what a test
    does with it. Each test has a copy of its own, and of those that fail the shortest is shown."""

    @cache
    def drawn() -> list[bytes]:
        found: set[bytes] = set()

        @draws(count, phases=[Phase.generate])
        @given(strategy)
        def keep(value: T) -> None:
            found.add(pickle.dumps(value))

        keep()
        return sorted(found, key=lambda value: (len(value), value))

    return st.deferred(lambda: st.sampled_from(drawn()).map(pickle.loads))
