"""Secrets that only their name betrays: `password = …`, `API_KEY=…`, `"token": "…"`, 密码：…; and what is no secret there.

A name is found first, then what stands after it is read as the place would read it: between quotes of any escaping,
in a shell or .env line, in YAML, in a query string. Whether that is a value or a piece of program is told by its form:
a call, a variable, a path, a type, plain words are not taken. Words alone are never taken for a password (docs/redaction.md).
"""

import re
from collections.abc import Iterator

from eventstore.possessive import possessive

VALUE_CHARS_MAX = 4096
NAME_CHARS_MAX = 40
BARE_CHARS_SEEN = 64  # of a value without quotes, to judge it: names can stand in it, each of which is judged again

_ends = r"(?:_?\d{1,2}|[_-](?:base|data|prod|production|staging|dev|test|live|old|new|b64|base64))?"
_closes = r"""\\{0,7}+["'`]?\]?(?:\*\*)?"""
_joins = r"(?P<is>[ \t]is:?(?=[ \t]))|(?P<gap>(?=[ \t]))|(?P<tag>>)|(?P<comma>,)"
_sign = rf"(?:[ \t]{{0,8}}+(?:=>|:=|->|\?=|:(?![:=])|=(?![=~])|[：＝])|{_joins})"
_typed = possessive(r""":[ \t]{0,2}[A-Za-z&][\w&\[\].|<>]{0,32}[ \t]{1,2}(?==[ \t]{0,2}["'])""", "?")
_after = re.compile(_ends + _closes + _typed + _sign + r"(?:\*\*)?[ \t]{0,8}+")

# What a text must hold; the noun that a name ends with; what kind of value it has.
_NOUNS = [
    ("passw", re.compile(r"passw(?:or)?d|passwort"), "password"),
    ("pass", re.compile("pass(?:phrase|code)"), "password"),
    ("pass", re.compile("pass(?![a-z])"), "pass"),
    ("pwd", re.compile("pwd"), "password"),
    ("secret", re.compile("secret(?:[_-]?(?:access[_-]?)?key)?"), "secret"),
    ("token", re.compile("token"), "token"),
    ("key", re.compile("key"), "key"),
    ("authorization", re.compile("authorization"), "token"),
    ("密", re.compile("密[码碼钥鑰]"), "han"),
    ("钥", re.compile("[秘私]钥"), "han"),
    ("令", re.compile("口令|令牌"), "han"),
]
_any_noun = re.compile("|".join(literal for literal, _, _ in _NOUNS), re.IGNORECASE)
_RULES = {"pass": "password", "key": "api_key", "han": "password"}

_word = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
_key_of = re.compile(
    r"(?:api|access|auth|secret|private|encrypt(?:ion)?|signing|sign|account|master|subscription|client|licen[cs]e|service"
    r"|admin|webhook|deploy|storage|aes|hmac|jwt|crypto|security|csek|cmek)[_\-. ]?$"
)
_key_of_no_secret = re.compile(
    r"(?:public|primary|foreign|partition|cache|sort|dedup|idempotency|group|row|object|routing|lookup|index|hot|short|"
    r"host|shard|range|hash|unique|composite|translation|i18n|registry|map|dict|json|s3|bucket|file|path|env|config|parent)_?$"
)
_token_of_no_secret = re.compile(
    r"(?:page|next|continuation|sync|cursor|resume|previous|prev|delta|stop|eos|bos|pad|unk|mask)[_-]?$"
)

_han_is = possessive(r"[（(][^()（）\n]{1,16}+[)）]", "?") + r"[ \t]{0,4}+(?:[:：=＝]|[是为為][:：]?)[ \t]{0,4}+"
_han_after = re.compile(_han_is + r"""[“"'「『`]?(?P<value>[!#-&(-;=?-\[\]-_a-~]{4,128}+)""")
_opening = re.compile(r"""[bBrRuUfF@]{0,2}(?P<slashes>\\{0,7}+)(?P<quote>["'`])""")
_bare = re.compile(possessive(r"""[!#-&(-;=?-\[\]-_a-~\u00a1-\u024f]|\\(?![nrtbfu"'\\/0\s])""", "+"))
_parameter = re.compile(r"""[!$%(-;=?-\[\]-_a-~]++""")
_bare_end = re.compile(
    r"[;,](?=\s|$|[A-Za-z_][\w -]{0,40}[=:])|&(?=&|$|amp;|[A-Za-z_][\w.-]{0,40}=)|\#(?=[A-Za-z_]\w{0,40}=)|\|\||"
    r"\)[;,]?$|[)\]}.,;:]+$"
)


def assignments(text: str, low: str) -> Iterator[tuple[int, int, str]]:
    """Yield where a secret stands behind its name, and the rule: `password`, `secret`, `token`, `api_key`.

    `low` is the text in lower case, place by place as long.
    """
    for literal, pattern, noun in _NOUNS:
        if literal not in low:
            continue
        taken = 0
        for match in pattern.finditer(low):
            if match.start() < taken:
                continue
            found = _value_of_han(text, match.end()) if noun == "han" else _value_of(text, low, match, noun)
            if found:
                taken = found[1]
                yield *found, _RULES.get(noun, noun)


def may_name_a_secret(key: str) -> bool:
    """Whether `member` may take a value under this key for a secret; for almost all keys it may not."""
    return _any_noun.search(key) is not None


def member(key: str, value: str) -> str | None:
    """Return the rule by which the string under this key of a JSON object is a secret as a whole, else None."""
    low = key.lower()
    if len(low) != len(key):
        return None
    for literal, pattern, noun in _NOUNS:
        if literal not in low:
            continue
        for match in pattern.finditer(low):
            if noun == "han":
                return "password" if match.end() == len(low) and is_value(value, "password", "quoted") else None
            ends = _member_end.match(low, match.end())
            if ends and _is_name(key, low, match, noun, quoted=True) and is_value(value, noun, "quoted"):
                return _RULES.get(noun, noun)
    return None


_member_end = re.compile(_ends + "$")


def _value_of(text: str, low: str, match: re.Match[str], noun: str) -> tuple[int, int] | None:
    after = _after.match(text, match.end())
    if not after:
        return None
    start = match.start()
    opening = _opening.match(text, after.end())
    if not _is_joined(text, start, after, opening is not None and noun == "password"):
        return None
    closing = text[match.end() : match.end() + 1]
    if not _is_name(text, low, match, noun, quoted=closing in {'"', "'", "`", "\\"}):
        return None
    if opening:
        found = _quoted(text, opening)
        return found if found and is_value(text[found[0] : found[1]], noun, "loose" if after["comma"] else "quoted") else None
    return None if after["comma"] else _unquoted(text, after, noun, _style(text, match, after))


def _is_joined(text: str, start: int, after: re.Match[str], quoted_password: bool) -> bool:
    """Whether what joins name and value does so here: `--password x`, `PASSWORD 'x'`, `<password>x`, `define('PASSWORD', 'x')`."""
    if after["gap"] is not None:
        return quoted_password or _is_flag(text, start)
    if after["tag"]:
        return _before_word(text, start) == "<"
    if after["comma"]:
        head = text[max(0, start - NAME_CHARS_MAX) : start].rstrip(_word)
        return head.rstrip("\"'\\")[-1:] == "(" and head[-1:] in {'"', "'"}
    return True


def _style(text: str, match: re.Match[str], after: re.Match[str]) -> str:
    """`query`: in a URL; `env`: tight and in capitals, so no program; `said`: in a sentence; else `loose`: YAML, ini, program."""
    if after["is"]:
        return "said"
    if after["gap"] is not None or after["tag"]:
        return "env"
    if text[after.end() - 1] != "=" or text[after.end() - 2] in " \t":
        return "loose"
    if _before_word(text, match.start()) in {"?", "&"}:
        return "query"
    return "env" if text[match.start() : match.end()].isupper() else "loose"


def _before_word(text: str, at: int) -> str:
    """The character before the word that ends here."""
    head = text[max(0, at - NAME_CHARS_MAX) : at]
    return head[: len(head.rstrip(_word))][-1:]


def _is_name(text: str, low: str, match: re.Match[str], noun: str, quoted: bool) -> bool:
    """Whether the noun ends a name that secrets go by: not `cache_key`, not `bypass`."""
    start = match.start()
    head = low[max(0, start - 24) : start]
    if noun == "pass":
        return quoted or head[-1:] in {"_", "-", "."} or (text[start + 4 : start + 5] == "=" and not head[-1:].isalnum())
    if noun == "token":
        return not _token_of_no_secret.search(head)
    if noun != "key":
        return True
    if _key_of.search(head):
        return True
    return text[start - 1 : match.end()] == "_KEY" and not _key_of_no_secret.search(head[:-1])


def _is_flag(text: str, start: int) -> bool:
    """Whether the name is a flag of a command line: `--db-password hunter2`."""
    head = text[max(0, start - NAME_CHARS_MAX) : start]
    word = head[len(head.rstrip(_word)) :]
    return word.startswith("--") or (word == "-" and len(head) > 1)


def _value_of_han(text: str, at: int) -> tuple[int, int] | None:
    match = _han_after.match(text, at)
    if not match:
        return None
    start, end = match.span("value")
    end = _trimmed(text, start, end)
    return (start, end) if is_value(text[start:end], "password", "env") else None


def _quoted(text: str, opening: re.Match[str]) -> tuple[int, int] | None:
    """Where the value between the quotes stands; the closing quote is as much escaped as the opening one."""
    quote, depth = opening["quote"], len(opening["slashes"])
    start = at = opening.end()
    while (at := text.find(quote, at, start + VALUE_CHARS_MAX)) >= 0:
        bare = len(text[max(start, at - 16) : at].rstrip("\\"))
        slashes = min(16, at - start) - bare
        if slashes <= depth or (depth == 0 and slashes % 2 == 0):
            return start, at - min(slashes, depth)
        at += 1
    return None


def _unquoted(text: str, after: re.Match[str], noun: str, style: str) -> tuple[int, int] | None:
    match = (_parameter if style == "query" else _bare).match(text, after.end(), after.end() + BARE_CHARS_SEEN)
    if not match or (after["tag"] and text[match.end() : match.end() + 2] != "</"):
        return None
    start, end = match.start(), _trimmed(text, match.start(), match.end())
    if not is_value(text[start:end], noun, style):
        return None
    if end - start == BARE_CHARS_SEEN:
        whole = _bare.match(text, start, start + VALUE_CHARS_MAX)
        end = _trimmed(text, start, whole.end()) if whole else end
    return start, end


def _trimmed(text: str, start: int, end: int) -> int:
    """Where a value without quotes ends: not in the next parameter, not with the sentence's full stop."""
    match = _bare_end.search(text, start + 1, end)
    while match and match.start() > start:
        end = match.start()
        match = _bare_end.search(text, start + 1, end)
    return end


_no_value = re.compile(
    r"^(?:\.{0,2}/|~/|[A-Za-z]:[\\/]|https?:|file:|ssh:|<|\$[A-Za-z_({]|%[sdrvq(]|%\w+%|\{|\[)"
    r"|\$[{(]|\{\{|\{\w*\}|\(\)|x{4}|X{4}|\*{3}|\.{3}|…|•|\[redacted"
    r"|(?:^|[-_ ])(?:your|example|placeholder|redacted|replace|insert|sample|dummy)(?:[-_ .]|$)|change[-_]?me|"
    r"^(?:[-_.#*?]|\u2022)+$|^(?:passw(?:or)?d|pass|pw|pwd|secret|token|key|api_?key|credentials?|required|optional|disabled|encrypted)$|^&(?:#|\w+;)",
    re.IGNORECASE,
)
_words = re.compile(r"[A-Za-z]+(?:[-_.:/ ][A-Za-z]+)*[!?.:,]?")
_wordy = re.compile(r"[A-Za-z]*\d{0,3}(?:[-_.:/@][A-Za-z]*\d{0,3})*[!?.:,]?")
_dotted = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_drawn = re.compile(r"(?=[A-Za-z]*\d[A-Za-z]*\d[A-Za-z]*\d)[A-Za-z0-9]{20}")
_code = re.compile(r"[A-Za-z_][\w.]*[(\[]|[\w.]+->|.*[({]")
_camel = re.compile(r"[a-z]+(?:[A-Z][a-z]+)*\d{0,3}(?:[A-Z][a-z]*\d{0,3})*")
_algorithm = re.compile(
    r"(?:sha|md|base|utf|aes|rsa|ed|http|v|x|i|u|f|int|uint|float|bcrypt|argon|oauth|pbkdf|scrypt)[-_]?\d", re.IGNORECASE
)
_says_its_name = re.compile("passw(?:or)?d|passphrase|secret|token|(?:api|access|private)[-_]?key", re.IGNORECASE)
_symbol = re.compile(r"[!@#$%^&*?~+=|]")
_separator = re.compile(r"[-_.:/]")
_blank = re.compile(r"[\s\0]")
_digit = re.compile("[0-9]")
_letter = re.compile(r"[^\W\d_]")
_long_enough = {"password": 6, "pass": 6, "secret": 8, "token": 8, "key": 8}


def is_value(value: str, noun: str, style: str) -> bool:
    """Whether this can be a secret's value and not a word, a variable, a call, a path or a stand-in for one."""
    if not 4 <= len(value) <= VALUE_CHARS_MAX or _blank.search(value):
        return False
    style = "env" if style == "query" else style
    of_password = noun in {"password", "pass"}
    if _digit.search(value):
        may_be = _is_mixed(value, of_password, style, _long_enough[noun])
    elif of_password and style in {"quoted", "env"} and _symbol.search(value):
        may_be = len(value) >= 8 and value.isascii() and not _words.fullmatch(value)
    else:
        may_be = style == "env" and len(value) >= (8 if of_password else 16) and value.isalpha() and value.isascii()
    return may_be and not is_no_value(value) and (style == "quoted" or not _code.match(value))


def _is_mixed(value: str, of_password: bool, style: str, enough: int) -> bool:
    """Of a value with digits in it."""
    if value.isdigit():
        return of_password and len(value) >= 6 and style != "said"
    if style == "env" and of_password:
        enough = 4
    if style == "loose" and not of_password:
        enough = 10
    if len(value) < enough or not _letter.search(value) or _is_reference(value, style):
        return False
    if style == "loose" and not of_password and _says_its_name.search(value):
        return False
    if of_password:
        return (style in {"quoted", "env"} and not _separator.search(value)) or not _says_its_name.search(value)
    return not is_wordy(value) or (style == "env" and not _separator.search(value))


def _is_reference(value: str, style: str) -> bool:
    """Whether a value without quotes is rather a name in a program, or of an algorithm: `config.password2`, `token_v2`."""
    if style == "said":
        return _algorithm.match(value) is not None
    if style != "loose" or _drawn.search(value):
        return False
    return _dotted.fullmatch(value) is not None or ("_" in value and is_wordy(value))


def is_no_value(value: str) -> bool:
    """Whether the text stands in for a value: `$VAR`, `<token>`, `your-key`, `xxxx`, a path, `true`."""
    return _no_value.search(value) is not None


def is_wordy(value: str) -> bool:
    """Whether the text is words with at most a few digits each: `oauth2-access`, `api_key_from_env_2`, `sha256Digest`."""
    return len(value) < 48 and (_wordy.fullmatch(value) is not None or _camel.fullmatch(value) is not None)
