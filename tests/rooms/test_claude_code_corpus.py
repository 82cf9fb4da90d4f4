"""Every real Claude Code transcript in the corpus: the messages that the format's rule gives, and not a line lost."""

import json
from base64 import b64decode
from collections import Counter
from pathlib import Path

import pytest

from adapters import registry
from adapters.claude_code.reader import read
from adapters.said import lay
from eventstore.wire.codec import dump, parse, parse_object
from eventstore.wire.message import check_message
from eventstore.wire.requests import native_body


@pytest.fixture(scope="module")
def transcripts(corpus: Path) -> dict[str, list[bytes]]:
    folder = corpus / "claude-code"
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*.jsonl"))}
    if not files:
        pytest.skip(f"no Claude Code transcripts in {folder}")
    return {name: path.read_bytes().splitlines(keepends=True) for name, path in files.items()}


@pytest.fixture(scope="module")
def conversions(transcripts):
    return {name: read(lines) for name, lines in transcripts.items()}


class Rule:
    """The format's rule once more, written from its description and sharing nothing with the reader."""

    def __init__(self, lines: list[bytes]) -> None:
        chain_types = ("user", "assistant", "system", "attachment", "progress")
        records = [record for line in lines if (record := self.load(line)).get("type") in chain_types]
        self.nodes = {record["uuid"]: record for record in records if record.get("uuid")}
        self.place = {uuid: index for index, uuid in enumerate(self.nodes)}
        spoken = [node for node in self.nodes.values() if self.is_message(node)]
        self.is_subagent = bool(spoken) and all(node["isSidechain"] for node in spoken)

    @staticmethod
    def load(line: bytes) -> dict:
        try:
            return json.loads(line)
        except ValueError:
            return {}

    @staticmethod
    def is_message(node: dict) -> bool:
        return node["type"] in ("user", "assistant")

    def path(self, uuid: str | None) -> list[str]:
        path: list[str] = []
        while uuid and uuid in self.nodes and uuid not in path:
            path.insert(0, uuid)
            uuid = self.nodes[uuid]["parentUuid"]
        return path

    def blocks(self, uuid: str, kind: str) -> list[dict]:
        content = self.nodes[uuid].get("message", {}).get("content")
        return [block for block in content if block["type"] == kind] if isinstance(content, list) else []

    def leaf(self) -> str:
        if self.is_subagent:
            return max((u for u in self.nodes if self.is_message(self.nodes[u])), key=self.place.__getitem__)
        ends = self.nodes.keys() - {node["parentUuid"] for node in self.nodes.values()}
        leaves = {next(u for u in self.path(end)[::-1] if self.is_message(self.nodes[u])) for end in ends}
        main = {u for u in leaves if not any(self.nodes[u].get(k) for k in ("isSidechain", "isMeta", "teamName"))}
        return max(main or leaves, key=self.place.__getitem__)

    def plain(self) -> list[str]:
        return [uuid for uuid in self.path(self.leaf()) if self.is_message(self.nodes[uuid])]

    def live(self) -> list[str]:
        branch = self.plain()
        if self.is_subagent:
            return branch
        reply_of = {u: n["message"]["id"] for u, n in self.nodes.items() if n["type"] == "assistant"}
        for reply in dict.fromkeys(reply_of[u] for u in branch if u in reply_of):
            members = [uuid for uuid in self.nodes if reply_of.get(uuid) == reply]
            calls = {block["id"] for uuid in members for block in self.blocks(uuid, "tool_use")}
            answers = [u for u in self.nodes if calls & {block["tool_use_id"] for block in self.blocks(u, "tool_result")}]
            missing = [[u for u in group if u not in branch] for group in (members, answers)]
            added = [u for group in missing for u in sorted(group, key=lambda u: self.nodes[u]["timestamp"])]
            at = max(branch.index(u) for u in members if u in branch) + 1
            branch[at:at] = added
        return [uuid for uuid in branch if not self.nodes[uuid].get("isSidechain")]


def test_the_messages_are_those_of_the_rule_in_its_order(transcripts, conversions):
    for name, lines in transcripts.items():
        rule = Rule(lines)
        expected = [uuid for uuid in rule.live() for _ in range(max(1, len(rule.blocks(uuid, "tool_result"))))]
        assert [message.native_id for message in conversions[name].messages] == expected, name


def test_no_result_of_the_live_branch_is_lost_as_a_plain_walk_loses_them(transcripts, conversions):
    lost_by_plain_walk = 0
    for name, lines in transcripts.items():
        rule = Rule(lines)
        live = [block["tool_use_id"] for uuid in rule.live() for block in rule.blocks(uuid, "tool_result")]
        plain = [block["tool_use_id"] for uuid in rule.plain() for block in rule.blocks(uuid, "tool_result")]
        bodies = [message.body for message in conversions[name].messages]
        results = [body["tool_call_id"] for body in bodies if body["role"] == "tool"]
        assert results == live, name
        assert {call["id"] for body in bodies for call in body.get("tool_calls", [])} == set(results), name
        lost_by_plain_walk += len(live) - len(plain)
    assert lost_by_plain_walk > 0, "the corpus no longer shows what this guards against"


def test_what_is_found_is_converted_or_reported(transcripts, conversions):
    for name, lines in transcripts.items():
        counts = dict(conversions[name].report["counts"])
        roles = Counter(message.body["role"] for message in conversions[name].messages)
        assert counts.pop("messages") == roles, name
        assert counts["lines"]["found"] == len(lines), name
        for unit, of_unit in counts.items():
            assert of_unit["found"] == sum(of_unit.values()) - of_unit["found"], (name, unit)
        assert counts["blocks"]["kept_native"] == 0, name


def test_every_line_is_there_once_and_is_the_same_value(transcripts, conversions):
    for name, lines in transcripts.items():
        back: dict[int, object] = {}
        for message in conversions[name].messages:
            native = parse(dump(message.body["native"]))
            if "part" not in native:
                assert message.line not in back, name
                back[message.line] = lay(native["record"], message.body, native.get("said", []))
        for batch in conversions[name].natives:
            for record in parse(dump(batch.body["records"])):
                assert record["line"].as_int() not in back, name
                back[record["line"].as_int()] = kept(record)
        assert [back[number] for number in sorted(back)] == [parse(line.decode()) for line in lines], name


def kept(record: dict):
    if "base64" in record:
        return b64decode(record["base64"])
    return record["record"] if "record" in record else parse(record["raw"])


def test_the_hub_takes_every_entry(conversions):
    for conversion in conversions.values():
        assert len({entry.append_id for entry in conversion.entries}) == len(conversion.entries)
        for message in conversion.messages:
            check_message(parse_object(dump(message.body)))
        for batch in conversion.natives:
            text = dump(batch.body)
            native_body(text)
            assert len(text) < 1024 * 1024


def test_a_message_is_hardly_longer_than_its_line(transcripts, conversions):
    for name, conversion in conversions.items():
        size = sum(len(dump(entry.body).encode()) for entry in conversion.entries)
        assert size < 2 * sum(map(len, transcripts[name])) + 2000, name


def test_reading_again_says_the_same(transcripts, conversions):
    for name, lines in transcripts.items():
        again = read(line.rstrip(b"\n") for line in lines)
        assert (again.entries, again.meta, again.report) == (
            conversions[name].entries,
            conversions[name].meta,
            conversions[name].report,
        )


def test_a_session_pushed_in_steps_appends_each_message_once(transcripts, conversions):
    for name, lines in transcripts.items():
        bodies: dict[str, str] = {}
        lines_of: dict[str, str] = {}
        step = max(1, len(lines) // 60)
        for end in [*range(1, len(lines), step), len(lines)]:
            for message in read(lines[:end], is_final=False).messages:
                body = dump(message.body)
                lines_of[message.append_id] = message.native_id
                assert bodies.setdefault(message.append_id, body) == body, name
        whole = conversions[name]
        live = {message.append_id for message in whole.messages}
        assert live <= bodies.keys(), name
        assert all(lines_of[append_id] in whole.off_branch for append_id in bodies.keys() - live), name


def test_each_is_known_by_its_content(transcripts):
    for name, lines in transcripts.items():
        found = registry.detect(lines)
        assert found is not None, name
        assert (found.agent, found.confidence) == ("claude-code", 1.0), name


def test_sub_agents_are_named_with_the_call_that_started_them(transcripts, conversions):
    started = {agent: call for conversion in conversions.values() for agent, call in conversion.subagents.items()}
    for name, conversion in conversions.items():
        if "subagents/" in name and "acompact" not in name:
            link = conversion.meta["subagent"]
            assert link["agent_id"] in started, name
            assert link["parent_session_id"] == name.split("/")[0]
