"""What a secret looks like: our own rules, complete without any package. Pure; `redact.py` walks the JSON and replaces.

Rule 1: linear on any text. A pattern begins with a literal, its repeats are possessive, and nothing that can fail is asked
        for after a repeat which the same pattern could enter again further on.
Rule 2: a literal is looked for before its pattern, since `in` costs a twentieth of a search.
Rule 3: form, never entropy: a commit hash and a random password cannot be told apart by their letters.
Rule 4: no hit takes a quote or a backslash that stands for something in JSON around it.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from eventstore.redact_values import assignments


class Hit(NamedTuple):
    """A secret: where it stands in the text, and the rule that found it. Where two overlap, the lower `rank` names it."""

    start: int
    end: int
    rule: str
    rank: int


FORMAT, PLACE, ASSIGNMENT = 0, 2, 4  # a token's own form says most, then what stands around it, then a name before it

# name, what it begins with, what follows it. `!` before the beginning: so rare that it counts inside a word as well.
_FORMATS = """
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
sendgrid_api_key    SG.                 [A-Za-z0-9_-]{16,64}+\\.[A-Za-z0-9_-]{30,}+
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
telegram_bot_token  :AA                 [A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])
age_secret_key      !AGE-SECRET-KEY-    [A-Z0-9-]{40,}+
tasuki_token        tsk_                [A-Za-z0-9_-]{43,}+
"""

# Not preceded by a word, unless by what only looks like one: an escaped \n, a %3D, the end of a terminal colour.
_AT_WORD = r"(?:(?<![A-Za-z0-9_]{0})|(?<=\\[bfnrt]{0})|(?<=%[0-9A-Fa-f][0-9A-Fa-f]{0})|(?<=[0-9\[]m{0}))"


class _Rule(NamedTuple):
    """One pattern; the group `secret`, or all of it, is taken out where `holds` says so."""

    name: str
    literal: str
    pattern: re.Pattern[str]
    rank: int
    holds: Callable[[re.Match[str]], bool]


def is_placeholder_token(token: str) -> bool:
    """Whether a token of the right form stands in for one: `sk-ant-xxxxxxxx`, `ghp_your_token`."""
    return _stand_in.search(token) is not None


_stand_in = re.compile(r"x{5,}|X{5,}|\*{3}|\.{3}|(?:^|[-_])(?:your|YOUR)(?:[-_]|$)|^<.*>$|^\$[({A-Za-z_]|\$\{|\{\{")


def _is_token(match: re.Match[str]) -> bool:
    token = match.group()
    return any(map(str.isdigit, token)) and not is_placeholder_token(token)


def _formats() -> Iterator[_Rule]:
    for line in _FORMATS.strip().splitlines():
        name, begins, follows = line.split()
        literal = re.escape(begins.lstrip("!"))
        at_word = "" if begins[0] in "!:" else _AT_WORD.replace("{0}", literal)
        before = r"(?<=[0-9]{8}:AA)" if begins == ":AA" else ""
        pattern = re.compile(literal + at_word + before + follows.replace("\\\\", "\\"))
        yield _Rule(name, begins.lstrip("!"), pattern, FORMAT, _is_token)
