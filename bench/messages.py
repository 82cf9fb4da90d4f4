"""Messages: what is appended: text like an agent's, of a given size, the same on every run."""

import itertools
import json
import random

SIZE_BYTES = 1000  # a message as stored; with what the server adds, 1 KB
_WORDS = (
    "the test fails because append reads the old head before the lock is taken so I moved the call into the function "
    "and ran it again with seed 42 in src/store/log.py line 118: assert seq == head + 1 // now 37 passed, 0 failed; "
    "next I look at the reader, which keeps a list of waiters for each session and wakes them after the commit"
).split()
_numbers = itertools.count(1)


def text(chars: int, seed: int = 0) -> str:
    """Return words of about `chars` characters."""
    draw = random.Random(seed)
    words: list[str] = []
    length = 0
    while length < chars:
        words.append(draw.choice(_WORDS))
        length += len(words[-1]) + 1
    return " ".join(words)[:chars]


_TEXTS = [text(SIZE_BYTES - 120, seed) for seed in range(64)]


def new_append_id() -> str:
    """Return an id that no other message of this run has."""
    return f"bench-{next(_numbers):012d}"


def message(append_id: str, content: str | None = None) -> bytes:
    """Return a message as a client sends it, by default of about SIZE_BYTES."""
    content = _TEXTS[next(_numbers) % len(_TEXTS)] if content is None else content
    return json.dumps({"role": "assistant", "append_id": append_id, "content": content}).encode()


def large_content(chars: int) -> str:
    """Return a text of exactly `chars` characters, quickly: one long text again and again."""
    block = text(10_000, seed=7) + "\n"
    return (block * (chars // len(block) + 1))[:chars]
