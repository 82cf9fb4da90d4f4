"""The body of a request: read whole and checked before the SDK sees it.

Left to itself the SDK takes the last of two members with one name and NaN for a number, refuses a body that is too large in
plain text, and in the handshake era answers 500 and logs a fault when the client goes away in the middle of it.
"""

from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive

from eventstore.errors import TooLarge
from eventstore.wire.codec import decode_text, parse


async def read(receive: Receive, bytes_max: int) -> bytes:
    """Return the body. Raises TooLarge before more than `bytes_max` is held, ClientDisconnect."""
    chunks: list[bytes] = []
    size, has_more = 0, True
    while has_more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > bytes_max:
            raise TooLarge(f"The body is larger than {bytes_max} bytes.", limit="request_bytes_max", value=bytes_max)
        has_more = message.get("more_body", False)
    return b"".join(chunks)


def check(body: bytes) -> None:
    """Raises InvalidJson for what is not JSON, or says two things at once. SDK and hub then read the same in it."""
    parse(decode_text(body))


def replay(body: bytes, receive: Receive) -> Receive:
    """Receive the body again, then what `receive` brings."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return messages.pop() if messages else await receive()

    return again
