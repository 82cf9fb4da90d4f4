"""One record of a live message to standard messages: a function of the record, of how much of it was told, and the calls before it.

- A reply is an assistant's message, and a message of role `tool` for each of its calls that has a result: both stand in its record.
  Where an earlier record told its words, it is one more assistant's message, with the calls that are new: `reply_id` joins them.
- What a user said is a message. Answers of tools that the agent keeps as the user's are the results of calls that have none yet;
  where a call has its result, they tell it again, and stay in the native record.
- Where a content holds calls or thoughts, it is what the model is sent; else the record's `thoughts`, content and `toolCalls` are.
- `append_id` names the record's id, the message's place in it and what the record holds. Nothing in a message is about its
  neighbours: they change when the agent takes something back.
- `native` of the first message of a line holds its record, less what its messages say (`said`), and how many they are (`parts`);
  the others point to it. A record in a list that a `$set` sets is kept with that line, and its messages point there (`item`).
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from adapters.conversion import Json, Message
from adapters.gemini.answers import Answer, answers_in_calls, answers_in_content
from adapters.gemini.calls import Call, read_calls
from adapters.gemini.log import Telling
from adapters.gemini.odd_fields import note_odd_fields
from adapters.gemini.parts import Shown, note_rest, thinking_item, thinking_of, thought_text
from adapters.gemini.records import AGENT, calls_in, is_context, is_thought, member, parts_of
from adapters.leaves import Path
from adapters.said import Copy, Unsaid, lift
from adapters.values import text_of
from eventstore.wire import codec
from eventstore.wire.codec import Number

_moment = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_plain_id = re.compile(r"[0-9A-Za-z._-]{1,100}")
USAGE = {"output": "output_tokens", "cached": "cache_read_input_tokens", "thoughts": "reasoning_tokens"}
TELLS_NOTHING = "what the content tells of its thoughts counts"
TOLD = "an earlier record of this id tells it"


@dataclass(slots=True)
class Around:
    """What the messages before tell of a record: how many calls of an id have no result yet, and of which tool they are."""

    version: str
    parent: str | None = None
    last: str | None = None  # whose record was told last
    is_subagent: bool = False
    open_calls: Counter[str] = field(default_factory=Counter)
    names: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Converted:
    """The messages of a record; what of it they do not say, with reasons; and what they say that it did not (by path)."""

    messages: list[Message] = field(default_factory=list)
    unsaid: Unsaid = field(default_factory=dict)
    made_up: list[str] = field(default_factory=list)
    subagents: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Body:
    """A message without what all messages of a record have alike.

    `part` names it within the record, whatever the others are: 0 what is said, n the result of its n-th call or part, and -n the
    reply as it goes on with its n-th call.
    """

    fields: Json
    metadata: Json
    copies: list[Copy] = field(default_factory=list)
    part: int = 0
    salt: str = ""  # what else its append_id has to name


def convert(telling: Telling, around: Around, *, is_exact: bool = True, is_summary: bool = False) -> Converted:
    """Return what a user's or the model's record tells, and note its calls and results in `around`.

    `is_exact=False`: the line is kept as text, so its messages only point to it. `is_summary`: it stands for what was said before.
    """
    done = Converted()
    record, place = telling.record, telling.place
    digest = sha256(codec.dump(record).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    if record.get("type") == "gemini":
        bodies = _reply(record, digest, around, done, telling.after)
    else:
        bodies = _user(record, digest, around, done, is_summary)
    if bodies and around.last != record["id"]:
        around.parent, around.last = around.last, record["id"]
    created_at: Json = {"created_at": record["timestamp"]} if _moment.fullmatch(text_of(record, "timestamp")) else {}
    note_odd_fields(record, bool(created_at), done.unsaid)
    name = record["id"] if _plain_id.fullmatch(record["id"]) else sha256(_bytes(record["id"])).hexdigest()[:36]
    is_told_alone = is_exact and place.item < 0 and not _has_answers(record)
    kept: Json | None = record if is_told_alone else None
    wholes: list[tuple[Json, list[list[Any]]]] = []
    for body in bodies:
        append_id = f"{AGENT}:{name}:{body.part}:{digest}" + (f":{body.salt}" if body.salt else "")
        whole: Json = {"schema_version": 1, "append_id": append_id, **body.fields, **created_at}
        whole["metadata"] = {"agent_source": AGENT, "native_id": record["id"]} | body.metadata
        said: list[list[Any]] = []
        if kept is not None:
            kept, said = lift(kept, whole, body.copies)
        wholes.append((whole, said))
    for at, ((whole, said), body) in enumerate(zip(wholes, bodies, strict=True)):
        native: Json = {"agent": AGENT, "version": around.version, "line": place.line}
        native |= ({"item": place.item} if place.item >= 0 else {}) | ({"part": body.part} if body.part else {})
        if kept is not None and not at:
            native |= {"record": kept} | ({"parts": len(wholes)} if len(wholes) > 1 else {})
        native |= {"said": said} if said else {}
        done.messages.append(Message(whole | {"native": native}, record["id"], around.parent, place.line, body.part))
    return done


def _reply(record: Json, digest: str, around: Around, done: Converted, after: int | None) -> list[_Body]:
    calls, copies = read_calls(record, digest, done.unsaid, done.made_up)
    answers = answers_in_calls(record, calls, done.unsaid)
    model = text_of(record, "model")
    metadata: Json = {"origin": "agent", "reply_id": record["id"]} | ({"model": model} if model else {})
    usage = _usage(record, done.unsaid)
    metadata |= {"usage": usage} if usage else {}
    if after is None:
        first = _said(record, model, calls, copies, metadata, done)
    else:
        _note_told(record, calls[:after], done.unsaid)
        copies = [replace(copy, message=("tool_calls", at, *copy.message[2:])) for at, copy in enumerate(copies[after:])]
        calls, answers = calls[after:], [answer for answer in answers if answer.part > after]
        body: Json = {"role": "assistant", "content": None, "tool_calls": [call.standard for call in calls]}
        first = _Body(body, metadata, copies, -after - 1)
    for call in calls:
        around.names[call.id] = call.standard["function"]["name"]
        around.open_calls[call.id] += 1
    for answer in answers:
        around.open_calls[answer.call_id] -= 1
        if agent_id := answer.metadata.get("subagent", {}).get("agent_id"):
            done.subagents[agent_id] = answer.call_id
    return [first, *map(_result, answers)]


def _said(record: Json, model: str, calls: list[Call], call_copies: list[Copy], metadata: Json, done: Converted) -> _Body:
    """A reply from its beginning."""
    content = record.get("content")
    is_told = any(True for _ in calls_in(content)) or any(map(is_thought, parts_of(content)))
    shown = _shown(content, done.unsaid, with_thoughts=False)
    said, copies = shown.content()
    body: Json = {"role": "assistant", "content": None if said == "" else said}
    if calls:
        body["tool_calls"] = [call.standard for call in calls]
    thoughts = _thoughts(record, content if is_told else None, done.unsaid)
    if thoughts:
        body["thinking"] = thinking_of([thinking_item(text, model) for text in thoughts])
    return _Body(body, metadata, copies + call_copies)


def _note_told(record: Json, told: Sequence[Call], unsaid: Unsaid) -> None:
    """Note what of a reply that goes on was told before: its words, its thoughts, and these calls."""
    content = record.get("content")
    unsaid["thoughts",] = TOLD
    places = [at for at, _ in calls_in(content)][len(told) :]  # of the calls that are new
    for at, _ in enumerate(parts_of(content)):
        if at not in places:
            unsaid[("content", at) if isinstance(content, list) else ("content",)] = TOLD
    for call in told:
        if call.tool_call is not None:
            unsaid["toolCalls", call.tool_call] = TOLD


def _user(record: Json, digest: str, around: Around, done: Converted, is_summary: bool) -> list[_Body]:
    content = record.get("content")
    answers, taken = answers_in_content(record, digest, around.open_calls, around.names, done.unsaid, done.made_up)
    for answer in answers:
        if around.open_calls[answer.call_id] > 0:
            around.open_calls[answer.call_id] -= 1
    bodies = list(map(_result, answers))
    shown = _shown(content, done.unsaid, with_thoughts=True, taken=taken)
    if not shown.parts and (bodies or taken):
        return bodies
    said, copies = shown.content()
    metadata: Json = {"origin": "harness" if is_context(record) else "agent" if around.is_subagent else "human"}
    if is_summary:
        metadata |= {"origin": "harness", "compaction": {}}
    return [*bodies, _Body({"role": "user", "content": said}, metadata, copies)]


def _result(answer: Answer) -> _Body:
    content, copies = answer.shown.content()
    body: Json = {"role": "tool", "tool_call_id": answer.call_id, "content": "" if content is None else content}
    copies = [Copy(answer.json_place, ("content",), "json")] if answer.json_place else copies
    return _Body(body, {"origin": "agent"} | answer.metadata, copies, answer.part, answer.salt)


def _has_answers(record: Json) -> bool:
    """Does a user's record hold answers? Which of them are messages is told by others; so the record stays apart."""
    return record.get("type") == "user" and any(member(part, "functionResponse") for part in parts_of(record.get("content")))


def _shown(content: Any, unsaid: Unsaid, *, with_thoughts: bool, taken: Collection[int] = ()) -> Shown:
    shown = Shown()
    for at, part in enumerate(parts_of(content)):
        place: Path = ("content", at) if isinstance(content, list) else ("content",)
        if at in taken or (not with_thoughts and (is_thought(part) or member(part, "functionCall") is not None)):
            continue
        shown.add(part, place, unsaid)
    return shown


def _thoughts(record: Json, content: Any, unsaid: Unsaid) -> list[str]:
    """The texts of the thoughts: those in the content where it tells of them, else the record's own."""
    told = []
    for at, part in enumerate(parts_of(content)):
        if is_thought(part):
            place: Path = ("content", at) if isinstance(content, list) else ("content",)
            told += [part["text"]] if text_of(part, "text") else []
            note_rest(part, _known_of_thought(part), place, unsaid)
    held = record.get("thoughts")
    own = [thought_text(thought) for thought in held if isinstance(thought, dict)] if isinstance(held, list) else []
    if content is None:
        return [text for text in own if text]
    for at, text in enumerate(own):
        if text not in told:
            unsaid["thoughts", at] = TELLS_NOTHING
    return told


def _known_of_thought(part: Json) -> set[str]:
    known = {"functionCall"} | ({"thought"} if part["thought"] is True else set())
    return known | ({"text"} if isinstance(part.get("text"), str) else set())


def _usage(record: Json, unsaid: Unsaid) -> Json:
    """What a reply cost; what was read from a cache is counted apart, as everywhere."""
    tokens = record.get("tokens")
    if not isinstance(tokens, dict):
        return {}
    counts = {name: count for name in ("input", *USAGE) if (count := _count(tokens.get(name))) is not None}
    for name in ("input", *USAGE):
        if name in tokens and name not in counts:
            unsaid["tokens", name] = "not a number of tokens"
    usage: Json = {standard: Number(str(counts[name])) for name, standard in USAGE.items() if name in counts}
    if "input" in counts:
        usage = {"input_tokens": Number(str(max(0, counts["input"] - counts.get("cached", 0))))} | usage
        if counts["input"] < counts.get("cached", 0):
            unsaid["tokens", "input"] = "less than what was read from a cache"
    return usage


def _count(value: Any) -> int | None:
    count = value.as_int() if isinstance(value, Number) else None
    return count if count is not None and count >= 0 else None


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
