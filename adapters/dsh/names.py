"""Ids of sessions and messages, made of what names them, so that writing again gives the same log."""

from collections import Counter
from uuid import NAMESPACE_URL, uuid5

from adapters.conversion import Json
from adapters.dsh.records import AGENT
from adapters.made_names import said_by
from adapters.session import metadata_of, native_of
from adapters.values import text_of


class Names:
    """Gives each message of a session an id of its own. Those of the agent itself keep theirs."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._seen: Counter[str] = Counter()

    def message(self, message: Json) -> str:
        own = text_of(metadata_of(message), "native_id") if native_of(message, AGENT) else ""
        name = own or text_of(message, "append_id") or said_by(message)
        self._seen[name] += 1
        if own and self._seen[name] == 1:
            return own
        return made_id(f"{self._seed}:{name}:{self._seen[name]}")

    def made_up(self, name: str) -> str:
        self._seen[name] += 1
        return made_id(f"{self._seed}:made up:{name}:{self._seen[name]}")


def made_id(seed: str) -> str:
    """A uuid, the same for the same seed."""
    return str(uuid5(NAMESPACE_URL, "tasuki:" + seed.encode("utf-8", "surrogatepass").hex()))
