"""Drafts: files written beside their places and put there together, when all of them are done; else none is left."""

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self


class Drafts:
    """Files that are not in their places yet."""

    def __init__(self) -> None:
        self._drafts: list[tuple[Path, Path]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for draft, _ in self._drafts:
            draft.unlink(missing_ok=True)

    def write(self, path: Path, pieces: Iterable[bytes]) -> Path:
        """Write a file beside its place, in folders that are made where they are missing; returns where it is now."""
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.draft")
        self._drafts.append((draft, path))
        with draft.open("wb") as file:
            for piece in pieces:
                file.write(piece)
        return draft

    def put(self) -> None:
        """Put every file in its place."""
        while self._drafts:
            draft, path = self._drafts[0]
            draft.replace(path)
            del self._drafts[0]
