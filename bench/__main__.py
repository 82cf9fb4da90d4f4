"""The command: `python -m bench [--quick] [--only NAME] [--json FILE] [--rounds N] [--strict]`.

Exit codes: 0 measured, 1 under `--strict` a target was missed, 2 usage, 3 it could not run.
"""

import argparse
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio

from bench import append, archive, convert, fanout, growth, large, page, tail, views
from bench.report import Row, exit_code, table, verdict
from bench.rounds import Plan
from bench.stage import Stage
from eventstore.errors import EmbeddedUnavailable

PARTS: dict[str, Callable[[Stage, Plan], Awaitable[list[Row]]]] = {
    "append": append.measure,
    "page": page.measure,
    "tail": tail.measure,
    "fan-out": fanout.measure,
    "large": large.measure,
    "growth": growth.measure,
    "views": views.measure,
    "archive": archive.measure,
    "convert": convert.measure,
}
LIMIT_S = 900.0
COULD_NOT_RUN = 3
ROUNDS, ROUNDS_QUICK = 5, 3


def main() -> int:
    options = _parser().parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: what was started is ended
    plan = Plan(options.rounds or (ROUNDS_QUICK if options.quick else ROUNDS), options.quick)
    began = time.monotonic()
    try:
        rows, postgres = anyio.run(
            _measure, options.only or list(PARTS), plan, backend_options={"use_uvloop": sys.platform != "win32"}
        )
    except KeyboardInterrupt:
        return 130
    except TimeoutError:
        print(f"bench: not done within {LIMIT_S:.0f} s", file=sys.stderr)
        return COULD_NOT_RUN
    except (EmbeddedUnavailable, OSError) as error:
        print(f"bench: it could not run: {error}", file=sys.stderr)
        return COULD_NOT_RUN
    print(table(rows), verdict(rows), f"{time.monotonic() - began:.0f} s", sep="\n\n")
    if options.json:
        about = {"date": datetime.now(UTC).date().isoformat(), **_machine(postgres), "quick": plan.is_quick, "rounds": plan.rounds}
        options.json.write_text(json.dumps({**about, "rows": [row.as_json() for row in rows]}, indent=2, ensure_ascii=False) + "\n")
    return exit_code(rows, options.strict)


async def _measure(names: list[str], plan: Plan) -> tuple[list[Row], int]:
    rows: list[Row] = []
    with Stage() as stage, anyio.fail_after(LIMIT_S):
        for name in names:
            began = time.monotonic()
            rows += await PARTS[name](stage, plan)
            print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        return rows, stage.postgres_version


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measure the hub against limits taken in the same run, on a PostgreSQL that is started for it.",
        epilog="What each row means: docs/performance.md",
    )
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds, smaller logs: under a minute")
    parser.add_argument("--only", action="append", choices=list(PARTS), help="only this part; may be given again")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument("--rounds", type=int, metavar="N", help=f"rounds of each measure (default {ROUNDS}, quick {ROUNDS_QUICK})")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a target is missed")
    return parser


def _machine(postgres: int) -> dict[str, Any]:
    """What kind of machine it was; nothing that names it."""
    return {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "postgresql": postgres,
    }


if __name__ == "__main__":
    sys.exit(main())
