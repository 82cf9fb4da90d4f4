"""Home again over REST: what an agent wrote comes out of the hub as it went in, value by value, whatever stands between.

With redaction off, by the operator's switch: with it on, what is recognised as a secret is gone for good.
"""

from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path

import pytest
from hubs import HubProcess, running_hub
from restclient import Rest

from adapters import registry
from eventstore.errors import InvalidJson
from eventstore.wire.codec import parse

ROOT = Path(__file__).parents[2]
FOLDERS = ("cli/samples/*.jsonl", "tests/samples/claude_code/*.jsonl", "tests/samples/opencode/*.json")
SAMPLES = {path: path.read_bytes() for pattern in FOLDERS for path in sorted(ROOT.glob(pattern))}
AGENTS = ("claude-code", "codex", "dsh", "gemini-cli", "hermes", "opencode")  # folders of the corpus
_projects = count(1)


@pytest.fixture(scope="module")
def open_hub(module_database: str) -> Iterator[HubProcess]:
    with running_hub(module_database, redaction="off") as hub:
        yield hub


@pytest.fixture
async def origin(open_hub: HubProcess) -> AsyncIterator[Rest]:
    async with open_hub.client() as http:
        yield Rest(http, f"home-{next(_projects)}")


@pytest.fixture(scope="module")
def files(corpus: Path) -> dict[str, bytes]:
    """The real files whose agent a reader knows, by name."""
    paths = [path for agent in AGENTS for path in sorted((corpus / agent).rglob("*.json*"))]
    found = [path for path in paths if "storage" not in path.parts and path.suffix != ".zstd"]
    if not found:
        pytest.skip(f"no sessions of {', '.join(AGENTS)} in {corpus}")
    return {path.name: path.read_bytes() for path in found}


def values(raw: bytes) -> list[object]:
    """What must be equal of a file: the JSON value of each line, numbers by spelling; what is no JSON, as bytes."""
    try:
        return [parse(raw.decode())]
    except (UnicodeDecodeError, InvalidJson):
        return [_value(line) for line in raw.removeprefix(b"\xef\xbb\xbf").splitlines()]


def _value(line: bytes) -> object:
    try:
        return parse(line.decode())
    except (UnicodeDecodeError, InvalidJson):
        return line


async def home(rest: Rest, name: str, raw: bytes) -> None:
    there = await rest.call("POST", "/v1/import", raw, params={"project_id": rest.project_id})
    assert not there["report"]["dropped"], name
    back = await rest.call("GET", f"/v1/sessions/{there['session_id']}/export", params={"to": there["agent"]})
    if not name.startswith("trace-"):  # a trace of Hermes has an id that Claude Code would not resume
        assert back["native_session_id"] == there["native_session_id"], name
    assert values(back["files"][0]["content"].encode()) == values(raw), name
    assert not any(back["report"][kind] for kind in ("dropped", "degraded", "synthesised", "warnings")), name
    assert back["left_out"] == []


async def elsewhere(rest: Rest, name: str, raw: bytes) -> None:
    there = await rest.call("POST", "/v1/import", raw, params={"project_id": rest.project_id})
    for agent in registry.WRITERS:
        query = {"to": agent, "cwd": "/work", "model": "acme/large"}
        answer = await rest.call("GET", f"/v1/sessions/{there['session_id']}/export", params=query)
        assert answer["agent"] == agent
        if agent != there["agent"]:
            content = answer["files"][0]["content"].encode()
            records = content.splitlines(keepends=True) if registry.WRITERS[agent].suffix == "jsonl" else [parse(content.decode())]
            records = [parse(line.decode()) for line in records] if agent == "hermes" else records
            assert registry.WRITERS[agent].problems(records) == [], f"{name} for {agent}"


async def test_every_real_file_comes_home_as_it_was(origin: Rest, files: dict[str, bytes]):
    for name, raw in files.items():
        await home(origin, name, raw)


async def test_every_real_file_is_one_that_the_other_agents_take(origin: Rest, files: dict[str, bytes]):
    for name, raw in files.items():
        await elsewhere(origin, name, raw)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
async def test_a_sample_comes_home_as_it_was(origin: Rest, path: Path):
    await home(origin, path.name, SAMPLES[path])


async def test_a_session_that_went_through_a_messages_file_and_another_project_comes_home(origin: Rest):
    """Exported as a `messages` file, imported elsewhere, exported to the agent that it is from."""
    raw = next(iter(SAMPLES.values()))
    there = await origin.call("POST", "/v1/import", raw, params={"project_id": origin.project_id})
    file = await origin.call("GET", f"/v1/sessions/{there['session_id']}/export", params={"to": "messages"})
    other = await origin.call("POST", "/v1/import", file["files"][0]["content"], params={"project_id": "elsewhere"})
    back = await origin.call("GET", f"/v1/sessions/{other['session_id']}/export", params={"to": there["agent"]})
    assert other["session_id"] != there["session_id"]
    assert values(back["files"][0]["content"].encode()) == values(raw)


async def test_sub_agents_come_home_with_the_session_that_started_them(origin: Rest, corpus: Path):
    """Each file is brought by itself, in any order; one export gives them all, to be put where they were."""
    folder = corpus / "claude-code"
    paths = [path for path in sorted(folder.rglob("*.jsonl")) if "258c7280" in str(path)]
    there = {
        path: await origin.call("POST", "/v1/import", raw, params={"project_id": origin.project_id}) for path, raw in read(paths)
    }
    parent = there[paths[-1]]
    lineage = await origin.lineage(parent["session_id"])
    assert [one["session_id"] for one in lineage["subagents"]] == [there[path]["session_id"] for path in paths[:-1]]
    back = await origin.call("GET", f"/v1/sessions/{parent['session_id']}/export", params={"to": "claude-code"})
    assert [one["session_id"] for one in back["subagents"]] == [one["session_id"] for one in lineage["subagents"]]
    contents = {file["name"].partition("/")[2].partition("/")[2]: file["content"].encode() for file in back["files"]}
    for path, raw in read(paths):
        assert values(contents[path.relative_to(folder).as_posix()]) == values(raw), path.name


def read(paths: list[Path]) -> list[tuple[Path, bytes]]:
    return [(path, path.read_bytes()) for path in paths]
