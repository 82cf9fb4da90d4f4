"""A session out as a `messages` file: a header, then every entry as it is, a line each. Nothing is lost, nothing added."""

from collections.abc import Iterator, Sequence

from adapters.conversion import Json
from adapters.messages.lines import AGENT, VERSION, header_line, kept_lines, line_of
from adapters.report import Report
from adapters.session import Session, is_message
from adapters.target import Target, UnknownVersion
from adapters.written import Written


def write(session: Session, target: Target, subagents: Sequence[Session] = ()) -> Written:
    """Return the file's lines. `subagents` become files of their own. Raises UnknownVersion."""
    if target.version not in ("", VERSION):
        raise UnknownVersion(f"A messages file has schema_version {VERSION}, not {target.version[:40]!a}.")
    report = Report(AGENT, VERSION, "from_standard")
    lines = tuple(_lines(session, report))
    native_id = session.meta.get("native_session_id")
    return Written(
        agent=AGENT,
        version=VERSION,
        session_id=target.session_id or (native_id if isinstance(native_id, str) else ""),
        records=lines,
        report=report.to_dict(),
        subagents=tuple(write(subagent, Target(version=target.version)) for subagent in subagents),
    )


def _lines(session: Session, report: Report) -> Iterator[bytes]:
    yield header_line(session.meta, session.header)
    for entry in session.entries:
        for line in _lines_of(entry):
            report.found("lines")
            report.converted("lines")
            yield line
        if is_message(entry):
            report.message(entry["role"])


def _lines_of(entry: Json) -> list[bytes]:
    kept = None if is_message(entry) else kept_lines(entry)
    return [line_of(entry)] if kept is None else kept
