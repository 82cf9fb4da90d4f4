"""Paths: which application answers at a path, found part by part: each request passes here, and most are appends."""

from dataclasses import dataclass, field

from starlette.types import ASGIApp


@dataclass(slots=True)
class Place:
    """What a path has led to so far; `path` as it was added, empty where nothing answers."""

    path: str = ""
    app: ASGIApp | None = None
    parts: dict[str, "Place"] = field(default_factory=dict)
    any_part: "Place | None" = None
    name: str = ""  # of what stands for any part


class Paths:
    """Applications by path. A part in braces stands for any one that is not empty."""

    def __init__(self) -> None:
        self._root = Place()

    def add(self, path: str, app: ASGIApp) -> None:
        place = self._root
        for part in path.split("/"):
            if part.startswith("{"):
                place.any_part = place.any_part or Place(name=part.strip("{}"))
                place = place.any_part
            else:
                place = place.parts.setdefault(part, Place())
        place.path, place.app = path, app

    def find(self, path: str) -> tuple[Place | None, dict[str, str]]:
        """Return where a path leads, None: nowhere, and what stands for the parts in braces."""
        place, values = self._root, dict[str, str]()
        for part in path.split("/"):
            known = place.parts.get(part)
            if known is None:
                known = place.any_part
                if known is None or not part:
                    return None, {}
                values[known.name] = part
            place = known
        return (place if place.app else None), values
