"""Codex to standard messages: the lines of a rollout in, what the hub shall append out.

**What is a message.** Every live item (`live`) that says something: a text, a call, its result, thinking. Response items are the
truth; events, which show the same to people, are native records, and so is all else: settings, costs, dead items, torn lines.

**When the file grows.** Append ids stay. A summary (`compacted`) and a rollback make items dead that may be in the log already:
`off_branch` names them, by their keys; after a rollback a follower has to fork. What a reply cost stands behind it in the file, and
a message in the log never changes, so costs are native records.

**The way home** (`home`) gives the file back, line by line, value by value.
"""

from collections.abc import Iterable
from itertools import groupby

from adapters.codex.fields import TURN_FIELDS, account_kept, account_line, why_kept
from adapters.codex.live import History, history_of
from adapters.codex.messages import convert
from adapters.codex.meta import is_subagent, meta_of, own_meta, said_of
from adapters.codex.records import AGENT, Line, call_id_of, lines_of, says, versions_of
from adapters.conversion import Conversion, Json, Message
from adapters.leaves import Path
from adapters.line_blocks import batches, blocks
from adapters.report import Report
from adapters.said import Unsaid
from adapters.values import text_of

_turn: frozenset[Path] = frozenset((name,) for name in TURN_FIELDS)


def read(lines: Iterable[bytes], *, is_final: bool = True) -> Conversion:
    """Convert a rollout, given as its lines (with or without line ends). Never raises for what the lines hold.

    `is_final=False` is for a session that runs: the native records of the block at the end wait.
    """
    raws = list(lines)
    file = lines_of(raws)
    own = own_meta(file)
    history = history_of(file, is_subagent=is_subagent(own))
    versions = versions_of(file)
    version = next((version for version in reversed(versions) if version), "unknown")
    report = Report(AGENT, version, "to_standard")
    messages = _messages(history, versions, report)
    live = {unit.line.number for unit in history.live}
    cuts = blocks([len(line.raw) for line in file])
    open_block = cuts.pop() if not is_final and cuts else range(0)
    held = {file[at].number for at in open_block if file[at].number not in live}
    _account_kept(file, history, live | held, own, report)
    _warn(file, history, raws, report)
    numbered = ((line.number, line.raw) for line in file)
    natives = batches(AGENT, numbered, cuts, lambda number: number not in live, versions)
    return Conversion(
        agent=AGENT,
        version=version,
        meta=meta_of(file, history.live),
        entries=(*messages, *natives),
        report=report.to_dict(),
        off_branch={unit.key: why.partition(":")[0] for unit, why in history.dead},
        subagents=history.subagents,
        held_records=len(held),
    )


def _messages(history: History, versions: list[str], report: Report) -> list[Message]:
    messages: list[Message] = []
    for number, group in groupby(history.live, key=lambda unit: unit.line.number):
        units = list(group)
        unsaid: Unsaid = {}
        items: list[tuple[Path, Json]] = []
        for unit in units:
            parent = messages[-1].native_id if messages else None
            done = convert(unit, versions[number - 1], parent, holds_line=unit is units[0])
            messages.append(done.message)
            report.message(done.message.body["role"])
            unsaid |= done.unsaid
            items.append((unit.at, unit.item))
        report.found("lines")
        report.converted("lines")
        account_line(report, units[0].line, items, unsaid)
    return messages


def _account_kept(file: list[Line], history: History, besides: set[int], own: Json, report: Report) -> None:
    reasons = {unit.line.number: why for unit, why in history.dead}
    told: frozenset[Path] = frozenset((name,) for name in said_of(own))
    git = own.get("git")
    if isinstance(git, dict) and isinstance(git.get("branch"), str) and git["branch"]:
        told |= {("git", "branch")}
    for line in file:
        if line.number not in besides:
            said = told if line.payload is own else _turn if line.type == "turn_context" else frozenset[Path]()
            account_kept(report, line, reasons.get(line.number) or why_kept(line), said)


def _warn(file: list[Line], history: History, raws: list[bytes], report: Report) -> None:
    """Add what a reader of the report should look at, though it is counted elsewhere."""
    for line in file:
        if line.parsed.problem:
            report.warn("lines/unreadable", line.parsed.problem, f"line {line.number}")
    answered = {text_of(unit.item, "call_id") for unit in history.live if says(unit.item) == "result"}
    for unit in history.live:
        if says(unit.item) == "call" and call_id_of(unit.item) not in answered:
            report.warn("lines/response_item", "the call has no result among the live items", f"line {unit.line.number}")
    if raws and raws[0].startswith(b"\xef\xbb\xbf"):
        report.warn("file", "the byte order mark at its start is not kept", "line 1")
    if any(raw.endswith(b"\r\n") for raw in raws):
        report.warn("file", "that lines end in CR LF is not kept", "line 1")
