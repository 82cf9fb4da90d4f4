"""Tokens: the estimate errs on the safe side of what tokenizers make of a text, and cuts where it counts."""

import hashlib
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transports.mcp.tokens import CHARS_PER_TOKEN_MAX, count, fits

HASHES = b"".join(hashlib.sha512(letter).digest() for letter in (b"a", b"b", b"c"))
# Text, and the most that cl100k, o200k and the tokenizers published for Claude and DeepSeek make of it.
MEASURED = {
    "prose": (
        "The test fails in line 12 because the fixture closes the connection before the second read; keep it open until the"
        " task group ends.",
        27,
    ),
    "code": (
        "async def read(pool, session_id: str, after_seq: int = 0) -> list[Event]:\n"
        '    rows = await pool.call("read_page", session_id=session_id)\n'
        "    return [Event(*row) for row in rows if row[0] > after_seq]\n",
        67,
    ),
    "hex": (hashlib.sha512(b"a").hexdigest(), 71),
    "ids": ("ses_01a22a70-1223-7eff-9b62-8d5845a62bb1 019a3c1e-7d52-7c4a-8b1e-5f0d2c9a7e44", 59),
    "json": (
        '{"session_id":"ses_01a22a70-1223-7eff-9b62-8d5845a62bb1","seq":42,"created_at":"2026-11-30T03:11:08.176Z",'
        '"metadata":{"agent_source":"claude-code"},"role":"user","content":"hi","append_id":"m1"}',
        83,
    ),
    "log": (
        "2026-11-30T08:05:00.000123 INFO svc[77] GET /v1/sessions/123?after=9007199254740991 200 31.25ms\n"
        "\tat com.example.Handler$1.run(Handler.java:117)",
        62,
    ),
    "chinese": ("我们先把数据库备份到另外一台机器，然后再开始迁移；如果失败，就从快照恢复。", 37),
    "mixed": ("配置 API_KEY 之后运行 `make test`，端口 8808 → 失败 ✗ (é, ü, 日本語, 한국어) 🚀👩‍💻", 49),
    "escapes": ('{"arguments":"{\\"command\\":\\"ls -la \\\\\\"/tmp/x y\\\\\\"\\\\n\\"}"}', 24),
}


@pytest.mark.parametrize("kind", MEASURED)
def test_it_is_at_least_what_a_tokenizer_makes_of_it_and_at_most_twice(kind: str):
    text, tokens = MEASURED[kind]
    assert tokens <= count(text) <= 2 * tokens


def test_base64_is_nearly_what_it_takes():
    assert count(b64encode(HASHES).decode()) >= 0.97 * 172


@given(st.text(), st.integers(0, 60))
def test_what_fits_is_what_counts_no_more(text: str, tokens_max: int):
    assert fits(text, tokens_max) == (count(text) <= tokens_max)


@given(st.text(st.characters(codec=None)), st.text(st.characters(codec=None)))
def test_two_texts_take_no_less_than_one_and_a_token_is_no_longer_than_the_longest(one: str, other: str):
    assert count(one) <= count(one + other) <= count(one) + count(other)
    assert len(one) <= count(one) * CHARS_PER_TOKEN_MAX
