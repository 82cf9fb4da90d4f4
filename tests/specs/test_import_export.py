"""An agent's file goes in over REST, once, and a session comes out in any agent's own format, with a report of what went where."""

import base64
import json
from pathlib import Path

import anyio
import pytest
from hubs import HubProcess, running_hub
from restclient import Refused, Rest

from adapters import registry

SAMPLES = Path(__file__).parent.parent / "samples"
CLAUDE = (Path(__file__).parents[2] / "cli" / "samples" / "relay-timer.jsonl").read_bytes()
HEADER = b'{"type":"session","schema_version":1,"meta":{"native_session_id":"%b"}}\n'
COUNTS = ("found", "appended", "repeated", "native")
ANOTHER = "0d3c2a1e-9c1f-4a52-8f3e-2f6d0c6c1b11"
SECRET = "gh" + "p_" + "a1B2" * 9


async def imported(rest: Rest, raw: bytes, **query: str):
    return await rest.call("POST", "/v1/import", raw, params={"project_id": rest.project_id, **query})


async def exported(rest: Rest, session_id: str, to: str, **query: str):
    return await rest.call("GET", f"/v1/sessions/{session_id}/export", params={"to": to, **query})


def said(*texts: str, name: str = "s1") -> bytes:
    lines = (json.dumps({"role": "user", "content": text, "append_id": text[:40]}).encode() + b"\n" for text in texts)
    return HEADER % name.encode() + b"".join(lines)


def sums(report) -> list[bool]:
    counts = (count for unit, count in report["counts"].items() if unit != "messages")
    return [count["found"] == sum(count.values()) - count["found"] for count in counts]


# --- in


async def test_a_file_goes_in_whole_and_the_answer_says_where_and_what_became_of_it(rest: Rest):
    answer = await imported(rest, CLAUDE)
    assert (answer["_status"], answer["agent"], answer["created"], answer["duplicate"]) == (201, "claude-code", True, False)
    assert {name: answer[name] for name in COUNTS} == {"found": 20, "appended": 17, "repeated": 0, "native": 3}
    assert answer["report"]["direction"] == "to_standard"
    assert all(sums(answer["report"]))
    messages = await rest.read(answer["session_id"])
    assert len(messages) == 17
    assert messages[-1]["seq"] == answer["head_seq"]
    (listed,) = (await rest.sessions())["sessions"]
    assert (listed["session_id"], listed["project_id"]) == (answer["session_id"], answer["project_id"])
    assert listed["meta"]["native_session_id"] == answer["native_session_id"]


async def test_the_same_file_again_adds_nothing_and_says_so(rest: Rest):
    first = await imported(rest, CLAUDE)
    head = await rest.log_head()
    again = await imported(rest, CLAUDE, agent="claude-code")
    assert (again["_status"], again["duplicate"], again["created"]) == (200, True, False)
    assert {name: again[name] for name in COUNTS} == {"found": 20, "appended": 0, "repeated": 17, "native": 3}
    assert (again["session_id"], await rest.log_head()) == (first["session_id"], head)


async def test_one_that_has_grown_adds_what_is_new(rest: Rest):
    first = await imported(rest, said("a", "b"))
    grown = await imported(rest, said("a", "b", "c"))
    assert (grown["session_id"], grown["appended"], grown["repeated"]) == (first["session_id"], 1, 2)
    assert await rest.texts(first["session_id"]) == ["a", "b", "c"]
    shorter = await imported(rest, said("a", "b"))
    assert (shorter["duplicate"], len(shorter["notes"])) == (True, 1)


async def test_two_at_once_are_one_session(rest: Rest):
    answers = []

    async def bring() -> None:
        answers.append(await imported(rest, CLAUDE))

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(bring)
    assert len({answer["session_id"] for answer in answers}) == 1
    assert sum(answer["appended"] for answer in answers) == 17
    assert len(await rest.read(answers[0]["session_id"])) == 17


async def test_a_secret_is_gone_before_it_is_stored_wherever_it_stood(rest: Rest):
    native = json.dumps({"agent": "claude-code", "version": "2", "records": [{"kept": SECRET}]}).encode() + b"\n"
    header = json.dumps({"type": "session", "schema_version": 1, "meta": {"native_session_id": "s", "title": SECRET}}).encode()
    before = await rest.log_head()
    answer = await imported(rest, header + b"\n" + said(f"token {SECRET}").split(b"\n", 1)[1] + native)
    assert sum(answer["redactions"].values()) == 3
    for path in (
        f"/v1/sessions/{answer['session_id']}/lineage",
        f"/v1/log?after_seq={before}",
        f"/v1/sessions/{answer['session_id']}/export?to=messages",
    ):
        assert SECRET not in (await rest.http.get(path, params={} if "?" in path else None)).text


async def test_the_last_line_may_be_torn_and_bad_ones_are_reported(rest: Rest):
    torn = await imported(rest, said("a") + b"not json\n" + b'{"role":"us')
    assert torn["appended"] == 1
    assert {item["reason"] for item in torn["report"]["kept_native"]} >= {"the last line is torn: its end was not written"}
    whole = await exported(rest, torn["session_id"], "messages")
    assert whole["files"][0]["content"].splitlines()[-2:] == ["not json", '{"role":"us']
    healed = await imported(rest, said("a") + b"not json\n" + b'{"role":"user","content":"b"}\n')
    assert (healed["session_id"], healed["appended"]) == (torn["session_id"], 1)


@pytest.mark.parametrize(
    ("raw", "query", "status", "code"),
    [
        (b"hello\n", {}, 422, "unsupported_format"),
        (CLAUDE.replace(b"\n", b""), {}, 422, "unsupported_format"),
        (b"SQLite format 3\0...", {}, 422, "unsupported_format"),
        (b"\xff\xfe\n", {"agent": "hermes"}, 422, "unsupported_format"),
        (CLAUDE, {"agent": "hermes"}, 422, "unsupported_format"),
        (CLAUDE, {"agent": "fortran"}, 422, "unknown_agent"),
        (CLAUDE, {"project_id": ""}, 400, "invalid_request"),
        (CLAUDE, {"project_id": "x" * 201}, 400, "invalid_request"),
        (CLAUDE, {"projekt": "p"}, 400, "invalid_request"),
        (b"", {}, 400, "invalid_request"),
    ],
)
async def test_what_cannot_be_brought_in_is_refused_and_writes_nothing(rest: Rest, raw: bytes, query: dict, status: int, code: str):
    head = await rest.log_head()
    with pytest.raises(Refused) as refused:
        await imported(rest, raw, **query)
    assert (refused.value.status, refused.value.code) == (status, code)
    assert await rest.log_head() == head


async def test_a_file_in_which_nothing_was_said_is_a_session_too(rest: Rest):
    answer = await imported(rest, said())
    assert (answer["_status"], answer["created"], answer["found"]) == (201, True, 0)
    assert (await imported(rest, said()))["duplicate"]


async def test_a_form_and_a_compressed_body_are_refused_with_what_to_do(rest: Rest):
    for headers in ({"Content-Type": "multipart/form-data; boundary=x"}, {"Content-Encoding": "gzip"}):
        with pytest.raises(Refused) as refused:
            await rest.call("POST", "/v1/import", CLAUDE, params={"project_id": "p"}, headers=headers)
        assert refused.value.code == "invalid_request"
    with pytest.raises(Refused, match="--data-binary"):
        await imported(rest, CLAUDE.replace(b"\n", b""))


async def test_a_line_that_was_changed_is_told_and_what_the_hub_has_stays(rest: Rest):
    first = await imported(rest, said("a", "b"))
    with pytest.raises(Refused) as refused:
        await imported(rest, said("a", "b").replace(b'"content": "b"', b'"content": "B"'))
    assert (refused.value.status, refused.value.code) == (409, "append_id_reused")
    assert "Line 3" in refused.value.detail
    assert await rest.texts(first["session_id"]) == ["a", "b"]


async def test_one_that_was_deleted_stays_deleted(rest: Rest):
    first = await imported(rest, said("a"))
    await rest.delete(first["session_id"])
    with pytest.raises(Refused) as refused:
        await imported(rest, said("a"))
    assert refused.value.code == "session_deleted"


async def test_a_file_over_a_limit_is_refused_naming_it_before_anything_is_written(module_database: str):
    limits = {"message_bytes_max": 2000, "request_bytes_max": 9000, "meta_bytes_max": 300, "request_messages_max": 2}
    with running_hub(module_database, **limits) as hub:
        async with hub.client() as http:
            rest = Rest(http, "limits")
            head = await rest.log_head()
            for raw, limit, facts in (
                (said("a", "x" * 2000), "message_bytes_max", {"value": 2000, "line": 3}),
                (said(*(f"{n}{'x' * 900}" for n in range(10))), "request_bytes_max", {"value": 9000}),
                (said("a", name="x" * 300), "meta_bytes_max", {"value": 300}),
            ):
                with pytest.raises(Refused) as refused:
                    await imported(rest, raw)
                assert (refused.value.status, refused.value.problem["limit"]) == (413, limit)
                assert facts.items() <= refused.value.problem.items()
            assert await rest.log_head() == head
            assert (await imported(rest, said(*"abcdefg")))["appended"] == 7


# --- out


async def test_a_session_comes_out_for_every_agent_with_a_report_that_adds_up(rest: Rest):
    session_id = (await imported(rest, CLAUDE))["session_id"]
    for agent, writer in registry.WRITERS.items():
        answer = await exported(rest, session_id, agent, cwd="/work", model="acme/large")
        assert (answer["session_id"], answer["agent"], answer["purged"], answer["left_out"]) == (session_id, agent, 0, [])
        assert answer["report"]["direction"] == "from_standard"
        assert all(sums(answer["report"]))
        (file,) = answer["files"]
        assert file["name"].endswith(f".{writer.suffix}")
        again = await imported(Rest(rest.http, f"{rest.project_id}-{agent}"), file["content"].encode())
        assert (again["agent"], again["native_session_id"]) == (agent, answer["native_session_id"])


async def test_what_the_target_agent_is_told_decides_where_it_goes(rest: Rest):
    session_id = await rest.create()
    await rest.append(session_id, "hello")
    answer = await exported(rest, session_id, "claude-code", cwd="/srv/my app", version="2.1.100")
    assert answer["version"] == "2.1.100"
    assert answer["files"][0]["name"] == f"projects/-srv-my-app/{answer['native_session_id']}.jsonl"
    records = [json.loads(line) for line in answer["files"][0]["content"].splitlines()]
    assert {record["cwd"] for record in records if "cwd" in record} == {"/srv/my app"}


async def test_a_fork_comes_out_with_what_it_inherits(rest: Rest):
    session_id = (await imported(rest, CLAUDE))["session_id"]
    messages = await rest.read(session_id)
    snapshot = await rest.snapshot(session_id, up_to_seq=messages[4]["seq"])
    fork = await rest.fork(snapshot["snapshot_id"])
    await rest.append(fork, "another way")
    answer = await exported(rest, fork, "messages")
    lines = [json.loads(line) for line in answer["files"][0]["content"].splitlines()]
    said_there = [line for line in lines if "role" in line]
    assert [line["seq"] for line in said_there[:5]] == [message["seq"] for message in messages[:5]]
    assert (len(said_there), said_there[-1]["content"]) == (6, "another way")
    assert answer["head_seq"] == said_there[-1]["seq"]


async def test_the_sub_agents_of_a_session_come_out_with_it_for_any_agent(rest: Rest):
    parent = await rest.create(meta={"agent_source": "claude-code", "native_session_id": "5e551017-9c1f-4a52-8f3e-2f6d0c6c1b11"})
    link = {"agent_id": "a1", "parent_session_id": "5e551017-9c1f-4a52-8f3e-2f6d0c6c1b11"}
    child = await rest.create(meta={"agent_source": "claude-code", "native_session_id": "agent-a1", "subagent": link})
    hubs_own, another = [await rest.create(meta={"parent_session_id": parent}) for _ in range(2)]
    for session_id, text in ((parent, "⟦1⟧"), (child, "⟦2⟧"), (hubs_own, "⟦3⟧"), (another, "⟦4⟧")):
        await rest.append(session_id, text)
    for agent in registry.WRITERS:
        answer = await exported(rest, parent, agent, cwd="/work")
        assert [one["session_id"] for one in answer["subagents"]] == [child, hubs_own, another]
        assert len({file["name"] for file in answer["files"]}) == len(answer["files"]) >= 4
        holders = [{file["name"] for file in answer["files"] if f"⟦{number}⟧" in file["content"]} for number in (1, 2, 3, 4)]
        assert len(set.union(*holders)) == sum(map(len, holders)) == 4
    assert [one["session_id"] for one in (await exported(rest, child, "messages"))["subagents"]] == []


async def test_a_fork_is_another_session_to_the_agent_unless_the_agent_itself_went_on_there(rest: Rest):
    first = await imported(rest, CLAUDE)
    fork = await rest.fork((await rest.snapshot(first["session_id"]))["snapshot_id"])
    own = await rest.fork((await rest.snapshot(first["session_id"]))["snapshot_id"], meta={"native_session_id": ANOTHER})
    for agent in registry.WRITERS:
        origin, other = [
            (await exported(rest, one, agent, cwd="/work"))["native_session_id"] for one in (first["session_id"], fork)
        ]
        assert origin != other, agent
    assert (await exported(rest, own, "claude-code"))["native_session_id"] == ANOTHER
    await rest.patch(first["session_id"], {"pushed": {"newest": {"x": fork}}})
    assert (await exported(rest, fork, "claude-code"))["native_session_id"] == first["native_session_id"]
    assert "pushed" not in (await exported(rest, first["session_id"], "messages"))["files"][0]["content"].splitlines()[0]


async def test_bytes_that_are_no_text_come_out_in_base64(rest: Rest):
    session_id = (await imported(rest, said("a") + b"\xff\xfe\n"))["session_id"]
    (file,) = (await exported(rest, session_id, "messages"))["files"]
    assert base64.b64decode(file["content_base64"]).endswith(b"\n\xff\xfe\n")
    assert "content" not in file


async def test_a_files_name_never_leads_out_of_a_folder(rest: Rest):
    for name in ("../../etc/passwd", "/etc/passwd", ".ssh", "a\\b", "..", ""):
        session_id = await rest.create(meta={"native_session_id": name, "agent_source": "messages"})
        await rest.append(session_id)
        (file,) = (await exported(rest, session_id, "messages"))["files"]
        assert not {"", ".", ".."} & set(file["name"].split("/"))
        assert "\\" not in file["name"]


async def test_what_was_purged_is_left_out_and_counted(rest: Rest):
    session_id = await rest.create()
    seqs = [(await rest.append(session_id, text))["seq"] for text in ("a", "b", "c")]
    await rest.http.post("/v1/admin/purge", json={"seq": seqs[1]})
    for agent in registry.WRITERS:
        answer = await exported(rest, session_id, agent)
        assert answer["purged"] == 1
    lines = (await exported(rest, session_id, "messages"))["files"][0]["content"].splitlines()
    assert [json.loads(line)["content"] for line in lines[1:]] == ["a", "c"]


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ({"to": "fortran"}, 422, "unknown_agent"),
        ({"to": "claude-code", "version": "99"}, 422, "unknown_version"),
        ({"to": ""}, 400, "invalid_request"),
        ({"to": "messages", "format": "x"}, 400, "invalid_request"),
    ],
)
async def test_what_cannot_be_written_is_refused(rest: Rest, query: dict, status: int, code: str):
    session_id = await rest.create()
    with pytest.raises(Refused) as refused:
        await rest.call("GET", f"/v1/sessions/{session_id}/export", params=query)
    assert (refused.value.status, refused.value.code) == (status, code)


async def test_a_session_that_is_not_there_or_deleted_is_not_exported(rest: Rest):
    session_id = await rest.create()
    await rest.delete(session_id)
    for name, code in (("ses_nothing", "session_not_found"), (session_id, "session_deleted")):
        with pytest.raises(Refused) as refused:
            await exported(rest, name, "messages")
        assert refused.value.code == code


async def test_one_with_nothing_said_is_a_file_where_the_agent_would_take_one(rest: Rest):
    session_id = await rest.create(meta={"title": "nothing"})
    assert (await exported(rest, session_id, "messages"))["report"]["counts"]["messages"] == {}
    for agent in registry.WRITERS:
        response = await rest.http.get(f"/v1/sessions/{session_id}/export", params={"to": agent})
        assert response.status_code == 200 or response.json()["code"] == "not_converted"


async def test_a_session_over_the_limit_of_an_export_is_refused_naming_it(module_database: str):
    with running_hub(module_database, export_bytes_max=3000) as hub:
        async with hub.client() as http:
            rest = Rest(http, "exports")
            session_id = await rest.create()
            await rest.append(session_id, "x" * 2000)
            assert (await exported(rest, session_id, "messages"))["_status"] == 200
            await rest.append(session_id, "x" * 2000)
            with pytest.raises(Refused) as refused:
                await exported(rest, session_id, "messages")
            assert (refused.value.status, refused.value.problem["limit"]) == (413, "export_bytes_max")


async def test_others_are_answered_while_a_large_file_is_converted(hub: HubProcess, rest: Rest):
    large = said(*(f"{number} {'word ' * 200}" for number in range(12_000)), name="large")
    delays: list[float] = []
    async with anyio.create_task_group() as tasks:
        done = anyio.Event()

        async def ask() -> None:
            while not done.is_set():
                began = anyio.current_time()
                await rest.http.get("/healthz")
                delays.append(anyio.current_time() - began)

        tasks.start_soon(ask)
        answer = await imported(rest, large)
        await exported(rest, answer["session_id"], "claude-code")
        done.set()
    assert answer["appended"] == 12_000
    assert len(delays) > 20
    assert max(delays) < 2
