"""What a record says, less how it is spelled: equal for two records of one message, and told apart from one that says more.

The words of a reply are compared as the agent writes them when they have come: without HTML comments, characters of no width and
blanks around them. When it sets its list of messages anew, they are there as the model said them.
"""

from dataclasses import dataclass
from typing import Any

from adapters.conversion import Json
from adapters.gemini.records import BLANKS, calls_in, is_thought, member, parts_of, plain_text, tool_calls_of
from eventstore.wire import codec

_of_no_width = dict.fromkeys((0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0xFEFF))


@dataclass(frozen=True, slots=True)
class Essence:
    """What a record says: all but the calls of a reply, and these one by one.

    `is_said`: is there anything to tell before calls come, if only thoughts? `is_answered`: has each call its result beside it?
    """

    words: str
    calls: tuple[str, ...] = ()
    is_said: bool = True
    is_answered: bool = True

    def goes_on_from(self, other: "Essence") -> bool:
        """Does it say what the other one says, and perhaps calls behind it?"""
        return self.words == other.words and self.calls[: len(other.calls)] == other.calls


def essence_of(record: Json) -> Essence:
    """Return what a record says."""
    parts, kind = parts_of(record.get("content")), record.get("type")
    beside = [call for call in tool_calls_of(record) if isinstance(call, dict)]
    calls = [call for _, call in calls_in(record.get("content"))] or beside
    told = [[call.get("name"), call.get("args")] for call in calls]
    text = "".join(map(_spoken, parts))
    media = [part for part in parts if member(part, "inlineData") or member(part, "fileData")]
    answers = [answer for part in parts if (answer := member(part, "functionResponse")) is not None]
    if kind != "gemini":
        return Essence(codec.canonical([kind, text, media, answers, told]))
    words = [_cleaned(text), media, answers]
    return Essence(
        words=codec.canonical([kind, *words]),
        calls=tuple(map(codec.canonical, told)),
        is_said=any(words) or any(map(is_thought, parts)) or bool(record.get("thoughts")),
        is_answered=len(beside) >= len(calls) and all(call.get("result") for call in beside),
    )


def _spoken(part: Any) -> str:
    return "" if isinstance(part, dict) and part.get("thought") else plain_text(part)


def _cleaned(text: str) -> str:
    text = text.translate(_of_no_width)
    kept: list[str] = []
    at = 0
    while (begin := text.find("<!--", at)) >= 0 and (end := text.find("-->", begin + 4)) >= 0:
        kept.append(text[at:begin])
        at = end + 3
    return "".join([*kept, text[at:]]).strip(BLANKS)
