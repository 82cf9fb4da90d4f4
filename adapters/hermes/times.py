"""Seconds since 1970 as Hermes keeps them, and RFC 3339 as messages have it: exact to the microsecond."""

from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any

from adapters.moments import EPOCH, MICROSECOND, moment_of
from eventstore.wire.codec import Number

micros_of = partial(moment_of, unit=MICROSECOND)
_SECONDS_MAX = Decimal(253402300799)  # the end of the year 9999


def rfc3339(seconds: Any) -> str:
    """The moment in UTC; "" for what is no number of seconds of our era."""
    exact = decimal_of(seconds)
    if exact is None or not 0 <= exact < _SECONDS_MAX:
        return ""
    moment = EPOCH + int((exact * 1_000_000).to_integral_value()) * MICROSECOND
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def seconds(micros: int) -> Number:
    """The number of seconds, as Hermes spells it: with at least one place."""
    whole, rest = divmod(micros, 1_000_000)
    return Number(f"{whole}.{f'{rest:06d}'.rstrip('0') or '0'}")


def decimal_of(value: Any) -> Decimal | None:
    """A number, exactly; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, Number | int | float):
        return None
    try:
        exact = Decimal(value.text if isinstance(value, Number) else repr(value))
    except InvalidOperation:
        return None
    return exact if exact.is_finite() and exact.adjusted() < 30 else None
