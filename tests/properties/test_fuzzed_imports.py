"""Files of agents with something wrong in them, over REST: none is a fault of the hub, what went in is known again, and it comes
out for every agent or is refused in words."""

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import httpx2
import pytest
from hubs import HubProcess, running_hub
from mutations import DEEP, NUMBERS, TEXTS, Source, dumped

from adapters.registry import READERS, WRITERS
from adapters.session import session_of
from adapters.target import Target

ROOT = Path(__file__).parents[2]
FOLDERS = ("cli/samples/*.jsonl", "tests/samples/*/*.json*")
FILES, SEED = 250, 20_261_130


def test_files_with_something_wrong_in_them_are_taken_or_refused_and_are_never_a_fault(database: str):
    with running_hub(database, redaction="off") as hub:
        statuses = bring(hub, FILES, SEED)
        assert {200, 201, 422} <= statuses.keys(), f"the draws reach little: {statuses}"


@pytest.mark.long
def test_many_more_files(database: str):
    with running_hub(database, redaction="off") as hub:
        bring(hub, 20 * FILES, SEED + 1)


def bring(hub: HubProcess, count: int, seed: int) -> Counter[int]:
    random, statuses = Random(seed), Counter[int]()
    samples = of_every_agent([path.read_bytes() for pattern in FOLDERS for path in sorted(ROOT.glob(pattern))])
    headers = {"Authorization": f"Bearer {hub.token}"}
    with httpx2.Client(base_url=hub.url, headers=headers, trust_env=False, timeout=60) as http:
        for number in range(count):
            raw = mutated(random, random.choice(samples))
            query = {"project_id": f"p{number}"}
            answer = http.post("/v1/import", content=raw, params=query)
            statuses[answer.status_code] += 1
            assert answer.status_code in (200, 201, 400, 409, 422), (number, answer.text[:500])
            if answer.status_code == 201:
                check_in(http, raw, query, answer.json())
                check_out(http, random.choice(list(WRITERS)), answer.json()["session_id"], statuses)
        assert [line for line in hub.log_lines() if line["event"] == "fault"] == []
    return statuses


def of_every_agent(samples: list[bytes]) -> list[bytes]:
    """The samples, and the first as every agent would have written it."""
    session = session_of(READERS["claude-code"].read(samples[0].splitlines(keepends=True)))
    target = Target(now_ms=1_900_000_000_000, cwd="/work", provider="acme", model="large")
    return [*samples, *(writer.file(writer.write(session, target).records)[0] for writer in WRITERS.values())]


def check_in(http: httpx2.Client, raw: bytes, query: dict[str, str], first: dict[str, Any]) -> None:
    assert first["found"] == first["appended"] + first["repeated"] + first["native"]
    again = http.post("/v1/import", content=raw, params=query)
    assert (again.status_code, again.json()["appended"], again.json()["session_id"]) == (200, 0, first["session_id"])


def check_out(http: httpx2.Client, agent: str, session_id: str, statuses: Counter[int]) -> None:
    out = http.get(f"/v1/sessions/{session_id}/export", params={"to": agent, "cwd": "/work", "model": "acme/large"})
    statuses[out.status_code] += 1
    assert out.status_code in (200, 422), (agent, out.text[:500])
    if out.status_code == 200:
        sums = (sum_ for unit, sum_ in out.json()["report"]["counts"].items() if unit != "messages")
        assert all(sum_["found"] == sum(sum_.values()) - sum_["found"] for sum_ in sums)
    else:
        assert out.json()["code"] == "not_converted"


def mutated(random: Random, raw: bytes) -> bytes:
    """A file with one to four places in it taken by something else: values, lines, bytes."""
    lines = raw.splitlines(keepends=True)
    is_document = raw.lstrip().startswith(b"{") and not _is_json(lines[0])
    for _ in range(random.randrange(1, 5)):
        way = random.random()
        if is_document and way < 0.7 and _is_json(b"".join(lines)):
            lines = [_other(random, b"".join(lines))]
        elif way < 0.7:
            at = random.randrange(len(lines))
            lines[at] = _other(random, lines[at]) + b"\n"
        elif way < 0.9:
            at = random.randrange(len(lines))
            lines[at:at] = [lines[random.randrange(len(lines))]] if random.random() < 0.5 else []
            del lines[random.randrange(len(lines)) : at]
            lines = lines or [b"{}\n"]
        else:
            whole = bytearray(b"".join(lines)) or bytearray(b"{}")
            at = random.randrange(len(whole))
            whole[at : at + random.randrange(3)] = random.choice([b"", b"\xff", b"\0", b'"', b"\r\n", b"\n", b"{", b"\xef\xbb\xbf"])
            lines = bytes(whole).splitlines(keepends=True) or [b"{}\n"]
    return b"".join(lines)


def _is_json(raw: bytes) -> bool:
    try:
        json.loads(raw)
    except ValueError:
        return False
    return True


def _other(random: Random, raw: bytes) -> bytes:
    """The JSON with one place in it taken by something else."""
    return dumped(_changed(random, json.loads(raw))).encode("utf-8", "surrogatepass") if _is_json(raw) else raw


def _changed(random: Random, value: Any) -> Any:
    if isinstance(value, dict) and value and random.random() < 0.9:
        name = random.choice(list(value))
        way = random.random()
        if way < 0.15:
            return {other: value[other] for other in value if other != name}
        if way < 0.25:
            return value | {random.choice([*TEXTS, *value, "id", "type", "role", "content"]): _strange(random)}
        return value | {name: _changed(random, value[name])}
    if isinstance(value, list) and value and random.random() < 0.9:
        at = random.randrange(len(value))
        return [*value[:at], _changed(random, value[at]), *value[at + 1 :]]
    return _strange(random)


def _strange(random: Random) -> Any:
    kinds: list[Any] = [None, True, [], {}, [None], {"": {}}, Source(DEEP), "\ud800" * 50, 0, -5, 1.5, "", [[]], [{}], "x" * 70_000]
    return random.choice([*kinds, *TEXTS, *map(Source, NUMBERS)])
