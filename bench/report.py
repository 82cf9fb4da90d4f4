"""Report: figures, each beside the limit that was measured in the same rounds, as a table and as JSON. Pure.

A ratio is taken round by round, figure over limit, and its median counts: what slows the machine down slows down both.
"""

from dataclasses import dataclass, field
from statistics import median
from typing import Any, Literal


@dataclass(frozen=True)
class Sample:
    """What one round measured: a value, and CPU in microseconds an item where it can be had.

    `program_us`: the hub, or this process where no hub is in the way. `database_us`: every process of PostgreSQL.
    """

    value: float
    program_us: float | None = None
    database_us: float | None = None


@dataclass(frozen=True)
class Target:
    """What the ratio of figure and limit must be for the row to be met."""

    side: Literal["at least", "at most"]
    ratio: float

    def is_met(self, ratio: float) -> bool:
        return ratio >= self.ratio if self.side == "at least" else ratio <= self.ratio

    def __str__(self) -> str:
        return f"{'≥' if self.side == 'at least' else '≤'} {self.ratio:g}"


@dataclass(frozen=True)
class Row:
    """One figure against one limit, both a sample a round, in the same unit. Without a target it is there to be known."""

    part: str
    figure: str
    unit: str
    samples: list[Sample]
    limit: str
    limits: list[Sample]
    target: Target | None = None
    notes: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        assert self.samples, self.figure
        assert len(self.samples) == len(self.limits), self.figure

    @property
    def ratios(self) -> list[float]:
        """Figure over limit, a round each."""
        return [sample.value / limit.value for sample, limit in zip(self.samples, self.limits, strict=True)]

    @property
    def ratio(self) -> float:
        return median(self.ratios)

    @property
    def is_met(self) -> bool | None:
        """Whether the target is met; None where there is none."""
        return None if self.target is None else self.target.is_met(self.ratio)

    def as_json(self) -> dict[str, Any]:
        return {
            "part": self.part,
            "figure": self.figure,
            "unit": self.unit,
            **_spread([sample.value for sample in self.samples]),
            "limit": self.limit,
            "limit_values": _spread([sample.value for sample in self.limits]),
            "ratio": _rounded(self.ratio),
            "ratio_min": _rounded(min(self.ratios)),
            "ratio_max": _rounded(max(self.ratios)),
            "target": None if self.target is None else {"side": self.target.side, "ratio": self.target.ratio},
            "met": self.is_met,
            "cpu_us": {"program": middle_cpu(self.samples, "program_us"), "database": middle_cpu(self.samples, "database_us")},
            "notes": {name: _rounded(value) for name, value in self.notes.items()},
        }


HEADINGS = ("part", "figure", "median (min–max)", "limit", "median (min–max)", "ratio (min–max)", "target", "met", "CPU µs")


def table(rows: list[Row]) -> str:
    """Return the rows as a Markdown table whose columns are aligned for reading as they are."""
    lines = [HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    rule = tuple("-" * width for width in widths)
    return "\n".join(_line(cells, widths) for cells in (lines[0], rule, *lines[1:]))


def verdict(rows: list[Row]) -> str:
    """Return in one line how many targets are met, and which are not."""
    aimed = [row for row in rows if row.target]
    missed = [f"{row.part}: {row.figure} ({row.ratio:.2f}, target {row.target})" for row in aimed if not row.is_met]
    return f"{len(aimed) - len(missed)} of {len(aimed)} targets met" + (": not " + "; ".join(missed) if missed else "")


def exit_code(rows: list[Row], is_strict: bool) -> int:
    """Return 0, or under `is_strict` 1 when a target is missed."""
    return int(is_strict and any(row.is_met is False for row in rows))


def percentile(values: list[float], share: float) -> float:
    """Return the value that `share` (0-1) of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def middle_cpu(samples: list[Sample], name: Literal["program_us", "database_us"]) -> float | None:
    """Return the median CPU of the rounds, None where it could not be had."""
    values = [value for sample in samples if (value := getattr(sample, name)) is not None]
    return _rounded(median(values)) if values else None


def _cells(row: Row) -> tuple[str, ...]:
    met = {None: "", True: "yes", False: "**no**"}[row.is_met]
    cpu = (middle_cpu(row.samples, "program_us"), middle_cpu(row.samples, "database_us"))
    return (
        row.part,
        row.figure,
        _middle([sample.value for sample in row.samples], row.unit),
        row.limit,
        _middle([sample.value for sample in row.limits], row.unit),
        f"{row.ratio:.2f} ({min(row.ratios):.2f}–{max(row.ratios):.2f})",
        str(row.target or ""),
        met,
        "" if cpu == (None, None) else " + ".join("?" if part is None else _short(part) for part in cpu),
    )


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"


def _middle(values: list[float], unit: str) -> str:
    return f"{_short(median(values))} ({_short(min(values))}–{_short(max(values))}) {unit}"


def _spread(values: list[float]) -> dict[str, Any]:
    return {"median": _rounded(median(values)), "min": _rounded(min(values)), "max": _rounded(max(values)), "rounds": len(values)}


def _short(value: float) -> str:
    """Three digits are all that such a figure is worth."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
