"""What comes with a request: query parameters by their kind, the body within its limit."""

from collections.abc import Collection, Mapping
from datetime import datetime

from starlette.requests import ClientDisconnect, Request

from eventstore.errors import InvalidRequest, TooLarge
from eventstore.read import PAGE_COUNT_MAX
from eventstore.wire.codec import decode_text

LIMIT_DEFAULT = 100


def check_names(request: Request, known: Collection[str]) -> None:
    """Refuse a parameter that this route does not know: a mistyped cursor must not read from the start. Raises InvalidRequest."""
    for name in _given(request):
        if name not in known:
            expected = f"known here: {', '.join(sorted(known))}" if known else "this route takes none"
            raise InvalidRequest(f"Unknown query parameter {name[:80]!a}; {expected}.")


def seq(request: Request, name: str, default: int | None = 0) -> int | None:
    """Return a seq, a whole number from 0. Raises InvalidRequest."""
    text = _given(request).get(name)
    if text is None or text == "":
        return default
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise InvalidRequest(f"`{name}` must be a whole number from 0.")
    return int(text)


def limit(request: Request) -> int:
    """Return the number of items wanted. Raises InvalidRequest."""
    text = _given(request).get("limit", "") or str(LIMIT_DEFAULT)
    if not (text.isascii() and text.isdecimal() and len(text) <= 9) or not 1 <= int(text) <= PAGE_COUNT_MAX:
        raise InvalidRequest(f"`limit` must be a whole number from 1 to {PAGE_COUNT_MAX}.")
    return int(text)


def wait_s(request: Request) -> float:
    """Return how long to wait, in seconds. Raises InvalidRequest."""
    text = _given(request).get("wait", "") or "0"
    try:
        value = float(text) if len(text) <= 20 else -1.0
    except ValueError:
        value = -1.0
    if not 0 <= value <= 60:
        raise InvalidRequest("`wait` must be a number of seconds from 0 to 60.")
    return value


def moment(request: Request, name: str) -> datetime | None:
    """Return an RFC 3339 time with an offset, None where it is absent. Raises InvalidRequest."""
    text = _given(request).get(name)
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text.upper())
    except ValueError:
        found = datetime.min  # noqa: DTZ901  # no offset: refused below
    if found.tzinfo is None:
        raise InvalidRequest(f"`{name}` must be a time with an offset, like 2026-11-30T08:00:00Z (write + as %2B).")
    return found


def flag(request: Request, name: str) -> bool:
    """Return whether a 0/1 parameter is set. Raises InvalidRequest."""
    text = _given(request).get(name, "")
    if text not in ("", "0", "1"):
        raise InvalidRequest(f"`{name}` must be 0 or 1.")
    return text == "1"


def text(request: Request, name: str) -> str | None:
    """Return a text parameter, None where it is absent or empty."""
    value = _given(request).get(name)
    if value and ("\0" in value or any("\ud800" <= char <= "\udfff" for char in value)):
        raise InvalidRequest(f"`{name}` holds a character that it cannot.")
    return value or None


async def body(request: Request, bytes_max: int) -> str:
    """Return the body's text. Raises as `raw_body`, InvalidJson."""
    return decode_text(await raw_body(request, bytes_max))


async def raw_body(request: Request, bytes_max: int) -> bytes:
    """Return the body. Raises TooLarge before more than `bytes_max` is held, InvalidRequest."""
    headers = dict(request.scope["headers"])
    if headers.get(b"content-encoding", b"identity").lower() != b"identity":
        raise InvalidRequest("Send the body without Content-Encoding.")
    declared = headers.get(b"content-length", b"").decode("latin-1")
    if declared.isdecimal() and int(declared) > bytes_max:
        raise _too_large(bytes_max)
    chunks: list[bytes] = []
    size, has_more = 0, True
    while has_more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunk, has_more = message.get("body", b""), message.get("more_body", False)
        size += len(chunk)
        if size > bytes_max:
            raise _too_large(bytes_max)
        chunks.append(chunk)
    return b"".join(chunks)


def _given(request: Request) -> Mapping[str, str]:
    """The query's parameters, which most requests have none of."""
    return request.query_params if request.scope["query_string"] else {}


def _too_large(bytes_max: int) -> TooLarge:
    return TooLarge(f"The body is larger than {bytes_max} bytes.", limit="request_bytes_max", value=bytes_max)
