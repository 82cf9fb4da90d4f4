"""Moments: whole numbers since 1970, and RFC 3339 as messages have it."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta, tzinfo

from adapters.conversion import Json

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND, MICROSECOND = timedelta(milliseconds=1), timedelta(microseconds=1)


def moment_of(text: object, unit: timedelta = MILLISECOND, zone: tzinfo | None = None) -> int | None:
    """Return an RFC 3339 time in units since 1970, or None when it is none, or earlier than that.

    A time without an offset is one of the `zone`; where none is named, it is no time.
    """
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text.upper())
        since = (moment if moment.tzinfo else moment.replace(tzinfo=zone)) - EPOCH
    except (ValueError, TypeError, OverflowError):
        return None
    return since // unit if since >= timedelta() else None


def first_moment(messages: Iterable[Json], moment: Callable[[object], int | None], otherwise: int) -> int:
    """Return the first moment that a message tells."""
    known = (moment(message.get("created_at")) for message in messages)
    return next((told for told in known if told is not None), otherwise)


def stamp(time_ms: int) -> str:
    """Return a moment in UTC, with milliseconds and a Z."""
    return (EPOCH + time_ms * MILLISECOND).isoformat(timespec="milliseconds").replace("+00:00", "Z")
