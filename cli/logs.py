"""Logs: one JSON object a line on standard error. Facts only: ids, numbers, codes; never a payload, never a token.

What libraries say below a warning may hold whole messages (sse_starlette prints every chunk it sends): it is not asked for,
whatever the level. Of an error only its kind and place is told; our own code has taken the text out where it may be told.
"""

import json
import logging
import sys
import time
import traceback
from typing import Any

_OURS = "tasuki"


class JsonLines(logging.Formatter):
    """time (UTC), level, logger, event, then the facts given as `extra={"facts": {…}}`."""

    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z"
        line: dict[str, Any] = {
            "time": moment,
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        line |= getattr(record, "facts", {})
        if record.exc_info and record.exc_info[1]:
            kind = type(record.exc_info[1]).__name__
            line["fault"] = f"{kind}: {record.exc_info[1]}" if record.name.startswith(f"{_OURS}.") else kind
            line["trace"] = [f"{f.filename}:{f.lineno} {f.name}" for f in traceback.extract_tb(record.exc_info[2])[-12:]]
        return json.dumps(line, default=str)


def configure_logs(level: str) -> None:
    """Send the lines of our loggers from `level` on (debug, info, warning, error), others' from warning on, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.root.handlers[:] = [handler]
    logging.root.setLevel(max(logging.WARNING, logging.getLevelNamesMapping()[level.upper()]))
    logging.getLogger(_OURS).setLevel(level.upper())
