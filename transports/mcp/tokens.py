"""Tokens: how many a text takes in a model's context, estimated so that it errs on the safe side.

Which model reads is not known, so no tokenizer is asked. A token is taken to be at most three bytes, and at most five letters of a
word, two capitals, two digits, one mark, or a run of blanks; other scripts cost a token less than their bytes (é 1, 字 2, an emoji
3). Against four tokenizers (cl100k, o200k, Claude's and DeepSeek's published ones) this was 1.3 to 1.7 times as much for prose,
code and transcripts, 1.0 for base64, 2 to 4 times for Chinese; only random letters take more than it says.
"""

import re

CHARS_PER_TOKEN_MAX = 3
_ascii_token = re.compile(r" ?[a-z]{1,5}| ?[A-Z]{1,2}| ?[0-9]{1,2}| {1,8}|[\x00-\x7f]")


def count(text: str) -> int:
    """Return how many tokens a text takes at most."""
    others = 0 if text.isascii() else len(text.encode("utf-8", "surrogatepass")) - len(text)
    return max(len(_ascii_token.findall(text)) + others, (len(text) + others + 2) // 3)


def fits(text: str, tokens_max: int) -> bool:
    """Whether a text takes at most `tokens_max`, without counting one that is far too long."""
    return len(text) <= tokens_max * CHARS_PER_TOKEN_MAX and count(text) <= tokens_max
