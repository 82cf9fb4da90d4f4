"""The surface: which events the model is shown, and in which order. What it no longer holds stays in the log.

An event of the surface is put at its end, or in the place of a run of others, which it stands for from then on (a compaction's
checkpoint; a result that was cut; a new system prompt). The model's input is the fold of these operations.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from adapters.conversion import Json
from adapters.dsh.records import ROLES, spot_of
from adapters.values import int_of, object_of, text_of


@dataclass(slots=True)
class Surface:
    """`nodes` are line numbers, in the order that the model is shown them; `shadowed` those that were, and what replaced each."""

    nodes: list[int] = field(default_factory=list)
    shadowed: dict[int, int] = field(default_factory=dict)
    replacing: set[int] = field(default_factory=set)
    lost: set[int] = field(default_factory=set)  # that name a place which the surface does not have: put at the end


def fold(events: Iterable[tuple[int, Json]]) -> Surface:
    """Return the surface of events, each with its line's number."""
    surface = Surface()
    line_of: dict[int, int] = {}
    for number, record in events:
        seq = int_of(record.get("seq"))
        if text_of(record, "type") not in ROLES or spot_of(record) is None:
            continue
        bounds = replaced(record)
        if bounds is None:
            surface.nodes.append(number)
        else:
            _replace(surface, number, [line_of.get(bound, -1) for bound in bounds])
        if seq is not None:
            line_of[seq] = number
    return surface


def replaced(record: Json) -> tuple[int, int] | None:
    """The first and last seq of what an event stands for, None where it is put at the end. (v0 says start and end.)"""
    op = object_of(record, "surfaceOp")
    if op.get("op") != "replace":
        return None
    start = int_of(op.get("startSeq", op.get("start")))
    end = int_of(op.get("endSeq", op.get("end")))
    return (-1 if start is None else start), (-1 if end is None else end)


def _replace(surface: Surface, number: int, bounds: list[int]) -> None:
    nodes = surface.nodes
    start, end = (nodes.index(line) if line in nodes else -1 for line in bounds)
    if not 0 <= start <= end:
        surface.lost.add(number)
        nodes.append(number)
        return
    surface.replacing.add(number)
    surface.shadowed |= dict.fromkeys(nodes[start : end + 1], number)
    nodes[start : end + 1] = [number]
