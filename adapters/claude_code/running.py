"""A transcript that grows: what was converted stays, and only new lines are read and converted.

The messages are those of `reader`: a line's depend on the lines before it alone, so growth changes none. What is no message waits
for a reading of the whole.
"""

from collections.abc import Iterable, Sequence

from adapters.claude_code.reader import Reading, messages_of
from adapters.claude_code.records import AGENT
from adapters.claude_code.transcript import Transcript
from adapters.conversion import Conversion, Json, Message
from adapters.report import Report


class Running:
    """The lines so far. `link`: as in `Reading`."""

    def __init__(self, link: Json | None = None) -> None:
        self._link = link
        self._file = Transcript(())
        self._made: dict[int, list[Message]] = {}  # by line number

    def add(self, lines: Iterable[bytes]) -> None:
        """Add whole lines, with their ends."""
        for line in lines:
            self._file.add([line])

    def conversion(self, lines: Sequence[bytes]) -> Conversion:
        """Return the messages of all lines that were added, given again. The report counts what is new to it."""
        reading = Reading(lines, self._link, is_final=False, file=self._file)
        report = Report(AGENT, reading.version, "to_standard")
        messages: list[Message] = []
        for line in reading.live:
            if line.number not in self._made:
                box = [self._file.bare(line.number, lines[line.number - 1])]
                self._made[line.number] = messages_of(self._file, line, box, reading.is_subagent, report)
            messages += self._made[line.number]
        return Conversion(
            agent=AGENT,
            version=reading.version,
            meta=reading.meta,
            entries=tuple(messages),
            report=report.to_dict(),
            off_branch=reading.off_branch(),
            subagents=reading.subagents,
        )
