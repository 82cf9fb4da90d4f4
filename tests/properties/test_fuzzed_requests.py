"""Ten thousand requests, right ones and mutated ones: none is a fault of the hub, none is left without an answer, and the log
holds just what was acknowledged."""

import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from hubs import HubProcess, running_hub
from mutations import Mutator, Request
from raw_http import Answer, Wire

REQUESTS, CALLERS = 10_000, 4
SESSIONS_MAX = 20
SEED = 20_261_130
DEADLINE_S = 240  # for REQUESTS
LIMITS = {"message_bytes_max": 20_000, "request_bytes_max": 60_000, "meta_bytes_max": 10_000}  # so that they are met


class Fuzzer:
    """One caller: sends what a mutator draws, and notes what was acknowledged."""

    def __init__(self, hub: HubProcess, seed: int) -> None:
        self._wire = Wire(hub.url)
        self._host, self._token = urlsplit(hub.url).netloc, hub.token
        self._mutator = Mutator(Random(seed), f"p{seed}")
        self.seqs: list[int] = []  # of events that this caller was told are new
        self.statuses: Counter[int] = Counter()
        self.faults: list[tuple[int, Request]] = []
        self.untold = 0  # requests cut short that were not answered: what became of them is not known
        self._create()

    def _create(self) -> None:
        """A session and a snapshot to begin with."""
        session = self._ask(Request("POST", "/v1/sessions", json.dumps({"project_id": "p"}).encode()))
        snapshot = self._ask(Request("POST", "/v1/snapshots", json.dumps({"session_id": session["session_id"]}).encode()))
        assert snapshot["snapshot_id"] in self._mutator.snapshots

    def run(self, count: int, until: float) -> "Fuzzer":
        for _ in range(count):
            if time.monotonic() > until:
                raise TimeoutError("too slow")
            self._ask(self._mutator.request())
        self._wire.close()
        return self

    def _ask(self, request: Request) -> dict[str, Any]:
        answer = self._wire.ask(request.encoded(self._host, self._token), keep=request.is_whole)
        self.statuses[answer.status] += 1
        if answer.status >= 500 or (request.is_whole and not answer.status):
            self.faults.append((answer.status, request))
        self.untold += not answer.status
        return self._note(answer)

    def _note(self, answer: Answer) -> dict[str, Any]:
        if answer.status not in (200, 201) or not answer.body.startswith(b"{"):
            return {}
        said: dict[str, Any] = json.loads(answer.body)
        for result in said.get("results", [said]):
            if result.get("duplicate") is False:
                self.seqs.append(result["seq"])
        if said.get("duplicate") is False and "snapshot_id" in said:
            self._keep(self._mutator.snapshots, said["snapshot_id"])
        if said.get("duplicate") is False and "session_id" in said:
            self._keep(self._mutator.sessions, said["session_id"])
        return said

    def _keep(self, known: list[str], name: str) -> None:
        known.append(name)
        del known[:-SESSIONS_MAX]


def fuzz(hub: HubProcess, count: int) -> list[Fuzzer]:
    """Let all callers run at once, each with its share."""
    until = time.monotonic() + DEADLINE_S * max(1, count // REQUESTS)
    with ThreadPoolExecutor(CALLERS) as pool:
        callers = [Fuzzer(hub, SEED + number) for number in range(CALLERS)]
        return list(pool.map(lambda caller: caller.run(count // CALLERS, until), callers))


def logged(hub: HubProcess) -> list[int]:
    """Every seq of the whole log."""
    seqs: list[int] = []
    headers = {"Authorization": f"Bearer {hub.token}"}
    with httpx2.Client(base_url=hub.url, headers=headers, trust_env=False, timeout=60) as http:
        while True:
            page = http.get("/v1/log", params={"after_seq": seqs[-1] if seqs else 0, "limit": 1000}).json()
            seqs += [event["seq"] for event in page["events"]]
            if not page["has_more"]:
                return seqs


def check(hub: HubProcess, callers: list[Fuzzer]) -> None:
    faults = [fault for caller in callers for fault in caller.faults]
    assert faults == []
    assert [line for line in hub.log_lines() if line["event"] == "fault"] == []
    acknowledged = [seq for caller in callers for seq in caller.seqs]
    seqs = logged(hub)
    assert seqs == list(range(1, len(seqs) + 1))
    assert len(acknowledged) == len(set(acknowledged))
    assert set(acknowledged) <= set(seqs)
    assert len(seqs) - len(acknowledged) <= sum(caller.untold for caller in callers)


def test_ten_thousand_requests_right_and_wrong_are_all_answered_and_leave_a_log_that_is_whole(database: str):
    with running_hub(database, **LIMITS) as hub:
        callers = fuzz(hub, REQUESTS)
        statuses = sum((caller.statuses for caller in callers), Counter[int]())
        assert sum(statuses.values()) >= REQUESTS
        assert {200, 201, 400, 404, 409, 413, 422} <= statuses.keys(), f"the draws reach little: {statuses}"
        check(hub, callers)


@pytest.mark.long
def test_many_more_requests(database: str):
    with running_hub(database, **LIMITS) as hub:
        check(hub, fuzz(hub, 20 * REQUESTS))
