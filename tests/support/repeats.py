"""Appends that are sent several times at once, to different hubs: what was answered, and whether that can be one event."""

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx2
from agreement import Event
from load import Refused, answered

MAY_DIFFER = {"duplicate", "redactions", "log_id"}


@dataclass
class Append:
    """One append. `other`: another body under the same ids. `names`: the append ids it writes; for a deletion the session's."""

    kind: str
    method: str
    path: str
    body: Any
    names: list[str]
    other: Any = None
    answers: list[dict[str, Any]] = field(default_factory=list)
    surprises: list[str] = field(default_factory=list)

    async def send(self, https: list[httpx2.AsyncClient], copies: int) -> None:
        """Send it `copies` times at once, each to another hub."""
        async with anyio.create_task_group() as tasks:
            for http in random.sample(https, copies):
                tasks.start_soon(self._send_once, http)

    async def _send_once(self, http: httpx2.AsyncClient) -> None:
        try:
            self.answers.append(await answered([http], self.method, self.path, self.body, []))
        except Refused as refused:
            self.surprises.append(f"a repeat was refused: {refused}")

    async def send_other(self, https: list[httpx2.AsyncClient]) -> None:
        """Send another body under the same id, which must be refused."""
        if self.other is None:
            return
        try:
            answer = await answered(https, self.method, self.path, self.other, [])
        except Refused as refused:
            if (refused.status, refused.problem["code"]) != (409, "append_id_reused"):
                self.surprises.append(f"another body met {refused}")
        else:
            self.surprises.append(f"another body was taken: {answer}")

    @property
    def first(self) -> dict[str, Any]:
        """The answer, but for what says that it was given before."""
        return plain(self.answers[0])

    def faults(self, log: list[Event], firsts: range) -> list[str]:
        """Every way in which this is not one append. `firsts`: how many answers may say that they are the first."""
        found = list(self.surprises)
        if any(plain(answer) != self.first for answer in self.answers):
            found.append(f"the answers differ: {self.answers}")
        news = Counter(name for answer in self.answers for name, is_new in self.told(answer) if is_new)
        found += [
            f"{news[name]} of {len(self.answers)} answers say they are the first" for name in self.names if news[name] not in firsts
        ]
        written = Counter(event.session_id if event.kind == "session.deleted" else event.append_id for event in log)
        found += [f"written {written[name]} times" for name in self.names if written[name] != 1]
        return [f"{self.kind} {self.names}: {fault}" for fault in found]

    def told(self, answer: dict[str, Any]) -> list[tuple[str, bool]]:
        """Of each append id, whether an answer says that it wrote it. Within one request an id may come twice."""
        results = answer.get("results", [answer])
        return [(result.get("append_id", self.names[0]), not result["duplicate"]) for result in results]


def plain(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without what may differ between the first and its repeats."""
    results = [{k: v for k, v in result.items() if k not in MAY_DIFFER} for result in answer.get("results", [])]
    return {k: v for k, v in answer.items() if k not in {*MAY_DIFFER, "results"}} | ({"results": results} if results else {})
