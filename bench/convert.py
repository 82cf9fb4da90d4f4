"""Convert: how long a transcript of 2.7 MB takes from the command's start to its end, and how much memory, both ways.

The limits are what was promised, a second and 150 MB, and not taken in the same rounds: beside them stands what it takes to
start the program and to parse and write the same lines.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import anyio.to_thread

from bench.report import Row, Sample, Target
from bench.rounds import Plan
from bench.stage import Stage
from bench.transcripts import transcript

SIZE_BYTES = 2_700_000
TIME_MS, MEMORY_MB = 1000.0, 150.0
_FLOOR = "import json, sys; [print(json.dumps(json.loads(line))) for line in open(sys.argv[1], 'rb')]"


async def measure(stage: Stage, plan: Plan) -> list[Row]:
    """Return the time and the memory of a conversion there and of the way home."""
    source, there, home = (stage.folder / name for name in ("transcript.jsonl", "messages.jsonl", "home.jsonl"))
    with source.open("wb") as file:
        file.writelines(transcript(SIZE_BYTES))
    ways = {"Claude Code to messages": ("messages", source, there), "messages to Claude Code": ("claude-code", there, home)}
    rows: list[Row] = []
    for name, (agent, given, made) in ways.items():
        command = [sys.executable, "-m", "cli.main", "convert", "--to", agent, str(given), str(made)]
        times, peaks, floors = list[Sample](), list[Sample](), list[Sample]()
        for _ in range(plan.rounds):
            took_ms, peak_mb = await anyio.to_thread.run_sync(_run, command)
            times.append(Sample(took_ms))
            peaks.append(Sample(peak_mb))
            floors.append(Sample((await anyio.to_thread.run_sync(_run, [sys.executable, "-c", _FLOOR, str(given)]))[0]))
        size = f"{given.stat().st_size / 1e6:.1f} MB, {name}"
        seconds, megabytes = [Sample(TIME_MS)] * plan.rounds, [Sample(MEMORY_MB)] * plan.rounds
        rows.append(Row("convert", size, "ms", times, "a second", seconds, Target("at most", 1) if agent == "messages" else None))
        rows.append(Row("convert", size, "ms", times, "json.loads and json.dumps of its lines", floors))
        rows.append(Row("convert", f"{size}, memory", "MB", peaks, "150 MB", megabytes, Target("at most", 1)))
    return rows


def _run(command: list[str]) -> tuple[float, float]:
    """Run a program to its end; return the milliseconds it took, and the most MB that it held."""
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=Path(__file__).parents[1]) as child:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise OSError(f"{command[3]} ended with {child.returncode}")
    return (time.perf_counter() - began) * 1000, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6
