"""The mapping report: what a conversion found, and where each thing went. Nothing leaves without an entry here.

Everything found is counted in a unit (`lines`, `blocks`, `fields`) and ends in exactly one of five: converted, degraded
(converted, but said less well), kept_native (whole, but only for the way home), dropped, so that per unit

    found = converted + degraded + kept_native + dropped

`synthesised` is what was added and never found; `warnings` are remarks about things counted elsewhere. An item's path
begins with its unit. Examples name a place, never a payload, so that a report may be logged and shown.
"""

from collections import Counter
from typing import Any, Literal

Kind = Literal["dropped", "degraded", "kept_native", "synthesised", "warnings"]
Direction = Literal["to_standard", "from_standard"]

REPORTED: tuple[Kind, ...] = ("degraded", "kept_native", "dropped")
KINDS: tuple[Kind, ...] = ("dropped", "degraded", "kept_native", "synthesised", "warnings")


class Report:
    """Counts while a conversion runs; `to_dict` gives the report and fails when the sums do not add up."""

    def __init__(self, agent: str, version: str, direction: Direction) -> None:
        self.agent, self.version, self.direction = agent, version, direction
        self._found: Counter[str] = Counter()
        self._converted: Counter[str] = Counter()
        self._messages: Counter[str] = Counter()
        self._items: dict[Kind, dict[tuple[str, str], dict[str, Any]]] = {kind: {} for kind in KINDS}

    def found(self, unit: str, count: int = 1) -> None:
        self._found[unit] += count

    def converted(self, unit: str, count: int = 1) -> None:
        self._converted[unit] += count

    def message(self, role: str) -> None:
        self._messages[role] += 1

    def note(self, kind: Kind, path: str, reason: str, example: str, count: int = 1) -> None:
        """Add to the item of this path and reason; the first example stays."""
        item = self._items[kind].setdefault((path, reason), {"path": path, "reason": reason, "count": 0, "example": example})
        item["count"] += count

    def warn(self, path: str, reason: str, example: str, count: int = 1) -> None:
        self.note("warnings", path, reason, example, count)

    def to_dict(self) -> dict[str, Any]:
        counts: dict[str, Any] = {unit: self._sum(unit) for unit in sorted(self._found)}
        counts["messages"] = dict(sorted(self._messages.items()))
        items: dict[str, Any] = {kind: list(self._items[kind].values()) for kind in KINDS}
        return {
            "agent": self.agent,
            "version": self.version,
            "direction": self.direction,
            "counts": counts,
            **items,
        }

    def _sum(self, unit: str) -> dict[str, int]:
        sums = {"found": self._found[unit], "converted": self._converted[unit]}
        for kind in REPORTED:
            of_unit = (item for item in self._items[kind].values() if item["path"].split("/")[0] == unit)
            sums[kind] = sum(item["count"] for item in of_unit)
        assert sums["found"] == sum(sums.values()) - sums["found"], f"{unit} does not add up: {sums}"
        return sums
