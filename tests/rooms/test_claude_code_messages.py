"""What the lines of a transcript say, as standard messages: roles, content, calls, thinking, metadata."""

import json
from pathlib import Path
from typing import Any

import pytest

from adapters.claude_code.reader import read
from adapters.said import Copy, lay, lift
from eventstore.wire.codec import Number, dump, parse, parse_object
from eventstore.wire.message import check_message

SAMPLES = Path(__file__).parent.parent / "samples" / "claude_code"


@pytest.fixture(scope="module")
def blocks():
    return read((SAMPLES / "blocks.jsonl").read_bytes().splitlines(keepends=True))


def bodies(conversion, line: int) -> list[dict]:
    return [message.body for message in conversion.messages if message.line == line]


def one(*, content="x", kind="user", **fields) -> dict:
    """The message that a single line says."""
    message = {"role": kind, "content": content, **fields.pop("message", {})}
    record = {"type": kind, "uuid": "u", "parentUuid": None, "message": message, **fields}
    return read([json.dumps(record).encode()]).messages[0].body


@pytest.mark.parametrize("name", [path.stem for path in sorted(SAMPLES.glob("*.jsonl"))])
def test_every_message_is_one_the_hub_takes(name):
    for message in read((SAMPLES / f"{name}.jsonl").read_bytes().splitlines(keepends=True)).messages:
        check_message(parse_object(dump(message.body)))


def test_text_images_and_documents_become_parts_in_their_order(blocks):
    (body,) = bodies(blocks, 1)
    assert [part["type"] for part in body["content"]] == ["text", "image_url", "file"]
    assert body["content"][1]["image_url"]["url"].startswith("data:image/png;base64,iVBOR")
    assert body["content"][2]["file"] == {
        "filename": "a.pdf",
        "file_data": "data:application/pdf;base64,JVBERi0xLjQK",
    }
    assert body["metadata"]["origin"] == "human"


def test_thinking_is_a_list_of_items_and_says_that_some_cannot_be_read(blocks):
    (body,) = bodies(blocks, 2)
    signed = {"provider": "anthropic", "model": "claude-opus-4-6"}
    assert body["thinking"] == {
        "content": "A single dot.",
        "encrypted": True,
        "items": [
            {"text": "A single dot.", "signature": "c2lnbmF0dXJl", **signed},
            {"data": "b3BhcXVl", **signed},
        ],
    }
    assert body["content"] == "A dot."


def test_arguments_are_the_inputs_own_text(blocks):
    (body,) = bodies(blocks, 2)
    assert body["tool_calls"] == [
        {
            "id": "toolu_1",
            "type": "function",
            "function": {"name": "Read", "arguments": '{"file_path":"/ä","n":1.1}'},
        }
    ]


def test_each_result_is_a_message_and_the_text_beside_them_another(blocks):
    first, second, text = bodies(blocks, 4)
    assert (first["role"], first["tool_call_id"], second["tool_call_id"]) == ("tool", "toolu_1", "toolu_2")
    assert [part["type"] for part in first["content"]] == ["text", "image_url"]
    assert second["content"] == "no such file"
    assert (second["metadata"]["is_error"], second["metadata"]["status"]) == (True, "error")
    assert (text["role"], text["content"]) == ("user", "Both are done.")
    assert [body["native"].get("part", 0) for body in (first, second, text)] == [0, 1, 2]
    assert "record" in first["native"]
    assert "record" not in text["native"]


def test_what_has_no_place_is_in_the_report(blocks):
    kept = {item["path"]: item["count"] for item in blocks.report["kept_native"]}
    assert kept["blocks/user.tool_result.tool_reference"] == 1
    assert kept["blocks/assistant.server_tool_use"] == 1
    assert kept["fields/assistant.server_tool_use.input"] == 1
    warned = {(item["path"], item["example"]) for item in blocks.report["warnings"]}
    assert {("blocks/assistant", "line 5"), ("blocks/user", "line 4")} <= warned, "blocks were reordered"


def test_a_call_without_an_id_gets_one_from_its_place_and_text(blocks):
    (body,) = bodies(blocks, 12)
    assert body["tool_calls"][0]["id"].startswith("call_")
    assert body["tool_calls"][0]["function"]["arguments"] == '{"command": "ls', "broken JSON stays as it is"
    assert blocks.report["synthesised"][0]["path"] == "fields/assistant.tool_use.id"


@pytest.mark.parametrize(("line", "status"), [(6, "interrupted"), (7, None), (8, None), (9, None), (10, "error")])
def test_what_the_harness_says_is_marked(blocks, line, status):
    (body,) = bodies(blocks, line)
    assert body["metadata"]["origin"] == "harness"
    assert body["metadata"].get("status") == status


def test_a_synthetic_reply_names_no_model(blocks):
    (body,) = bodies(blocks, 10)
    assert "model" not in body["metadata"]


def test_a_reply_is_known_by_its_id_and_its_usage_is_numbers():
    metadata = bodies(read((SAMPLES / "parallel.jsonl").read_bytes().splitlines()), 5)[0]["metadata"]
    assert (metadata["reply_id"], metadata["model"], metadata["status"]) == ("msg_A", "claude-opus-4-6", "complete")
    assert metadata["usage"]["output_tokens"] == Number("9")
    assert set(metadata["usage"]) == {
        "input_tokens",
        "output_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
    }


def test_the_parent_is_the_nearest_message_upwards():
    conversion = read((SAMPLES / "parallel.jsonl").read_bytes().splitlines())
    parents = {message.native_id[-2:]: (message.parent_id or "")[-2:] for message in conversion.messages}
    assert parents["01"] == ""
    assert parents["06"] == "03"
    assert parents["14"] == "12", "not the system line between them"


@pytest.mark.parametrize(
    ("reply_id", "provider"),
    [("msg_01", "anthropic"), ("msg_bdrk_01", "bedrock"), ("msg_vrtx_01", "vertex")],
)
def test_a_signature_names_whose_it_is(reply_id, provider):
    thinking = [{"type": "thinking", "thinking": "", "signature": "s"}]
    body = one(kind="assistant", content=thinking, message={"id": reply_id})
    assert body["thinking"]["items"][0]["provider"] == provider
    assert (body["thinking"]["content"], body["thinking"]["encrypted"]) == (None, True)


def test_a_result_names_the_sub_agent_it_came_from():
    result = [{"type": "tool_result", "tool_use_id": "t", "content": "done"}]
    assert one(content=result, toolUseResult={"agentId": "a1"})["metadata"]["subagent"] == {"agent_id": "a1"}
    assert one(content=result, toolUseResult={"interrupted": True})["metadata"]["status"] == "interrupted"
    assert one(content=result, toolUseResult="Error: <tag>")["content"] == "done"


@pytest.mark.parametrize("content", [None, 7, {"a": 1}, [], [7], [{"type": "text"}], [{"type": "image", "source": {}}]])
def test_content_of_no_known_shape_is_no_content_but_a_message(content):
    body = one(content=content)
    assert (body["role"], body["content"]) == ("user", None)
    assert parse(json.dumps(content)) == body["native"]["record"]["message"]["content"]


@pytest.mark.parametrize("content", [None, [], 7, [{"type": "tool_reference"}]])
def test_a_result_without_content_is_empty(content):
    assert one(content=[{"type": "tool_result", "tool_use_id": "t", "content": content}])["content"] == ""


def test_a_time_that_is_none_is_left_out():
    assert "created_at" not in one(timestamp="yesterday")
    assert one(timestamp="2026-03-01T10:00:00.000Z")["created_at"] == "2026-03-01T10:00:00.000Z"


def test_an_append_id_fits_whatever_the_uuid_is():
    for uuid in ("x" * 500, "\ud800", "a\u0000b", " "):
        body = one(uuid=uuid)
        assert body["metadata"]["native_id"] == uuid
        assert 1 <= len(body["append_id"]) <= 200
        assert body["append_id"].isascii()


def test_what_a_message_says_is_taken_out_of_its_record_and_laid_back_in():
    record: dict[str, Any] = {
        "a": [{"text": "t" * 64}, {"input": {"n": Number("1.10"), "s": "s" * 64}}],
        "url": "d" * 64,
        "b": "short",
    }
    message = {
        "content": "t" * 64,
        "calls": [dump(record["a"][1]["input"])],
        "image": "data:x;base64," + "d" * 64,
        "b": "short",
    }
    copies = [
        Copy(("a", 0, "text"), ("content",)),
        Copy(("a", 1, "input"), ("calls", 0), "json"),
        Copy(("url",), ("image",), "data"),
        Copy(("b",), ("b",)),
    ]
    lifted, said = lift(record, message, copies)
    assert lifted == {"a": [{"text": None}, {"input": None}], "url": None, "b": "short"}
    assert len(said) == 3
    assert lay(lifted, message, said) == record


def test_what_a_message_says_in_other_words_stays_in_its_record():
    record, message = {"text": "one" * 40}, {"content": "two" * 40}
    assert lift(record, message, [Copy(("text",), ("content",))]) == (record, [])
