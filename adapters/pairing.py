"""Which result answers which call, in any session, however broken; and ids that a target will take.

1. A result answers the nearest call before it that has its id and no result yet; of several in one message, the first.
2. Where there is none before it, the nearest one after it: some agents log a result before the call.
3. A result whose calls are all answered is doubled: the first counts. One whose id no call has is an orphan.
4. An id is kept where the target takes it and no earlier call has it; else one is made, from the call's place among the
   calls of that id, so that it is the same on every run.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from adapters.conversion import Json
from adapters.report import Report
from adapters.session import place_of

RENAMED = "not valid here, or used twice; another one is written"


@dataclass(slots=True)
class PairedCall:
    """A call, the id to write for it, and the index of the message that answers it, or None."""

    call: Json
    id: str
    result: int | None = None

    @property
    def is_renamed(self) -> bool:
        return bool(self.id != self.call["id"])


@dataclass(slots=True)
class Pairing:
    """By index among the messages: the calls of each assistant; the call that each result answers; what answers none."""

    calls: dict[int, list[PairedCall]] = field(default_factory=dict)
    answered: dict[int, tuple[int, PairedCall]] = field(default_factory=dict)  # by result: the assistant's index, its call
    orphans: set[int] = field(default_factory=set)
    doubled: dict[int, PairedCall] = field(default_factory=dict)

    @property
    def unanswered(self) -> list[tuple[int, PairedCall]]:
        return [(index, call) for index, calls in self.calls.items() for call in calls if call.result is None]


def pair(
    messages: Sequence[Json],
    is_valid: Callable[[str], bool] = bool,
    make_id: Callable[[str], str] = lambda seed: f"call_{digest(seed)}",
    fixed: Collection[int] = (),
    taken: Collection[str] = (),
) -> Pairing:
    """Pair the calls and results of standard messages.

    `is_valid` tells whether the target takes an id, `make_id` makes one of a seed; the calls of the messages in `fixed`
    keep their ids whatever they are, and no other call gets one of those, nor one of `taken`.
    """
    pairing = Pairing()
    open_calls: dict[str, list[tuple[int, PairedCall]]] = defaultdict(list)
    early: list[int] = []
    for index, message in enumerate(messages):
        if message["role"] == "assistant" and message.get("tool_calls"):
            pairing.calls[index] = [PairedCall(call, call["id"]) for call in message["tool_calls"]]
            for call in pairing.calls[index]:
                open_calls[call.call["id"]].append((index, call))
        elif message["role"] == "tool":
            calls = open_calls[message["tool_call_id"]]
            nearest = _nearest(calls)
            if nearest is None:
                early.append(index)
            else:
                _answer(pairing, *calls.pop(nearest), index)
    names = {call.call["id"]: call for calls in pairing.calls.values() for call in calls}
    for index in early:
        name = messages[index]["tool_call_id"]
        later = next((place for place, (caller, _) in enumerate(open_calls[name]) if caller > index), None)
        if later is not None:
            _answer(pairing, *open_calls[name].pop(later), index)
        elif name in names:
            pairing.doubled[index] = names[name]
        else:
            pairing.orphans.add(index)
    _name(pairing, is_valid, make_id, fixed, {*taken, *_ids(messages, fixed)})
    return pairing


def digest(seed: str) -> str:
    """24 letters and digits, the same for the same seed."""
    return sha256(seed.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def report_pairing(report: Report, pairing: Pairing, messages: Sequence[Json], of: Collection[int] | None = None) -> None:
    """Warn of ids that are not written as they were; `of` names the messages that were written anew (default: all)."""
    for index, calls in pairing.calls.items():
        count = sum(call.is_renamed for call in calls)
        if count and (of is None or index in of):
            report.warn("fields/assistant.tool_calls[].id", RENAMED, place_of(messages[index], index), count)


def _nearest(calls: Sequence[tuple[int, PairedCall]]) -> int | None:
    """The place of the first call of the last message that has open ones."""
    if not calls:
        return None
    last = calls[-1][0]
    return next(place for place, (index, _) in enumerate(calls) if index == last)


def _answer(pairing: Pairing, index: int, call: PairedCall, result: int) -> None:
    call.result = result
    pairing.answered[result] = index, call


def _ids(messages: Sequence[Json], indexes: Iterable[int]) -> Iterator[str]:
    return (call["id"] for index in indexes for call in messages[index].get("tool_calls") or ())


def _name(
    pairing: Pairing, is_valid: Callable[[str], bool], make_id: Callable[[str], str], fixed: Collection[int], taken: set[str]
) -> None:
    """Give each call an id that the target takes and that no other has (law 4)."""
    count: Counter[str] = Counter()
    for index, calls in pairing.calls.items():
        for call in calls if index not in fixed else ():
            name = call.call["id"]
            count[name] += 1
            if not is_valid(name) or name in taken:
                call.id = make_id(f"{name}:{count[name]}")
            taken.add(call.id)
