"""Cleaning: the entries of a session on their way through this program, without the secrets that the rules know."""

from collections.abc import Iterable, Iterator
from typing import Any

from adapters import pieces
from adapters.session import is_message
from eventstore.redact import MESSAGE, NATIVE, Exempt, Redactor
from eventstore.wire.codec import dump, parse

Json = dict[str, Any]
Path = tuple[str | int, ...]


class Cleaner:
    """Takes secrets out, and counts them by rule in `hits`."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self.hits: dict[str, int] = {}

    def clean(self, entries: Iterable[Json]) -> Iterator[tuple[Json, str]]:
        """Yield each entry without secrets, and its compact JSON text, "" where it holds a string too long to be there twice."""
        for entry in entries:
            exempt = MESSAGE if is_message(entry) else NATIVE
            if pieces.is_long(entry):
                yield self._clean_long(entry, exempt), ""
            else:
                yield self._clean(entry, exempt)

    def _clean(self, entry: Json, exempt: Exempt) -> tuple[Json, str]:
        found = self._redactor.clean(dump(entry), exempt)
        self._count(found.hits.items())
        return (parse(found.text) if found.hits else entry), found.text

    def _clean_long(self, entry: Json, exempt: Exempt) -> Json:
        """Clean the long strings one by one, and the rest without them."""
        rest, _ = self._clean(_without_long(entry), exempt)
        cleaned: Json = self._put_back(rest, entry, (), exempt)
        return cleaned

    def _put_back(self, rest: Any, whole: Any, path: Path, exempt: Exempt) -> Any:
        """Return `rest` with the long strings of `whole`, cleaned; a key of it may have been cleaned already."""
        if isinstance(whole, dict):
            return {
                new: self._put_back(inner, whole[key], (*path, key), exempt)
                for (new, inner), key in zip(rest.items(), whole, strict=True)
            }
        if isinstance(whole, list):
            return [self._put_back(*both, (*path, at), exempt) for at, both in enumerate(zip(rest, whole, strict=True))]
        if not (isinstance(whole, str) and pieces.is_long(whole)):
            return rest
        text, hits = self._redactor.clean_string(whole, path, exempt)
        self._count(hits.items())
        return text

    def _count(self, hits: Iterable[tuple[str, int]]) -> None:
        for rule, count in hits:
            self.hits[rule] = self.hits.get(rule, 0) + count


def _without_long(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_long(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_long(inner) for inner in value]
    return "" if isinstance(value, str) and pieces.is_long(value) else value
