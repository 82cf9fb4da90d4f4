"""The results of calls: in the record of the reply that made them, or in a user's record behind it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from adapters.conversion import Json
from adapters.gemini.calls import Call
from adapters.gemini.parts import NO_PLACE, NOT_TEXT, Shown, answer_text, note_rest
from adapters.gemini.records import member, parts_of, tool_calls_of
from adapters.leaves import Path
from adapters.said import Unsaid
from adapters.values import text_of

ELSEWHERE = "the result of another call, which has it"
AGAIN = "the result stands with its call already"
OF_CALL = "says something else than its call"

_errors = {"error": "error", "cancelled": "interrupted"}


@dataclass(slots=True)
class Answer:
    """A result: the call it answers, what it shows, and where its text stands when all of a response is told as JSON."""

    call_id: str
    shown: Shown
    metadata: Json = field(default_factory=dict)
    json_place: Path = ()
    part: int = 1  # its place in the record, from 1
    salt: str = ""  # the call that it was found to answer, where it names none


def answers_in_calls(record: Json, calls: Sequence[Call], unsaid: Unsaid) -> list[Answer]:
    """Return the results that stand in `toolCalls`, in the order of the calls."""
    answers: list[Answer] = []
    beside = tool_calls_of(record)
    siblings = {call.native_id for call in calls if call.native_id}
    for call in calls:
        if call.tool_call is None:
            continue
        told, here = beside[call.tool_call], ("toolCalls", call.tool_call)
        result = told.get("result")
        status = told.get("status")
        if not result:
            if result is not None:
                unsaid[(*here, "result")] = NO_PLACE
            if status is not None:
                unsaid[(*here, "status")] = NO_PLACE
            if told.get("agentId"):
                unsaid[(*here, "agentId")] = NO_PLACE
            continue
        answer = _of_call(result, (*here, "result"), call, siblings, unsaid)
        answer.part = calls.index(call) + 1
        _status(answer, status, (*here, "status"), unsaid)
        agent_id = told.get("agentId")
        if isinstance(agent_id, str) and agent_id:
            answer.metadata["subagent"] = {"agent_id": agent_id}
        elif agent_id is not None:
            unsaid[(*here, "agentId")] = NO_PLACE
        answers.append(answer)
    return answers


def answers_in_content(
    record: Json, digest: str, open_calls: Mapping[str, int], names: Mapping[str, str], unsaid: Unsaid, made_up: list[str]
) -> tuple[list[Answer], set[int]]:
    """Return the results that a user's record has and their calls have not; and which of its parts are told by results.

    Media right behind a result belongs to it: tools that read a picture answer so.
    """
    content = record.get("content")
    answers: list[Answer] = []
    taken: set[int] = set()
    still = Counter(open_calls)
    last: Answer | None = None
    for at, part in enumerate(parts_of(content)):
        place: Path = ("content", at) if isinstance(content, list) else ("content",)
        response = member(part, "functionResponse")
        if response is None:
            if not taken or at - 1 not in taken or (member(part, "inlineData") is None and member(part, "fileData") is None):
                continue
            taken.add(at)
            if last is None:
                unsaid[place] = AGAIN
            else:
                last.shown.add(part, place, unsaid)
            continue
        taken.add(at)
        call_id = _answered(response, still, names)
        if call_id and not still[call_id] and call_id in names:
            unsaid[place], last = AGAIN, None
            continue
        if not call_id:
            call_id = "call_" + sha256(f"{digest}:{at}".encode()).hexdigest()[:24]
            made_up.append("user.functionResponse.id")
        still[call_id] -= 1
        last = Answer(
            call_id,
            Shown(),
            part=at + 1,
            salt="" if text_of(response, "id") else sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:8],
        )
        _respond(last, response, (*place, "functionResponse"), call_id, names.get(call_id), unsaid)
        note_rest(part, {"functionResponse"}, place, unsaid)
        answers.append(last)
    return answers, taken


def _answered(response: Json, still: Mapping[str, int], names: Mapping[str, str]) -> str:
    """The id of the call that a response answers: its own, or where it has none that of an open call of its tool."""
    name = response.get("name")
    return text_of(response, "id") or next((call for call, count in still.items() if count > 0 and names.get(call) == name), "")


def _of_call(result: Any, here: Path, call: Call, siblings: set[str], unsaid: Unsaid) -> Answer:
    answer = Answer(call.id, Shown())
    if isinstance(result, str):
        answer.shown.add(result, here, unsaid)
        return answer
    if isinstance(result, dict):
        _part(answer, result, here, call, unsaid)
        return answer
    if not isinstance(result, list):
        unsaid[here] = NO_PLACE
        return answer
    own = _own(result, call)
    belongs = own is None
    for at, part in enumerate(result):
        response = member(part, "functionResponse")
        if response is not None:
            belongs = at == own
        if belongs:
            _part(answer, part, (*here, at), call, unsaid)
        else:
            is_other = response is None or text_of(response, "id") in siblings
            unsaid[(*here, at)] = ELSEWHERE if is_other else NO_PLACE
    return answer


def _own(result: Sequence[Any], call: Call) -> int | None:
    """Which of the responses is the call's: that of its id, else the first one."""
    found = [(at, response) for at, part in enumerate(result) if (response := member(part, "functionResponse")) is not None]
    own = next((at for at, response in found if text_of(response, "id") == call.native_id), None)
    return own if own is not None else found[0][0] if found else None


def _part(answer: Answer, part: Any, here: Path, call: Call, unsaid: Unsaid) -> None:
    response = member(part, "functionResponse")
    if response is None:
        answer.shown.add(part, here, unsaid)
        return
    _respond(answer, response, (*here, "functionResponse"), call.native_id or call.id, call.standard["function"]["name"], unsaid)
    note_rest(part, {"functionResponse"}, here, unsaid)


def _respond(answer: Answer, response: Json, here: Path, call_id: str, name: str | None, unsaid: Unsaid) -> None:
    """Add what a tool responded."""
    for key, told in (("id", call_id), ("name", name)):
        if response.get(key) is not None and response[key] != told:
            unsaid[(*here, key)] = OF_CALL if isinstance(response[key], str) else NOT_TEXT
    value = response.get("response")
    text, place, is_error = answer_text(value)
    if place or isinstance(value, str):
        answer.shown.add(text, (*here, "response", *place), unsaid)
    elif value is not None:
        answer.shown.parts.append({"type": "text", "text": text})
        answer.json_place = (*here, "response")
    if is_error:
        answer.metadata |= {"is_error": True, "status": "error"}
    media = response.get("parts")
    for at, part in enumerate(media if isinstance(media, list) else ()):
        answer.shown.add(part, (*here, "parts", at), unsaid)
    if answer.json_place and len(answer.shown.parts) > 1:
        answer.json_place = ()
    note_rest(
        response, {"id", "name", "response", "parts"} if isinstance(media, list) else {"id", "name", "response"}, here, unsaid
    )


def _status(answer: Answer, status: Any, here: Path, unsaid: Unsaid) -> None:
    if status == "success":
        answer.metadata["is_error"] = bool(answer.metadata.get("is_error", False))
    elif isinstance(status, str) and status in _errors:
        answer.metadata |= {"is_error": True, "status": _errors[status]}
    elif status is not None:
        unsaid[here] = NO_PLACE
