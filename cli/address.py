"""Address: where the hub is, with which token, and what its answers over HTTP mean, to whoever asks.

1. What the hub refuses comes back as the error that it raised there, with its code.
2. The token in the data directory belongs to this host's hub and is shown to no other; proxies are not asked for a way to it.
"""

import os
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any

import httpx2

from eventstore import errors
from eventstore.errors import InvalidSettings, StoreError, Unauthorized
from eventstore.settings import load_settings

_TRY_AGAIN = {429, 502, 503, 504}


class HubUnreachable(StoreError):
    """Nothing answers at the hub's address."""

    code, title, retryable = "hub_unreachable", "The hub is not reachable", True


class NotAHub(StoreError):
    """Something else than a hub answers, or a hub that is newer than this client."""

    code, title = "not_a_hub", "The answer is not one that a hub gives"


@dataclass(frozen=True, slots=True)
class Address:
    """Where a hub is, the token for it and where that came from; and what answers from there mean."""

    url: str
    token: str = field(repr=False)
    token_source: str

    def options(self) -> dict[str, Any]:
        """What an HTTP client of this hub is made with. Proxies are not asked for a way to this host itself."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return {"base_url": self.url, "headers": headers, "trust_env": not is_loopback(self.url)}

    def refusal(self, response: httpx2.Response) -> StoreError | None:
        """The error that the hub raised, NotAHub for an answer that no hub gives, None when it said yes."""
        if response.is_success:
            if "tasuki-log-id" in response.headers:
                return None
            return NotAHub(f"What answers at {self.url} is not a Tasuki hub. Set TASUKI_URL to the hub's address.")
        try:
            told = response.json()
            code, detail = str(told["code"]), str(told["detail"])
        except (ValueError, KeyError, TypeError):
            said = f"{self.url} answered with HTTP {response.status_code} and nothing that a hub says."
            return NotAHub(said, http_status=response.status_code)
        facts = {name: fact for name, fact in told.items() if name not in _STANDARD}
        if code == Unauthorized.code:
            return Unauthorized(f"{detail} {self._where_tokens_come_from()}")
        return error_of(code, detail, **facts)

    def unreachable(self, error: httpx2.TransportError) -> HubUnreachable:
        """The error for an answer that did not come."""
        what = str(error) or type(error).__name__
        here = "Start one with `tasuki serve`, or set" if is_loopback(self.url) else "Check"
        return HubUnreachable(f"No hub answers at {self.url} ({what}). {here} TASUKI_URL to the address of one that runs.")

    def _where_tokens_come_from(self) -> str:
        if self.token_source:
            return f"The one that was sent came from {self.token_source}."
        return (
            "None was sent: set TASUKI_TOKEN. On the hub's own host and as its user, the token in its data directory is used by"
            " itself (TASUKI_DATA_DIR, if it is not the usual one)."
        )


def find_address(url: str = "") -> Address:
    """Return where the hub of this environment is: `url`, else TASUKI_URL, else this host's own. Raises InvalidSettings."""
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
    return Address(url, token, source if token else "")


def is_loopback(url: str) -> bool:
    """Whether a hub at this address runs on this host."""
    host = httpx2.URL(url).host
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def is_unheard(error: httpx2.TransportError) -> bool:
    """Whether a request that failed so never reached anyone."""
    return isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)


def is_worth_repeating(response: httpx2.Response, refusal: StoreError) -> bool:
    """Whether what was refused may be taken later, as it is."""
    return response.status_code in _TRY_AGAIN and (refusal.retryable or isinstance(refusal, NotAHub))


def retry_after_s(response: httpx2.Response) -> float:
    """Return how long the hub asks to wait before the next try; 0 where it does not say."""
    text = response.headers.get("retry-after", "")
    return float(text) if text.isdecimal() and len(text) < 4 else 0.0


def error_of(code: str, detail: str, **facts: Any) -> StoreError:
    """Return the error that a hub named; NotAHub for one that only a newer hub knows."""
    kind = _ERRORS.get(code)
    return kind(detail, **facts) if kind else NotAHub(f"{detail} (The hub's code for it, {code!a}, is new to this client.)")


def _token_in_file(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(1000).strip()
    except (OSError, UnicodeDecodeError):
        return ""


_STANDARD = {"type", "title", "status", "code", "detail", "retryable", "request_id"}
_ERRORS: dict[str, type[StoreError]] = {
    kind.code: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, StoreError)
}
