"""What keeps a file from being a `messages` file, written from the contract alone."""

from collections.abc import Iterable

from eventstore.errors import InvalidMessage, StoreError
from eventstore.wire import codec
from eventstore.wire.message import check_message


def problems(records: Iterable[bytes]) -> list[str]:
    """Return what a reader would stumble over, in the order of the lines; nothing for a sound file."""
    found: list[str] = []
    append_ids: dict[str, str] = {}
    for number, raw in enumerate(records, 1):
        try:
            document = codec.parse_object(codec.decode_text(raw))
            if number == 1:
                _check_header(document.fields)
            elif "role" in document.fields:
                check_message(document)
                _check_once(document, append_ids)
            elif not isinstance(document.fields.get("records"), list) or not isinstance(document.fields.get("agent"), str):
                raise InvalidMessage("Neither a message nor native records.")
        except StoreError as error:
            found.append(f"line {number}: {error.detail}")
    return found


def _check_header(header: dict[str, object]) -> None:
    if header.get("type") != "session" or header.get("schema_version") != codec.Number("1"):
        raise InvalidMessage('The first line must be the header: {"type": "session", "schema_version": 1, ...}.')
    if not isinstance(header.get("meta"), dict):
        raise InvalidMessage("The header has no `meta`.")


def _check_once(document: codec.Document, append_ids: dict[str, str]) -> None:
    """An append_id names one message: the same id with another body is refused by a hub."""
    append_id = document.fields.get("append_id")
    if isinstance(append_id, str):
        text = codec.canonical(document.fields)
        if append_ids.setdefault(append_id, text) != text:
            raise InvalidMessage("This append_id stands for another message already.")
