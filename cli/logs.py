"""Logs: one JSON object a line on standard error. Facts only: ids, numbers, codes; never a payload, never a token."""

import json
import logging
import sys
import time
import traceback
from typing import Any

_RESERVED_LOGGERS = ("uvicorn", "psycopg", "psycopg.pool", "mcp")


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
            line["fault"] = type(record.exc_info[1]).__name__ + ": " + str(record.exc_info[1])
            line["trace"] = [f"{f.filename}:{f.lineno} {f.name}" for f in traceback.extract_tb(record.exc_info[2])[-12:]]
        return json.dumps(line, default=str)


def configure_logs(level: str) -> None:
    """Send every logger's lines to standard error as JSON. `level`: debug, info, warning, error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.root.handlers[:] = [handler]
    logging.root.setLevel(level.upper())
    for name in _RESERVED_LOGGERS:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLevelName(level.upper())))
