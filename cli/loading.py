"""Loading: what a module makes while it is loaded is kept. To look for garbage among it takes a quarter of a start."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Load modules inside of this. What there is at its end is not looked through later either."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
