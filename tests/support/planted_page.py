"""A hub with a mistake: what it just wrote it hands over in another spelling. `python -m planted_page serve …`."""

import sys

from eventstore import tail
from eventstore.append import NewEvent
from eventstore.read import Page, SessionRef, page_of


def spelled_otherwise(ref: SessionRef, mode: str, written: list[tuple[int, NewEvent]]) -> Page:
    page = page_of(ref, mode, written)
    page.items = [item.replace(b'"seq":', b'"seq": ', 1) for item in page.items]
    return page


if __name__ == "__main__":
    from cli.main import main

    setattr(tail, "page_of", spelled_otherwise)  # noqa: B010  # it is the module's own only by import
    sys.exit(main())
