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
from array import array
from collections.abc import Iterable, Iterator, Mapping

from adapters.claude_code.fates import Fates, path_of
from adapters.claude_code.fields import account
from adapters.claude_code.live_branch import live_branch, subagent_branch
from adapters.claude_code.messages import Around, convert, digest_of
from adapters.claude_code.packed import NONE
from adapters.claude_code.picked import Picked
from adapters.claude_code.records import AGENT, Line
from adapters.claude_code.transcript import Transcript
from adapters.conversion import Conversion, Json, Message, NativeRecords
from adapters.json_lines import parse_line
from adapters.line_blocks import batches, blocks
from adapters.report import Report
from adapters.values import text_of

_known_version = re.compile(r"[12]\.\d+\.\d+")


def read(lines: Iterable[bytes], *, is_final: bool = True) -> Conversion:
    """Convert a transcript, given as its lines (with or without line ends). Never raises for what the lines hold.

    `is_final=False` is for a session that runs: the native records of the block at the end, and a torn last line, wait.
    """
    return Reading(list(lines), is_final=is_final).whole()


def read_subagent(
    lines: Iterable[bytes], *, sidecar: Json | None = None, tool_use_id: str = "", is_final: bool = True
) -> Conversion:
    """Convert a sub-agent's transcript; `meta.subagent` links it to the session and the call that started it.

    `sidecar` and `tool_use_id`: see `link_of`.
    """
    return Reading(list(lines), link_of(sidecar, tool_use_id), is_final=is_final).whole()


def link_of(sidecar: Json | None, tool_use_id: str) -> Json:
    """Return what is known of the call that started a sub-agent.

    `sidecar` is the value of `agent-<id>.meta.json`, where there is one; else the parent's `Conversion.subagents` may
    tell the `tool_use_id`.
    """
    told = sidecar or {}
    return {
        "tool_use_id": text_of(told, "toolUseId") or tool_use_id,
        "agent_type": text_of(told, "agentType"),
        "parent_agent_id": text_of(told, "parentAgentId"),
    }


class Reading:
    """A transcript that is read in passes over its lines, so that no more than a few of them are in memory at once.

    The first pass, right away, takes the facts of each line; `entries` takes two more, for the messages and for the
    rest. `lines` must give the same lines each time it is iterated; what is added to a growing file meanwhile is left
    for the next reading. `link` says what is known of a sub-agent's call; without one, the lines tell what they are.
    `file` is what the first pass gave, where it was made before.
    """

    def __init__(
        self, lines: Iterable[bytes], link: Json | None = None, *, is_final: bool = True, file: Transcript | None = None
    ) -> None:
        self._lines = lines
        self._file = file = file or Transcript(lines)
        held = file.lines
        spoken = [held.shape(index).is_sidechain for index in range(len(held)) if held.is_message(index)]
        self.is_subagent = link is not None or (bool(spoken) and all(spoken))
        branch = subagent_branch(file.tree) if self.is_subagent else live_branch(file.tree)
        live = (at for at in branch.indexes if held.is_message(at) and (self.is_subagent or not held.shape(at).is_sidechain))
        self.live = Picked(held, array("i", live))
        self._fates = Fates(file.tree, branch, self.live)
        self._cuts = blocks(file.sizes)
        open_block = self._cuts.pop() if not is_final and self._cuts else range(0)
        self._held = {index + 1 for index in open_block if self._is_kept(index + 1)}
        self.version = file.meta.version or "unknown"
        self.meta = self._meta(link or {})
        self.header: Json = {}
        self.subagents: Mapping[str, str] = file.meta.subagents
        self._report = Report(AGENT, self.version, "to_standard")

    def whole(self) -> Conversion:
        """Return all of it at once."""
        entries = tuple(self.entries())
        return Conversion(
            agent=AGENT,
            version=self.version,
            meta=self.meta,
            entries=entries,
            report=self.report(),
            off_branch=self.off_branch(),
            subagents=self.subagents,
            held_records=len(self._held),
        )

    def entries(self) -> Iterator[Message | NativeRecords]:
        """Yield the messages in the order of the live branch, then the native records. To be called once."""
        yield from self._messages()
        yield from batches(AGENT, self._file.numbered(self._lines), self._cuts, self._is_kept, self._file.versions)

    def report(self) -> Json:
        """Return the report, once all entries have been taken."""
        _account_lines(self._file, self._fates, self._held, self._report)
        _warn(self._file, self.live, self._fates, self._report)
        return self._report.to_dict()

    def off_branch(self) -> dict[str, str]:
        dead = (line for line in self._file.lines if line.is_message and not self._fates.is_live(line.number))
        return {line.uuid: self._fates.reason(line).partition(":")[0] for line in dead}

    def _messages(self) -> Iterator[Message]:
        for line, raw in self._in_live_order():
            box = [raw]
            del raw
            yield from messages_of(self._file, line, box, self.is_subagent, self._report)

    def _in_live_order(self) -> Iterator[tuple[Line, memoryview]]:
        """Yield the live lines with their text. Few stand elsewhere than in the file: those wait until their turn."""
        place_of = array("i", [NONE]) * len(self._file.lines)
        for place, index in enumerate(self.live.indexes):
            place_of[index] = place
        waiting: dict[int, memoryview] = {}
        turn = 0
        for number, raw in self._file.numbered(self._lines):
            if place_of[number - 1] == NONE:
                continue
            waiting[place_of[number - 1]] = raw
            del raw
            while turn in waiting:
                yield self.live[turn], waiting.pop(turn)
                turn += 1

    def _is_kept(self, number: int) -> bool:
        return not self._fates.is_live(number)

    def _meta(self, link: Json) -> Json:
        told = self._file.meta
        if not self.is_subagent:
            return told.session(told.first.get("sessionId", ""))
        agent_id = told.first.get("agentId", "")
        link = {"agent_id": agent_id, "parent_session_id": told.first.get("sessionId", ""), **link}
        meta = told.session(f"agent-{agent_id}" if agent_id else "")
        meta["subagent"] = {key: value for key, value in link.items() if value}
        return meta


def messages_of(file: Transcript, line: Line, box: list[memoryview], is_subagent: bool, report: Report) -> list[Message]:
    """Return the messages of the line in the box, which is empty then."""
    digest = digest_of(box[0])
    parsed = parse_line(box.pop())
    around = Around(file.parent_of(line), file.compaction_of(line), is_subagent, file.meta.first.get("sessionId", ""))
    done = convert(line, parsed, around, digest)
    where = f"line {line.number}"
    account(report, parsed.value, where, done.unsaid)
    for path in done.made_up:
        report.note("synthesised", f"fields/{path}", "the record has none that is usable; made from its place and text", where)
    if done.is_reordered:
        report.warn(f"blocks/{line.type}", "the order of blocks of different kinds is only in the native record", where)
    for message in done.messages:
        report.message(message.body["role"])
    return done.messages


def _account_lines(file: Transcript, fates: Fates, held: set[int], report: Report) -> None:
    for line in file.lines:
        if line.number in held:
            continue
        report.found("lines")
        if not fates.is_live(line.number):
            report.note("kept_native", path_of(line), fates.reason(line), f"line {line.number}")
        else:
            report.converted("lines")


def _warn(file: Transcript, live: Picked[Line], fates: Fates, report: Report) -> None:
    """Add what a reader of the report should look at, though it is counted elsewhere."""
    for line in file.lines:
        if line.problem:
            report.warn("lines/unreadable", line.problem, f"line {line.number}")
        if line.type == "attachment" and line.subtype == "queued_command":
            reason = "a prompt that was typed while the agent worked; this format keeps it beside the messages"
            report.warn(path_of(line), reason, f"line {line.number}")
    answered = {call for line in live for call in line.told.results}
    for line in live:
        for call in line.told.calls:
            if call not in answered:
                report.warn("blocks/assistant.tool_use", "the call has no result on the live branch", f"line {line.number}")
    newest = next((line for line in reversed(file.lines) if line.is_message), None)
    if newest and newest.told.is_meta and not fates.is_live(newest.number):
        reason = "the newest line is a meta line, so the rule takes an older branch; a line after it heals that"
        report.warn(path_of(newest), reason, f"line {newest.number}")
    if file.meta.version and not _known_version.match(file.meta.version):
        report.warn("fields/version", "written by a version this reader was not made for", file.meta.version[:40])
    if file.has_bom:
        report.warn("file", "the byte order mark at its start is not kept", "line 1")
    if file.has_crlf:
        report.warn("file", "that lines end in CR LF is not kept", "line 1")
