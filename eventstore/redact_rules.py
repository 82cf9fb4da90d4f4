"""What a secret looks like: our own rules, complete without any package. Pure; `redact.py` walks the JSON and replaces.

Rule 1: linear on any text. A pattern begins with a literal, its repeats are possessive, and nothing that can fail is asked
        for after a repeat which the same pattern could enter again further on.
Rule 2: cheap questions first: a token is looked for only in a long enough run of its letters, the rest only behind a word it needs.
Rule 3: form, never entropy: a commit hash and a random password cannot be told apart by their letters.
Rule 4: no hit takes a quote or a backslash that stands for something in JSON around it.
"""

import base64
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from eventstore.possessive import possessive
from eventstore.redact_values import assignments, is_no_value

FORMAT, PLACE, ASSIGNMENT = 0, 2, 4  # a token's own form says most, then what stands around it, then a name before it
CONTEXT_CHARS = 240  # how far before a hit the word is looked for that makes it one (`curl … -u`)


class Hit(NamedTuple):
    """A secret: where it stands in the text, and the rule that found it. Where two overlap, the lower `rank` names it."""

    start: int
    end: int
    rule: str
    rank: int


# name, what it begins with, what follows it. `!` before the beginning: so rare that it counts inside a word as well.
_FORMATS = r"""
anthropic_api_key   !sk-ant-            [A-Za-z0-9_-]{16,}+
openai_api_key      sk-proj-            [A-Za-z0-9_-]{20,}+
openai_api_key      sk-svcacct-         [A-Za-z0-9_-]{20,}+
openai_api_key      sk-admin-           [A-Za-z0-9_-]{20,}+
openrouter_api_key  sk-or-v1-           [A-Za-z0-9]{32,}+
langfuse_secret_key sk-lf-              [a-f0-9-]{32,}+
api_key             sk-                 (?:[a-z0-9]{2,12}-){0,3}[A-Za-z0-9]{24,}+
github_token        !ghp_               [A-Za-z0-9]{30,}+
github_token        !gho_               [A-Za-z0-9]{30,}+
github_token        !ghu_               [A-Za-z0-9]{30,}+
github_token        !ghs_               [A-Za-z0-9]{30,}+
github_token        !ghr_               [A-Za-z0-9]{30,}+
github_token        !github_pat_        [A-Za-z0-9_]{22,}+
gitlab_token        !glpat-             [A-Za-z0-9_.-]{20,}+
gitlab_token        gldt-               [A-Za-z0-9_-]{20,}+
gitlab_token        glrt-               [A-Za-z0-9_.-]{20,}+
gitlab_token        glcbt-              [A-Za-z0-9_-]{20,}+
gitlab_token        glptt-              [A-Za-z0-9_-]{20,}+
gitlab_token        gloas-              [A-Za-z0-9_-]{20,}+
aws_access_key_id   AKIA                [A-Z0-9]{16}(?![A-Za-z0-9])
aws_access_key_id   ASIA                [A-Z0-9]{16}(?![A-Za-z0-9])
aws_bedrock_api_key ABSK                [A-Za-z0-9+/=]{100,}+
slack_token         !xoxb-              [A-Za-z0-9-]{10,}+
slack_token         !xoxp-              [A-Za-z0-9-]{10,}+
slack_token         !xoxa-              [A-Za-z0-9-]{10,}+
slack_token         !xoxr-              [A-Za-z0-9-]{10,}+
slack_token         !xoxs-              [A-Za-z0-9-]{10,}+
slack_token         !xoxe               [.-][A-Za-z0-9.-]{20,}+
slack_token         !xapp-              [A-Za-z0-9-]{20,}+
stripe_key          !sk_live_           [A-Za-z0-9]{10,}+
stripe_key          !sk_test_           [A-Za-z0-9]{10,}+
stripe_key          !rk_live_           [A-Za-z0-9]{10,}+
stripe_key          !rk_test_           [A-Za-z0-9]{10,}+
stripe_key          whsec_              [A-Za-z0-9+/=]{20,}+
google_api_key      AIza                [A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])
google_oauth_secret GOCSPX-             [A-Za-z0-9_-]{20,}+
google_oauth_token  ya29.               [A-Za-z0-9_-]{20,}+
npm_access_token    npm_                [A-Za-z0-9]{30,}+
pypi_api_token      pypi-               AgE[A-Za-z0-9_-]{30,}+
huggingface_token   hf_                 [A-Za-z0-9]{30,}+
docker_token        dckr_               (?:pat|oat)_[A-Za-z0-9_-]{20,}+
digitalocean_token  dop_v1_             [a-f0-9]{40,}+
sendgrid_api_key    SG.                 [A-Za-z0-9_-]{16,64}+\.[A-Za-z0-9_-]{30,}+
shopify_token       shpat_              [A-Fa-f0-9]{32,}+
shopify_token       shpss_              [A-Fa-f0-9]{32,}+
vault_token         hvs.                [A-Za-z0-9_-]{24,}+
groq_api_key        gsk_                [A-Za-z0-9]{30,}+
xai_api_key         xai-                [A-Za-z0-9]{30,}+
replicate_api_token r8_                 [A-Za-z0-9]{30,}+
perplexity_api_key  pplx-               [A-Za-z0-9]{30,}+
nvidia_api_key      nvapi-              [A-Za-z0-9_-]{30,}+
linear_token        lin_api_            [A-Za-z0-9]{30,}+
notion_token        ntn_                [A-Za-z0-9]{30,}+
figma_token         figd_               [A-Za-z0-9_-]{30,}+
postman_api_key     PMAK-               [A-Za-z0-9-]{30,}+
databricks_token    dapi                [a-f0-9]{32}(?![A-Za-z0-9])
grafana_token       glsa_               [A-Za-z0-9_]{30,}+
grafana_token       glc_                [A-Za-z0-9+/=]{30,}+
sentry_token        sntrys_             [A-Za-z0-9+/=_-]{30,}+
sentry_token        sntryu_             [a-f0-9]{40,}+
supabase_token      sbp_                [a-f0-9]{32,}+
tailscale_key       tskey-              [A-Za-z0-9-]{20,}+
atlassian_token     ATATT3              [A-Za-z0-9_=-]{30,}+
rubygems_api_key    rubygems_           [a-f0-9]{40,}+
age_secret_key      !AGE-SECRET-KEY-    [A-Z0-9-]{40,}+
tasuki_token        tsk_                [A-Za-z0-9_-]{43,}+
jwt                 eyJ                 [A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+
private_key         LS0tLS1CRUdJTi      [A-Za-z0-9+/=]{80,}+
aws_secret_access_key AKIA              [A-Z0-9]{16}[^A-Za-z0-9+/]{1,8}(?P<secret>[A-Za-z0-9+/]{40})(?![A-Za-z0-9+/=])
"""

# Not preceded by a word, unless by what only looks like one: an escaped \n, a %3D, the end of a terminal colour.
_AT_WORD = (
    r"(?:(?<![A-Za-z0-9_-]{0})|(?<=[^A-Za-z0-9_-]-{0})|(?<=\\[bfnrt]{0})|(?<=%[0-9A-Fa-f][0-9A-Fa-f]{0})"
    r"|(?<=[\[;][0-9]m{0})|(?<=[\[;][0-9][0-9]m{0})|(?<=\[m{0}))"
)


class _Rule(NamedTuple):
    """A pattern; its group `secret`, or all of it, goes where `holds(text, start, end)` says so."""

    name: str
    pattern: re.Pattern[str]
    holds: Callable[[str, int, int], bool]

    def hit(self, text: str, match: re.Match[str], rank: int) -> Iterator[Hit]:
        start, end = match.span("secret" if self.pattern.groups else 0)
        if self.holds(text, start, end):
            yield Hit(start, end, self.name, rank)


def find(text: str) -> Iterator[Hit]:
    """Yield every secret in a plain text; the hits come in no order and may overlap."""
    yield from _tokens(text)
    low = _lower(text)
    for needs, folded, rules in _PLACES:
        where = low if folded else text
        if needs in where:
            for rule in rules:
                for match in rule.pattern.finditer(where):
                    yield from rule.hit(text, match, PLACE)
    for start, end, name in assignments(text, low):
        yield Hit(start, end, name, ASSIGNMENT)


def _tokens(text: str) -> Iterator[Hit]:
    """What its own form betrays, wherever it stands."""
    for run in _run.finditer(text):
        word = run.group()
        if len(word) < _CHARS_OF_WORDS and not word.isupper() and not _digit.search(word):
            continue
        taken = 0
        for begins in _beginning.finditer(text, run.start(), run.end()):
            if begins.start() < taken:
                continue
            for rule in _TOKENS[begins.group()]:
                match = rule.pattern.match(text, begins.start())
                if match:
                    taken = max(taken, match.end())
                    yield from rule.hit(text, match, FORMAT)


_run = re.compile("[A-Za-z0-9_.-]{15,}")
_CHARS_OF_WORDS = 32  # a run of mere letters below that is a name in a program, not a token


def is_stand_in(token: str) -> bool:
    """Whether a token of the right form only stands in for one: `sk-ant-xxxxxxxx`, `ghp_your_token`, `$TOKEN`."""
    return _stand_in.search(token) is not None


def begins_like_a_token(value: str) -> bool:
    """Whether a text begins with what marks some issuer's tokens, so that it is no encrypted blob."""
    return value.startswith(_BEGINNINGS)


_stand_in = re.compile(r"x{5,}|X{5,}|\*{3}|\.{3}|(?:^|[-_])(?:your|YOUR)(?:[-_]|$)|^<.*>$|^\$[({A-Za-z_]|\$\{|\{\{")


def _lower(text: str) -> str:
    """Lower case, place by place as long, and ASCII only where the text is: a dotted capital I and a Kelvin sign are put aside."""
    return text.lower() if text.isascii() else text.replace("\u0130", "\u0131").replace("\u212a", "\u0131").lower()


def _is_token(text: str, start: int, end: int) -> bool:
    return not is_stand_in(text[start:end])


def _is_token_with_digits(text: str, start: int, end: int) -> bool:
    token = text[start:end]
    return _digit.search(token) is not None and not is_stand_in(token)


def _is_opaque(text: str, start: int, end: int) -> bool:
    """What stands where a token must stand: long, or letters and digits; not a word."""
    token = text[start:end]
    if is_no_value(token):
        return False
    return len(token) >= 32 or (len(token) >= 8 and _digit.search(token) is not None and _letter.search(token) is not None)


def _is_url_password(text: str, start: int, end: int) -> bool:
    return not is_no_value(text[start:end])


def _is_pair(text: str, start: int, end: int) -> bool:
    """Base64 of `name:password`."""
    return b":" in _decoded(text[start : min(end, start + 512)])


def _is_private_pem(text: str, start: int, end: int) -> bool:
    return b"PRIVATE KEY" in _decoded(text[start : start + 88])


def _decoded(value: str) -> bytes:
    """The bytes of base64 where they are printable ASCII; else none."""
    value = value.rstrip("=")
    raw = base64.b64decode(value[: len(value) - (len(value) % 4 == 1)] + "==", validate=False)
    return raw if all(32 <= byte < 127 or byte in b"\r\n" for byte in raw) else b""


def _is_key_body(text: str, start: int, end: int) -> bool:
    """Whether mostly base64 stands between BEGIN and END, and not a program that looks for them."""
    body = text[start:end].split("-----", 2)[-1].rpartition("-----END")[0]
    long_runs = sum(len(run) for run in _base64_run.findall(body))
    return long_runs >= 24 and long_runs * 2 >= len(body) - body.count(" ")


def _after_word(*words: str) -> Callable[[str, int, int], bool]:
    """Hold where one of the words stands shortly before, in the same line, and the value is not just a small number."""

    def holds(text: str, start: int, end: int) -> bool:
        head = text[max(0, start - CONTEXT_CHARS) : start].rpartition("\n")[2]
        value = text[start:end]
        if (value.isdigit() and len(value) < 6) or not _no_word.search(value) or is_no_value(value):
            return False
        return any(word in head for word in words)

    return holds


def _rule(name: str, pattern: str, holds: Callable[[str, int, int], bool] = _is_token) -> _Rule:
    return _Rule(name, re.compile(pattern, re.ASCII), holds)


_no_word = re.compile("[^a-z_/-]")
_digit = re.compile("[0-9]")
_letter = re.compile("[A-Za-z]")
_base64_run = re.compile("[A-Za-z0-9+/=]{16,}")

_header = "-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----"
_line_break = possessive(r"""\\{1,8}+[nrt]|[\s>+|#:→0-9"',.-]""", "{1,40}")  # also in a diff, a numbered listing, a program
_key_lines = f"(?:{_line_break}[A-Za-z0-9+/=]{{40,}}+)" + possessive(_line_break + "[A-Za-z0-9+/=]{16,}+", "*")
_quote = r"""\\{0,7}+["']?"""
_value = _quote + r"(?P<secret>" + possessive(r"[a-z0-9_~+/=%-]|\.(?=[a-z0-9_-])", "{8,}") + ")"
_flag_value = _quote + r"""(?P<secret>[^\s"'\\`]{4,128}+)"""
_url = r"""://(?<=[A-Za-z0-9]://)[^\s/:@"'<>\\]*+:(?P<secret>[^\s/"'<>\\`]{1,256})@(?=[\w\[$%{<(-])"""
_authorization = rf"authorization{_quote} {{0,4}}+[:=] {{0,4}}+{_quote}(?:token|bot|key|apikey|oauth|splunk) {{1,4}}+{_value}"
_slack = r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[\w/+-]{16,}+)"
_curl_user = rf"""-u(?:ser)?[= \t]{{0,4}}+{_quote}[^\s:"'\\@/]{{1,128}}+:{_flag_value}"""
_auth = rf"auth{_quote} {{0,2}}[:=] {{0,2}}{_quote}(?P<secret>[a-z0-9+/]{{8,}}+={{0,2}})"
_signature = r"ig(?:nature)?=(?<=[sS]ig=|ure=)(?P<secret>[\w%+/=-]{16,}+)"
_PEM = rf"{_header}[^-]*+{possessive('-(?!----)[^-]*+', '*')}-----END [A-Z0-9 ]{{0,48}}-----"

# What must stand in the text, whether in any case; then what is looked for. A text in lower case is as long as the text itself.
_PLACES: list[tuple[str, bool, list[_Rule]]] = [
    ("-----BEGIN ", False, [_rule("private_key", _PEM, _is_key_body), _rule("private_key", _header + _key_lines)]),
    ("Private-Lines: ", False, [_rule("private_key", rf"Private-Lines: \d{{1,3}}(?P<secret>{_key_lines})")]),
    ("://", False, [_rule("url_password", _url, _is_url_password)]),
    ("hooks.slack.com/", False, [_rule("slack_webhook", _slack)]),
    ("/api/webhooks/", False, [_rule("discord_webhook", r"/api/webhooks/\d{8,24}/(?P<secret>[\w-]{30,}+)")]),
    ("?", False, [_rule("api_key", r"[?&](?:key|auth)=(?P<secret>[\w.-]{16,}+)", _is_token_with_digits)]),
    ("&", False, [_rule("url_signature", _signature, _is_opaque)]),
    (":AA", False, [_rule("telegram_bot_token", r"(?<!\d)\d{8,10}:AA[\w-]{33}(?![\w-])")]),
    ("bearer", True, [_rule("bearer_token", "bearer" + possessive(r"[ \t:+]|%20", "{1,4}") + _value, _is_opaque)]),
    ("basic ", True, [_rule("basic_credential", "basic {1,4}+(?P<secret>[a-z0-9+/]{8,}+={0,2})", _is_pair)]),
    ("auth", True, [_rule("basic_credential", _auth, _is_pair), _rule("authorization", _authorization, _is_opaque)]),
    ("-u", False, [_rule("command_password", _curl_user, _after_word("curl", "wget"))]),
    (" -p", False, [_rule("command_password", f" -p{_flag_value}", _after_word("mysql", "mariadb", "sshpass"))]),
    (" -p", False, [_rule("command_password", rf" -p[ \t=]{{1,4}}+{_flag_value}", _after_word("sshpass", " login "))]),
    ("ookie: ", False, [_rule("cookie", r"""[;:] [\w.-]{1,64}+=(?P<secret>[^\s;,"'\\]{16,}+)""", _after_word("ookie:"))]),
    ("password ", False, [_rule("netrc_password", rf"password[ \t]{{1,8}}+{_flag_value}", _after_word("login "))]),
]


def _tokens_by_beginning() -> dict[str, list[_Rule]]:
    """The rules to try at each beginning: its own, then those of the beginnings that it begins with (`sk-ant-`, `sk-`)."""
    rules: dict[str, list[_Rule]] = {}
    for line in _FORMATS.strip().splitlines():
        name, begins, follows = line.split()
        literal = begins.lstrip("!")
        at_word = "" if begins[0] == "!" else _AT_WORD.replace("{0}", re.escape(literal))
        holds = {"sk-": _is_token_with_digits, "LS0tLS1CRUdJTi": _is_private_pem}.get(literal, _is_token)
        rules.setdefault(literal, []).append(_rule(name, re.escape(literal) + at_word + follows, holds))
    return {one: [rule for other in rules if one.startswith(other) for rule in rules[other]] for one in rules}


def _any_of(literals: Iterable[str]) -> re.Pattern[str]:
    """One pattern for all, the longest first, parted by the first letter: a choice among seventy would be tried at each place."""
    by_letter: dict[str, list[str]] = {}
    for literal in sorted(literals, key=len, reverse=True):
        by_letter.setdefault(literal[0], []).append(re.escape(literal[1:]))
    return re.compile("|".join(f"{letter}(?:{'|'.join(rest)})" for letter, rest in by_letter.items()))


_TOKENS = _tokens_by_beginning()
_beginning = _any_of(_TOKENS)
_BEGINNINGS = tuple(_TOKENS)
