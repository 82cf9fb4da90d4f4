"""Client: the command line's way to a hub, over REST, as any other host has it.

1. Who writes makes the append id before the first try, so a try whose answer was lost can be repeated.
2. A hub that does not answer, is too busy or has lost its database is asked again for a while; one that never answered, only
   briefly: nobody wants to wait for a hub that was not started.
"""

import json
import random
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import quote

import httpx2

from cli.address import Address, NotAHub, error_of, find_address, is_unheard, is_worth_repeating, retry_after_s
from eventstore.errors import StoreError
from eventstore.wire.codec import Document, items, parse_object

PATIENCE_S = 30.0
UNKNOWN_PATIENCE_S = 1.5
CONNECT_S = 5.0
ANSWER_S = 60.0
DELAY_S_FIRST, DELAY_S_MAX = 0.1, 1.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a hub answered: the JSON text as it came, and its values; numbers are `codec.Number` in `document`."""

    text: str

    @property
    def document(self) -> Document:
        return parse_object(self.text)

    @property
    def value(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.text)
        return found


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a session: the source text of each message, and the cursor for what follows."""

    sources: list[str]
    next_after_seq: int
    head_seq: int
    has_more: bool
    log_id: str


class Hub:
    """One hub, spoken to by one thread. `on_trouble(detail)` is told once when it stops answering, with "" when it is back."""

    def __init__(self, url: str, token: str, token_source: str, patience_s: float = PATIENCE_S) -> None:
        self.url, self.patience_s = url, patience_s
        self.on_trouble: Callable[[str], None] = lambda detail: None
        self._address = Address(url, token, token_source)
        self._has_answered = self._is_known = self._is_away = False
        self._http = httpx2.Client(**self._address.options(), timeout=httpx2.Timeout(ANSWER_S, connect=CONNECT_S))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *of_the_block: object) -> None:
        self._http.close()

    def get(self, path: str, wait_s: float = 0, **query: Any) -> Answer:
        """Read. `wait_s` is how long the hub may hold the answer."""
        given = {name: str(value) for name, value in query.items() if value is not None}
        return self._ask("GET", path, given | ({"wait": f"{wait_s:g}"} if wait_s else {}), None, wait_s)

    def post(self, path: str, text: str = "", **query: str) -> Answer:
        """Write. The text holds an append id, or repeating it does no harm."""
        return self._ask("POST", path, query, text.encode(), 0)

    def work(self, path: str, text: str = "") -> Iterator[dict[str, Any]]:
        """Start long work and yield its lines: `{"progress": …}` and at the end `{"result": …}`. Raises what ended it."""
        timeout = httpx2.Timeout(None, connect=CONNECT_S)
        try:
            with self._http.stream("POST", path, content=text.encode(), timeout=timeout) as response:
                if not response.is_success:
                    response.read()
                    raise self._address.refusal(response) or NotAHub()
                for line in response.iter_lines():
                    said = json.loads(line)
                    if "error" in said:
                        told = said["error"]
                        raise error_of(told["code"], told["detail"])
                    yield said
        except httpx2.TransportError as error:
            raise self._address.unreachable(error) from None

    def patch(self, path: str, text: str, append_id: str) -> Answer:
        """Merge a patch."""
        return self._ask("PATCH", path, {"append_id": append_id}, text.encode(), 0)

    def delete(self, path: str, **query: str) -> Answer:
        """Delete; deleting twice is the same as once."""
        return self._ask("DELETE", path, query, None, 0)

    def page(self, session_id: str, after_seq: int, limit: int = 1000, wait_s: float = 0, log_id: str = "") -> Page:
        """Return a page of a session's messages, waiting up to `wait_s` for the first."""
        answer = self.get(session_path(session_id), wait_s, after_seq=after_seq, limit=limit, log_id=log_id or None)
        document = answer.document
        number = {name: document.fields[name].as_int() for name in ("next_after_seq", "head_seq")}
        sources = items(document.source("messages"))
        return Page(sources, **number, has_more=document.fields["has_more"], log_id=document.fields["log_id"])

    def _ask(self, method: str, path: str, query: Mapping[str, str], body: bytes | None, wait_s: float) -> Answer:
        """Ask until there is an answer, or patience ends. Raises what the hub raised, HubUnreachable, NotAHub."""
        began, delay_s = time.monotonic(), DELAY_S_FIRST
        timeout = httpx2.Timeout(ANSWER_S + wait_s, connect=CONNECT_S)
        while True:
            outcome = self._try(self._http.build_request(method, path, params=query, content=body, timeout=timeout))
            if isinstance(outcome, Answer):
                return outcome
            self._is_known |= outcome.is_hub_there or self._has_answered
            patience_s = self.patience_s if self._is_known else UNKNOWN_PATIENCE_S
            again_s = max(outcome.not_before_s, delay_s * random.uniform(0.7, 1.0))  # noqa: S311  # jitter, no secret
            if time.monotonic() + again_s - began > min(patience_s, self.patience_s):
                raise outcome.error
            if self._has_answered:
                self._trouble(outcome.error.detail)
            time.sleep(again_s)
            delay_s = min(2 * delay_s, DELAY_S_MAX)

    def _try(self, request: httpx2.Request) -> "Answer | _NotNow":
        try:
            response = self._http.send(request)
        except httpx2.TransportError as error:
            return _NotNow(self._address.unreachable(error), not is_unheard(error))
        refusal = self._address.refusal(response)
        self._has_answered |= not isinstance(refusal, NotAHub)
        if refusal is None:
            self._trouble("")
            return Answer(response.text)
        if not is_worth_repeating(response, refusal):
            raise refusal
        return _NotNow(refusal, True, retry_after_s(response))

    def _trouble(self, detail: str) -> None:
        if bool(detail) != self._is_away:
            self._is_away = bool(detail)
            self.on_trouble(detail)


def open_hub(url: str = "", patience_s: float = PATIENCE_S) -> Hub:
    """Return the hub of this environment: `url`, else TASUKI_URL, else this host's own. Raises InvalidSettings."""
    address = find_address(url)
    return Hub(address.url, address.token, address.token_source, patience_s)


def new_append_id() -> str:
    """Return an idempotency key for one write of this client."""
    return f"cli:{uuid.uuid4()}"


def session_path(session_id: str) -> str:
    """Return the path of a session."""
    return f"/v1/sessions/{quote(session_id, safe='')}"


@dataclass(frozen=True, slots=True)
class _NotNow:
    """A try that failed and may be repeated, `not_before_s` from now; `is_hub_there`: something took the request."""

    error: StoreError
    is_hub_there: bool
    not_before_s: float = 0.0
