"""A mapping report as a person reads it: what was found, and where what did not simply go over went."""

from typing import Any

from cli.terminal import Screen, counted, one_line

_WORDS = {
    "dropped": ("dropped", "red"),
    "degraded": ("said less well", "yellow"),
    "kept_native": ("kept for the way home", "dim"),
    "synthesised": ("added", "yellow"),
    "warnings": ("note", "dim"),
}


def show_report(screen: Screen, report: dict[str, Any]) -> None:
    """Print a report: a line of sums for each unit, then a line for each item."""
    for unit, sums in report["counts"].items():
        if unit != "messages":
            converted = f"{sums['converted']} converted"
            parts = [f"{sums[name]} {_WORDS[name][0]}" for name in ("degraded", "kept_native", "dropped") if sums[name]]
            screen.line(f"    {sums['found']} {unit} = {' + '.join([converted, *parts])}")
    for kind, (word, style) in _WORDS.items():
        for item in report[kind]:
            where = one_line(str(item["example"]), 60)
            text = f"{word}: {counted(item['count'], 'time')}  {item['path']}  {item['reason']}  ({where})"
            screen.block(text, indent=8, style=style)


def is_lossy(report: dict[str, Any]) -> bool:
    """Whether anything was dropped."""
    return bool(report["dropped"])
