"""Messages of others in their order, for agents that keep a reply as one: neighbours of it together, each result with its call."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence

from adapters.accounts import Accounts
from adapters.conversion import Json
from adapters.fates_out import DOUBLED, NO_CALL, Notes, why_left_out
from adapters.pairing import Pairing
from adapters.session import goes_on


class Gathering(ABC):
    """Takes messages one by one; an agent's own writes them. Whoever writes a result notes its index in `answered`."""

    def __init__(self, messages: Sequence[Json], pairing: Pairing, at_home: Collection[int], accounts: Accounts) -> None:
        self.messages, self.pairing, self.at_home, self.accounts = messages, pairing, at_home, accounts
        self.answered: set[int] = set()
        self._reply: list[int] = []  # neighbours of one reply, not written yet
        self._waiting: set[int] = set()  # results whose call was not written yet

    def add(self, index: int) -> None:
        message = self.messages[index]
        before = self._reply[-1] if self._reply else None
        if before is not None and not (index == before + 1 and goes_on(message, self.messages[before])):
            self.flush()
        if why := why_left_out(message):
            self.accounts.left_out(index, why)
        elif message["role"] == "tool":
            self._tool(index, message)
        elif self.is_reply(message):
            self._reply.append(index)
        else:
            self.write_user(index, message)

    def flush(self) -> None:
        """Write the reply that is gathered, and the results of its calls."""
        indexes, self._reply = self._reply, []
        if indexes and not self.write_reply(indexes, {index: {} for index in indexes}):
            for index in indexes:
                self.accounts.nothing_left(index)

    def finish(self) -> None:
        """Write what is left; a result whose call was never written is left out."""
        self.flush()
        for index in sorted(self._waiting - self.answered):
            self.accounts.left_out(index, NO_CALL)

    def _tool(self, index: int, message: Json) -> None:
        if index in self.pairing.doubled:
            self.accounts.left_out(index, DOUBLED)
        elif index in self.pairing.orphans:
            self.write_orphan(index, message)
        else:
            self._waiting.add(index)

    def is_reply(self, message: Json) -> bool:
        return bool(message["role"] == "assistant")

    @abstractmethod
    def write_reply(self, indexes: Sequence[int], notes: dict[int, Notes]) -> bool:
        """Write the messages of a reply as one, and the results of their calls. Return whether anything was said in them."""

    @abstractmethod
    def write_user(self, index: int, message: Json) -> None: ...

    @abstractmethod
    def write_orphan(self, index: int, message: Json) -> None:
        """Write a result whose call is not in the session as text."""
