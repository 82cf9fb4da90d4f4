"""Which lines of a transcript are live: every trap of the tree, on small samples and on drawn trees."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.claude_code.live_branch import live_branch
from adapters.claude_code.reader import read, read_subagent
from adapters.claude_code.transcript import Transcript

SAMPLES = Path(__file__).parent.parent / "samples" / "claude_code"


def sample(name: str) -> list[bytes]:
    return (SAMPLES / f"{name}.jsonl").read_bytes().splitlines(keepends=True)


def order(lines) -> list[int]:
    """The last two digits of the live messages' uuids, in order."""
    return [int(message.native_id[-2:]) for message in read(lines).messages]


def line(uuid, parent, kind="user", content="x", **fields) -> bytes:
    message = {"role": kind, "content": content, **fields.pop("message", {})}
    return json.dumps({"type": kind, "uuid": uuid, "parentUuid": parent, "message": message, **fields}).encode()


def live(*lines) -> list[str]:
    return [node.uuid for node in live_branch(Transcript(lines).tree)]


def test_results_of_parallel_calls_are_put_back_behind_their_reply():
    assert order(sample("parallel")) == [1, 2, 3, 4, 6, 7, 8, 9, 11, 10, 12, 14]


def test_every_live_call_of_the_sample_has_its_result():
    messages = [message.body for message in read(sample("parallel")).messages]
    calls = [call["id"] for body in messages for call in body.get("tool_calls", [])]
    answers = [body["tool_call_id"] for body in messages if body["role"] == "tool"]
    assert sorted(calls) == sorted(answers) == ["toolu_1", "toolu_2", "toolu_3", "toolu_4"]


def test_a_rewound_branch_and_a_side_chain_are_not_live():
    conversion = read(sample("rewind"))
    assert order(sample("rewind")) == [1, 2, 5, 6]
    assert {uuid[-2:]: reason for uuid, reason in conversion.off_branch.items()} == {
        "03": "abandoned",
        "04": "abandoned",
        "20": "sidechain",
        "21": "sidechain",
    }


def test_a_compaction_leaves_its_summary_and_what_follows():
    conversion = read(sample("compaction"))
    assert order(sample("compaction")) == [8, 9]
    assert set(conversion.off_branch.values()) == {"compacted"}
    assert len(conversion.off_branch) == 6, "the parallel result before the boundary is compacted too"
    summary = conversion.messages[0].body["metadata"]
    assert summary["origin"] == "harness"
    assert summary["compaction"]["trigger"] == "auto"
    assert summary["compaction"]["replaces_through"].endswith("06")


def test_progress_lines_carry_the_chain_without_being_messages():
    assert order(sample("agent-a1")) == [1, 3, 4, 5]


def test_a_sub_agents_file_is_known_by_its_lines():
    by_name, by_lines = read_subagent(sample("agent-a1"), tool_use_id="toolu_2"), read(sample("agent-a1"))
    assert by_name.entries == by_lines.entries
    assert by_name.meta["subagent"] == {
        "agent_id": "a1",
        "parent_session_id": "5e551017-0000-4000-8000-000000000001",
        "tool_use_id": "toolu_2",
    }
    assert by_name.meta["native_session_id"] == "agent-a1"


def test_a_sub_agents_abandoned_line_is_no_side_chain_of_its_own_file():
    lines = [line("a", None, isSidechain=True), line("b", "a", isSidechain=True), line("c", "a", isSidechain=True)]
    assert read(lines).off_branch == {"b": "abandoned"}


def test_a_side_file_tells_more_of_a_sub_agent():
    sidecar = {"agentType": "Explore", "toolUseId": "toolu_7", "parentAgentId": "a0"}
    link = read_subagent(sample("agent-a1"), sidecar=sidecar, tool_use_id="toolu_2").meta["subagent"]
    assert (link["agent_type"], link["tool_use_id"], link["parent_agent_id"]) == ("Explore", "toolu_7", "a0")


def test_a_meta_line_at_the_end_is_live_on_a_single_path():
    assert live(line("a", None), line("b", "a", isMeta=True)) == ["a", "b"]


def test_a_meta_line_that_ends_a_file_with_forks_gives_way_and_the_report_says_so():
    lines = [line("a", None), line("b", "a"), line("c", "a"), line("d", "c", isMeta=True)]
    assert live(*lines) == ["a", "b"]
    assert any("meta line" in item["reason"] for item in read(lines).report["warnings"])


def test_a_result_elsewhere_in_the_tree_answers_only_an_open_call():
    call = line("a", None, "assistant", [{"type": "tool_use", "id": "t", "name": "n", "input": {}}], message={"id": "m"})
    answer = [{"type": "tool_result", "tool_use_id": "t", "content": "r"}]
    stray = line("s", "elsewhere", "user", answer)
    assert live(call, stray, line("b", "a")) == ["a", "s", "b"]
    assert live(call, line("r", "a", "user", answer), stray, line("b", "r")) == ["a", "r", "b"]


def test_a_type_of_a_later_release_does_not_cut_the_branch():
    new = json.dumps({"type": "new-thing", "uuid": "n", "parentUuid": "a"}).encode()
    beside = json.dumps({"type": "other-thing", "uuid": "o"}).encode()
    assert live(line("a", None), new, beside, line("b", "n")) == ["a", "n", "b"]


def test_a_line_written_again_counts_once_and_keeps_its_place():
    lines = [line("a", None), line("b", "a"), line("b", "a")]
    conversion = read(lines)
    assert [message.line for message in conversion.messages] == [1, 2]
    assert conversion.natives[0].lines == (3,)


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [b"\n"],
        [b"{}"],
        [line("a", "a")],
        [line("a", "b"), line("b", "a")],
        [line("a", "nowhere")],
        [json.dumps({"type": "user", "uuid": 7, "parentUuid": {}, "message": []}).encode()],
        [b'{"type":["user"],"uuid":"a","message":{"content":[{"type":{}},{"type":"tool_use"},[],3]}}'],
    ],
)
def test_no_tree_is_too_odd_to_be_read(lines):
    conversion = read(lines)
    assert conversion.report["counts"].get("lines", {"found": 0})["found"] == len(lines)


def by_the_rule(records: list[dict]) -> set[str]:
    """The rule again, told another way: as sets, on the records themselves."""
    nodes = {record["uuid"]: record for record in records}
    place = {record["uuid"]: index for index, record in enumerate(records)}

    def path(uuid):
        return [*path(nodes[uuid]["parentUuid"]), uuid] if uuid in nodes else []

    def blocks(uuid, kind, key):
        content = nodes[uuid].get("message", {}).get("content")
        return {block[key] for block in content if block["type"] == kind} if isinstance(content, list) else set()

    ends = set(nodes) - {record["parentUuid"] for record in records}
    paths = ([uuid for uuid in path(end) if nodes[uuid]["type"] in ("user", "assistant")] for end in ends)
    leaves = {spoken[-1] for spoken in paths if spoken}
    if not leaves:
        return set()
    alive = set(path(max(leaves, key=place.__getitem__)))
    replies = {nodes[uuid]["message"]["id"] for uuid in alive if nodes[uuid]["type"] == "assistant"}
    members = {uuid for uuid in nodes if nodes[uuid]["type"] == "assistant" and nodes[uuid]["message"]["id"] in replies}
    calls = set().union(*(blocks(uuid, "tool_use", "id") for uuid in members))
    results = {uuid for uuid in nodes if blocks(uuid, "tool_result", "tool_use_id") & calls}
    return alive | members | results


@st.composite
def turns(draw) -> list[dict]:
    """Records of a session as the agent writes them: replies of several lines, parallel results, progress, rewinds."""
    records: list[dict] = []
    spoken: list[str] = []

    def add(kind, parent, **fields):
        uuid = f"u{len(records)}"
        records.append({"type": kind, "uuid": uuid, "parentUuid": parent, "timestamp": f"{len(records):04}", **fields})
        return uuid

    for turn in range(draw(st.integers(1, 4))):
        rewinds = spoken and draw(st.integers(0, 3)) == 0
        parent = draw(st.sampled_from(spoken)) if rewinds else spoken[-1] if spoken else None
        parent = add("user", parent, message={"content": "go on"})
        for reply in range(draw(st.integers(1, 3))):
            calls = []
            for index in range(draw(st.integers(0, 3))):
                block = {"type": "tool_use", "id": f"t{turn}.{reply}.{index}", "name": "n", "input": {}}
                parent = add("assistant", parent, message={"id": f"m{turn}.{reply}", "content": [block]})
                calls.append((parent, block["id"]))
                if draw(st.integers(0, 4)) == 0:
                    add("progress", parent)
            for caller, call in draw(st.permutations(calls)):
                block = {"type": "tool_result", "tool_use_id": call, "content": "r"}
                parent = add("user", caller, message={"content": [block]})
        parent = add("assistant", parent, message={"id": f"m{turn}", "content": [{"type": "text", "text": "done"}]})
        spoken.append(parent)
    return records


@settings(deadline=None)
@given(turns())
def test_the_live_branch_of_any_session_is_what_the_rule_says(records):
    lines = [json.dumps(record).encode() for record in records]
    got = live(*lines)
    assert len(got) == len(set(got))
    assert set(got) == by_the_rule(records)
    parents = {record["uuid"]: record["parentUuid"] for record in records}
    for index, uuid in enumerate(got):
        assert parents[uuid] is None or parents[uuid] in got[:index], "a line never comes before the one it answers"


@settings(deadline=None)
@given(turns())
def test_no_live_call_of_a_whole_session_is_left_without_its_result(records):
    conversion = read([json.dumps(record).encode() for record in records])
    bodies = [message.body for message in conversion.messages]
    calls = {call["id"] for body in bodies for call in body.get("tool_calls", [])}
    assert calls == {body["tool_call_id"] for body in bodies if body["role"] == "tool"}
    assert not conversion.report["warnings"]
