"""Client: the command line's way to a hub, over REST, as any other host has it.

1. Who writes makes the append id before the first try, so a try whose answer was lost can be repeated.
2. A hub that does not answer, is too busy or has lost its database is asked again for a while; one that never answered, only
   briefly: nobody wants to wait for a hub that was not started.
3. What the hub refuses comes back as the error that it raised there, with its code.
4. The token in the data directory belongs to this host's hub and is shown to no other; proxies are not asked for a way to it.
"""

import json
import os
import random
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Self
from urllib.parse import quote

import httpx2

from eventstore import errors
from eventstore.errors import InvalidSettings, StoreError, Unauthorized
from eventstore.settings import load_settings
from eventstore.wire.codec import Document, items, parse_object

PATIENCE_S = 30.0
UNKNOWN_PATIENCE_S = 1.5
CONNECT_S = 5.0
ANSWER_S = 60.0
DELAY_S_FIRST, DELAY_S_MAX = 0.1, 1.0
_TRY_AGAIN = {429, 502, 503, 504}


class HubUnreachable(StoreError):
    """Nothing answers at the hub's address."""

    code, title, retryable = "hub_unreachable", "The hub is not reachable", True


class NotAHub(StoreError):
    """Something else than a hub answers, or a hub that is newer than this client."""

    code, title = "not_a_hub", "The answer is not one that a hub gives"


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
        self.url, self._token_source, self.patience_s = url, token_source, patience_s
        self.on_trouble: Callable[[str], None] = lambda detail: None
        self._has_answered = self._is_away = False
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        limits = httpx2.Timeout(ANSWER_S, connect=CONNECT_S)
        self._http = httpx2.Client(base_url=url, headers=headers, timeout=limits, trust_env=not is_loopback(url))

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

    def work(self, path: str) -> Iterator[dict[str, Any]]:
        """Start long work and yield its lines: `{"progress": …}` and at the end `{"result": …}`. Raises what ended it."""
        timeout = httpx2.Timeout(None, connect=CONNECT_S)
        try:
            with self._http.stream("POST", path, timeout=timeout) as response:
                if not response.is_success:
                    response.read()
                    raise self._refusal(response)
                for line in response.iter_lines():
                    said = json.loads(line)
                    if "error" in said:
                        told = said["error"]
                        raise _ERRORS.get(told["code"], NotAHub)(told["detail"])
                    yield said
        except httpx2.TransportError as error:
            raise self._unreachable(error) from None

    def patch(self, path: str, text: str, append_id: str) -> Answer:
        """Merge a patch."""
        return self._ask("PATCH", path, {"append_id": append_id}, text.encode(), 0)

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
            patience_s = self.patience_s if outcome.is_hub_there or self._has_answered else UNKNOWN_PATIENCE_S
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
            return _NotNow(self._unreachable(error), not isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout))
        if response.is_success:
            return self._answer(response)
        refusal = self._refusal(response)
        if response.status_code not in _TRY_AGAIN or not (refusal.retryable or isinstance(refusal, NotAHub)):
            raise refusal
        return _NotNow(refusal, True, _retry_after_s(response))

    def _answer(self, response: httpx2.Response) -> Answer:
        if "tasuki-log-id" not in response.headers:
            raise NotAHub(f"What answers at {self.url} is not a Tasuki hub. Set TASUKI_URL to the hub's address.")
        self._has_answered = True
        self._trouble("")
        return Answer(response.text)

    def _refusal(self, response: httpx2.Response) -> StoreError:
        """The error that the hub raised."""
        try:
            told = response.json()
            code, detail = str(told["code"]), str(told["detail"])
        except (ValueError, KeyError, TypeError):
            said = f"{self.url} answered with HTTP {response.status_code} and nothing that a hub says."
            return NotAHub(said, http_status=response.status_code)
        self._has_answered = True
        facts = {name: fact for name, fact in told.items() if name not in _STANDARD}
        if code == Unauthorized.code:
            return Unauthorized(f"{detail} {self._where_tokens_come_from()}")
        kind = _ERRORS.get(code)
        return kind(detail, **facts) if kind else NotAHub(f"{detail} (The hub's code for it, {code!a}, is new to this client.)")

    def _unreachable(self, error: httpx2.TransportError) -> HubUnreachable:
        what = str(error) or type(error).__name__
        here = "Start one with `tasuki serve`, or set" if is_loopback(self.url) else "Check"
        return HubUnreachable(f"No hub answers at {self.url} ({what}). {here} TASUKI_URL to the address of one that runs.")

    def _where_tokens_come_from(self) -> str:
        if self._token_source:
            return f"The one that was sent came from {self._token_source}."
        return (
            "None was sent: set TASUKI_TOKEN. On the hub's own host and as its user, the token in its data directory is used by"
            " itself (TASUKI_DATA_DIR, if it is not the usual one)."
        )

    def _trouble(self, detail: str) -> None:
        if bool(detail) != self._is_away:
            self._is_away = bool(detail)
            self.on_trouble(detail)


def open_hub(url: str = "", patience_s: float = PATIENCE_S) -> Hub:
    """Return the hub of this environment: `url`, else TASUKI_URL, else this host's own. Raises InvalidSettings."""
    settings = load_settings(os.environ)
    url = (url or os.environ.get("TASUKI_URL", "") or f"http://127.0.0.1:{settings.port or 8808}").rstrip("/")
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL:
        parsed = httpx2.URL("")
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise InvalidSettings(f"The hub's address is {url[:200]!a}; it must be like http://127.0.0.1:8808 (TASUKI_URL, --url).")
    token, source = os.environ.get("TASUKI_TOKEN", "").strip(), "TASUKI_TOKEN"
    if not token and is_loopback(url):
        token, source = _token_in_file(str(settings.token_path)), str(settings.token_path)
    if not token.isascii():
        raise InvalidSettings(f"The token in {source} holds characters that no token has.")
    return Hub(url, token, source if token else "", patience_s)


def is_loopback(url: str) -> bool:
    """Whether a hub at this address runs on this host."""
    host = httpx2.URL(url).host
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


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


def _token_in_file(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(1000).strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _retry_after_s(response: httpx2.Response) -> float:
    text = response.headers.get("retry-after", "")
    return float(text) if text.isdecimal() and len(text) < 4 else 0.0


_STANDARD = {"type", "title", "status", "code", "detail", "retryable", "request_id"}
_ERRORS: dict[str, type[StoreError]] = {
    kind.code: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, StoreError)
}
