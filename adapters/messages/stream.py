"""A `messages` file entry by entry, for sessions that are too large to be in memory as a whole, or a line of which is."""

from collections.abc import Iterable, Iterator

from adapters.conversion import Json
from adapters.messages.lines import AGENT, VERSION, header_line, kept_lines
from adapters.pieces import encoded
from adapters.report import Report
from adapters.session import is_message


class Writing:
    """The same file and report as `writer.write` gives. `pieces` is to be taken once, then `report`."""

    def __init__(self, meta: Json, header: Json | None = None) -> None:
        self._meta, self._header = meta, header or {}
        self._report = Report(AGENT, VERSION, "from_standard")

    def pieces(self, entries: Iterable[tuple[Json, str]]) -> Iterator[bytes]:
        """Yield the file, given entries in order, each with its compact JSON text, "" where that is not at hand."""
        yield header_line(self._meta, self._header)
        for entry, text in entries:
            kept = None if is_message(entry) else kept_lines(entry)
            count = 1 if kept is None else len(kept)
            self._report.found("lines", count)
            self._report.converted("lines", count)
            if is_message(entry):
                self._report.message(entry["role"])
            if kept is not None:
                yield from kept
            elif text:
                yield text.encode() + b"\n"
            else:
                yield from encoded(entry)
                yield b"\n"

    def report(self) -> Json:
        return self._report.to_dict()
