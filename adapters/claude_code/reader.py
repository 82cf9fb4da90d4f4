"""Claude Code to standard messages: a transcript's lines in, what the hub shall append out.

**What is a message.** Every user or assistant line of the live branch (`live_branch`), side chains left out, is one; a
user line with several tool results is one per result, and one more when text stands beside them. Meta lines (hook
feedback, caveats) count: the model saw them; `metadata.origin` is `harness`. So the number of messages is the number of
live user and assistant lines, plus what lines with several results add, which current versions no longer write.

**Why a line, and not a reply.** A reply of the API is several lines, and other lines may come between them. A message
that is in the log never changes, so a message made of a whole reply could only be appended when the reply is known to
be over, which this format does not say; a tailing reader would wait, or a later push would contradict an earlier one.
Lines never change, so neither do these messages; `metadata.reply_id` joins them again.

**Order.** That of the live branch: a reply in one piece, then its results. A session pushed while it runs may have a
result before the reply's next line, as it happened; the messages are the same.

**When the file grows.** Append ids stay, so a new push adds only what is new. A rewind abandons messages that may
already be in the log: they stay there, `off_branch` names them (`abandoned`; those that a compaction replaced are
`compacted` and no rewind), and the new messages' `parent_id` tells where the branch left. There a follower has to fork.
A fresh push holds the live branch only.

**Everything else** (progress, attachments, dead branches, side chains, unknown and torn lines) is a native record, by
line number. Sub-agents' files are sessions of their own: `read_subagent`, or `read`, which knows them by their lines.
"""

import re
from collections.abc import Iterable, Sequence

from adapters.claude_code.fates import path_of, reasons
from adapters.claude_code.fields import account
from adapters.claude_code.live_branch import live_branch, subagent_branch
from adapters.claude_code.messages import Around, convert
from adapters.claude_code.natives import batches
from adapters.claude_code.records import AGENT, Line, parse_line, text_of
from adapters.claude_code.transcript import Transcript
from adapters.conversion import Conversion, Json, Message
from adapters.report import Report

_known_version = re.compile(r"[12]\.\d+\.\d+")


def read(lines: Iterable[bytes], *, is_final: bool = True) -> Conversion:
    """Convert a transcript, given as its lines (with or without line ends). Never raises for what the lines hold.

    `is_final=False` is for a session that runs: the native records of the block at the end, and a torn last line, wait.
    """
    file = Transcript(lines)
    spoken = [line for line in file.lines if line.is_message]
    if spoken and all(line.is_sidechain for line in spoken):
        return _subagent(file, {}, is_final)
    branch = live_branch(file.tree)
    live = [line for line in branch if line.is_message and not line.is_sidechain]
    meta = file.meta.session(file.meta.first.get("sessionId", ""))
    return _conversion(file, branch, live, meta, is_final)


def read_subagent(
    lines: Iterable[bytes], *, sidecar: Json | None = None, tool_use_id: str = "", is_final: bool = True
) -> Conversion:
    """Convert a sub-agent's transcript; `meta.subagent` links it to the session and the call that started it.

    `sidecar` is the value of `agent-<id>.meta.json`, where there is one; else the parent's `Conversion.subagents` may
    tell the `tool_use_id`.
    """
    told = sidecar or {}
    link = {
        "tool_use_id": text_of(told, "toolUseId") or tool_use_id,
        "agent_type": text_of(told, "agentType"),
        "parent_agent_id": text_of(told, "parentAgentId"),
    }
    return _subagent(Transcript(lines), link, is_final)


def _subagent(file: Transcript, link: Json, is_final: bool) -> Conversion:
    branch = subagent_branch(file.tree)
    agent_id = file.meta.first.get("agentId", "")
    link = {"agent_id": agent_id, "parent_session_id": file.meta.first.get("sessionId", ""), **link}
    meta = file.meta.session(f"agent-{agent_id}" if agent_id else "")
    meta["subagent"] = {key: value for key, value in link.items() if value}
    return _conversion(file, branch, [line for line in branch if line.is_message], meta, is_final, is_subagent=True)


def _conversion(
    file: Transcript,
    branch: Sequence[Line],
    live: Sequence[Line],
    meta: Json,
    is_final: bool,
    *,
    is_subagent: bool = False,
) -> Conversion:
    report = Report(AGENT, file.meta.version or "unknown", "to_standard")
    said = [message for line in live for message in _messages(file, line, is_subagent, report)]
    why = reasons(file.tree, file.lines, branch, {line.number for line in live})
    natives, held = batches(file, set(why), closed_only=not is_final)
    _account_lines(file, why, held, report)
    _warn(file, live, why, report)
    return Conversion(
        agent=AGENT,
        version=report.version,
        meta=meta,
        entries=(*said, *natives),
        report=report.to_dict(),
        off_branch={line.uuid: why[line.number].partition(":")[0] for line in file.lines if line.is_message and line.number in why},
        subagents=file.meta.subagents,
        held_records=len(held),
    )


def _messages(file: Transcript, line: Line, is_subagent: bool, report: Report) -> list[Message]:
    raw = file.raws[line.number - 1]
    parsed = parse_line(raw)
    done = convert(
        line, raw, parsed, Around(file.parent_of(line), file.compaction_of(line), is_subagent, file.meta.first.get("sessionId", ""))
    )
    where = f"line {line.number}"
    account(report, parsed.value, where, done.unsaid)
    for path in done.made_up:
        report.note("synthesised", f"fields/{path}", "the record has none that is usable; made from its place and text", where)
    if done.is_reordered:
        report.warn(f"blocks/{line.type}", "the order of blocks of different kinds is only in the native record", where)
    for message in done.messages:
        report.message(message.body["role"])
    return done.messages


def _account_lines(file: Transcript, why: dict[int, str], held: set[int], report: Report) -> None:
    for line in file.lines:
        if line.number in held:
            continue
        report.found("lines")
        if line.number in why:
            report.note("kept_native", path_of(line), why[line.number], f"line {line.number}")
        else:
            report.converted("lines")


def _warn(file: Transcript, live: Sequence[Line], why: dict[int, str], report: Report) -> None:
    """Add what a reader of the report should look at, though it is counted elsewhere."""
    for line in file.lines:
        if line.problem:
            report.warn("lines/unreadable", line.problem, f"line {line.number}")
        if line.type == "attachment" and line.subtype == "queued_command":
            reason = "a prompt that was typed while the agent worked; this format keeps it beside the messages"
            report.warn(path_of(line), reason, f"line {line.number}")
    answered = {call for line in live for call in line.results}
    for line in live:
        for call in line.calls:
            if call not in answered:
                report.warn("blocks/assistant.tool_use", "the call has no result on the live branch", f"line {line.number}")
    newest = max((line for line in file.lines if line.is_message), key=lambda line: line.number, default=None)
    if newest and newest.is_meta and newest.number in why:
        reason = "the newest line is a meta line, so the rule takes an older branch; a line after it heals that"
        report.warn(path_of(newest), reason, f"line {newest.number}")
    if file.meta.version and not _known_version.match(file.meta.version):
        report.warn("fields/version", "written by a version this reader was not made for", file.meta.version[:40])
    if file.has_bom:
        report.warn("file", "the byte order mark at its start is not kept", "line 1")
    if file.has_crlf:
        report.warn("file", "that lines end in CR LF is not kept", "line 1")
