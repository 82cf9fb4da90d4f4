"""Moments as the agent writes them: UTC, milliseconds, Z."""

from datetime import UTC
from functools import partial

from adapters import clock
from adapters.moments import moment_of, stamp

moment_ms = partial(moment_of, zone=UTC)  # what of the agent's own has no offset is in UTC


class Clock(clock.Clock[str]):
    """Gives each record its time, as the agent writes it."""

    no_time = clock.untimed("record")

    def spelled(self, moment: int) -> str:
        return stamp(moment)

    def moment(self, said: object) -> int | None:
        return moment_ms(said)

    def is_exact(self, said: str) -> bool:
        return said == self.same()
