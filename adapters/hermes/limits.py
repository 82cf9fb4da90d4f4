"""What Hermes's import takes at most, a session: more than that fits a database, but has to be put there by other means."""

from adapters.conversion import Json
from adapters.hermes.records import rows_of
from adapters.report import Report
from eventstore.wire import codec

ROWS_MAX = 10_000
BYTES_MAX = 5 * 1024 * 1024


def exceeded(document: Json) -> list[str]:
    """Return the limits that a session exceeds, each as a sentence's part."""
    found = []
    count = len(rows_of(document))
    if count > ROWS_MAX:
        found.append(f"{count:,} rows: an import takes {ROWS_MAX:,}")
    size = len(codec.dump(document).encode())
    if size > BYTES_MAX:
        found.append(f"{size:,} bytes: an import takes {BYTES_MAX:,}")
    return found


def warn_of_limits(document: Json, report: Report) -> None:
    for limit in exceeded(document):
        report.warn("session/limits", f"{limit}; a database holds it", "session")
