"""Steps to the messages of an export document: ids, times, parents, what OpenCode demands of each."""

from collections.abc import Sequence
from dataclasses import dataclass

from adapters.conversion import Json
from adapters.opencode import ids
from adapters.opencode.records import AGENT
from adapters.opencode.steps import Step

AGENT_NAME = "build"
BEGIN = "[What was said before is not part of this session]"
TITLE_CHARS_MAX = 100


@dataclass(frozen=True, slots=True)
class Place:
    """What all messages of a session share."""

    session_id: str
    cwd: str
    provider: str
    model: str
    now_ms: int


def placed(steps: list[Step], has_user: bool) -> tuple[list[Step], bool]:
    """Number the steps, with a user message first where an assistant would have none to answer; return whether that was needed."""
    is_needed = bool(steps) and not has_user and steps[0].role != "user"
    if is_needed:
        part = {"type": "text", "text": BEGIN, "synthetic": True}
        steps = [Step("user", f"{steps[0].seed}:begin", steps[0].created_ms, [part]), *steps]
    for place, step in enumerate(steps):
        step.place = place
    return steps, is_needed


def messages_of(steps: Sequence[Step], place: Place, after_ms: int, user_id: str) -> list[Json]:
    """Return the messages; `after_ms` is when the newest message before them was made, `user_id` the newest user's."""
    times = ids.rising([step.created_ms for step in steps], after_ms, place.now_ms)
    seeds: set[str] = set()
    messages: list[Json] = []
    for step, ms in zip(steps, times, strict=True):
        seed = _once(f"{place.session_id}:{step.seed}", seeds)
        message = _message(step, place, ms, ids.message_id(seed, step.place), user_id)
        message["parts"] = [_part(part, message, (seed, step.place), index) for index, part in enumerate(step.parts)]
        if step.role == "user":
            user_id = message["info"]["id"]
        messages.append(message)
    return messages


def id_name(session_id: str, step: Step) -> str:
    """The part of a message's id that tells which it is, whenever it is written."""
    return ids.name(f"{session_id}:{step.seed}")


def session_info(place: Place, version: str, title: str, times: tuple[int, int], source: Json, parent_id: str) -> Json:
    """The session's own record, as an import wants it. `times`: first and last message."""
    plain = "".join(char if char.isprintable() else " " for char in title).strip()
    info: Json = {
        "id": place.session_id,
        "slug": f"tasuki-{place.session_id[-8:].lower()}",
        "projectID": "global",
        "directory": place.cwd,
        "title": plain[:TITLE_CHARS_MAX] or "Session",
        "version": version,
        "agent": AGENT_NAME,
        "model": {"id": place.model, "providerID": place.provider},
        "metadata": {"tasuki": source},
        "time": {"created": times[0], "updated": times[1]},
    }
    return info | ({"parentID": parent_id} if parent_id else {})


def _message(step: Step, place: Place, ms: int, message_id: str, user_id: str) -> Json:
    info: Json = {"id": message_id, "sessionID": place.session_id, "role": step.role, "time": {"created": ms}}
    if step.role == "user":
        return {"info": info | {"agent": AGENT_NAME, "model": {"providerID": place.provider, "modelID": place.model}}}
    info |= {
        "time": {"created": ms, "completed": ms},
        "parentID": user_id,
        "mode": AGENT_NAME,
        "agent": AGENT_NAME,
        "path": {"cwd": place.cwd, "root": place.cwd},
        "cost": 0,
    }
    return {"info": info | step.info}


def _part(part: Json, message: Json, made: tuple[str, int], index: int) -> Json:
    ms = message["info"]["time"]["created"]
    owner: Json = {"sessionID": message["info"]["sessionID"], "messageID": message["info"]["id"]}
    whole = {"id": ids.part_id(*made, index), **owner, **part}
    if part["type"] == "reasoning":
        whole["time"] = {"start": ms, "end": ms}
    if part["type"] == "tool":
        state = part["state"] | {"time": {"start": ms, "end": ms}}
        if "attachments" in state:
            files = enumerate(state["attachments"])
            state["attachments"] = [{"id": ids.part_id(f"{made[0]}:{index}", made[1], at), **owner, **file} for at, file in files]
        whole["state"] = state
    return whole


def _once(seed: str, seeds: set[str]) -> str:
    while seed in seeds:
        seed += "+"
    seeds.add(seed)
    return seed


def source_of(meta: Json, provider: str) -> Json:
    """What the session's metadata keeps of where it comes from."""
    known = {"agent": meta.get("agent_source"), "session_id": meta.get("native_session_id"), "provider": provider}
    return {key: value for key, value in known.items() if isinstance(value, str) and value and value != AGENT}
