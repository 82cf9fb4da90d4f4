"""How much Hypothesis draws: the same on every run and every machine, so that a red run stays red until it is mended."""

from typing import Any

from hypothesis import HealthCheck, settings


def draws(count: int = 100, **more: Any) -> settings:
    """At most `count` examples, always the same ones, however slow the machine is."""
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    return settings(
        max_examples=count, derandomize=True, deadline=None, database=None, suppress_health_check=slow, print_blob=False, **more
    )
