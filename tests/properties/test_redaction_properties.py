"""What redaction promises for every JSON text: the same shape, nothing but secrets gone, nothing left to do, and in linear time."""

import json
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from madeup import JWT, ROTATED, SYMBOLS, basic, made, pem

from eventstore.redact import MESSAGE, NATIVE, NOTHING, Redactor

OWN, WITH_PACKAGE = Redactor(package=False), Redactor(package=True)
MARKER = re.compile(r"\[redacted:[a-z0-9_]+\](?:-\d+)?")

TOKENS = [
    *("gh" + "p_" + made(36), "sk-" + "ant-" + made(90), "np" + "m_" + made(36), "ts" + "k_" + made(43)),
    *(JWT, pem("RSA PRIVATE KEY", 3)),
]
PIECES = [
    *TOKENS,
    *(
        "password",
        "PASSWORD",
        "api_key",
        "token",
        "secret",
        "key",
        "密码",
        "--password",
        "Authorization",
        "Bearer ",
        "basic ",
        "is",
    ),
    *("=", ":", ": ", " = ", "：", "=>", "://", "@", "?", "&", "/", ";", ",", " -p", " -u ", "curl ", "mysql", "<", ">", "(", ")"),
    *(ROTATED, SYMBOLS, made(24), made(40, "b"), basic("a:b1"), "x", "user", "AKIA" + made(16, "A"), "eyJ" + made(20), "xxxxx"),
    *('"', "'", "`", "\\", '\\"', "\\n", "\\u0041", "{", "}", "[", "]", "\n", "\t", " ", "\0", "\ud800", "\udc00", "😀", "é"),
    *("[redacted:", "[redacted:x]", "[redacted:password]", "data:image/png;base64,", "שלום", "$VAR", "İ", "\u212a"),
    *("-----BEGIN ", "-----END ", "-----", made(64, "b")),
]

texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=12).map("".join)
keys = st.sampled_from(["id", "password", "token", "data", "name", "value", "signature", "content", "arguments", "api_key"]) | texts
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=8,
)
nested = st.recursive(plain, lambda inner: inner.map(json.dumps) | st.dictionaries(keys, inner, max_size=3), max_leaves=3)
documents = st.builds(
    lambda value, ascii_only, indent: json.dumps(value, ensure_ascii=ascii_only, indent=indent),
    nested,
    st.booleans(),
    st.sampled_from([None, 1]),
)
patient = settings(deadline=None)  # the machine may be busy
redactors = st.sampled_from([OWN, WITH_PACKAGE])
exempts = st.sampled_from([NOTHING, MESSAGE, NATIVE])


@patient
@given(documents, redactors, exempts)
def test_cleaning_twice_is_cleaning_once(document, redactor, exempt):
    once = redactor.clean(document, exempt)
    twice = redactor.clean(once.text, exempt)
    assert (twice.text, dict(twice.hits)) == (once.text, {})


@patient
@given(documents, redactors, exempts)
def test_a_text_without_a_hit_is_the_same_bytes(document, redactor, exempt):
    redacted = redactor.clean(document, exempt)
    assert bool(redacted.hits) == (redacted.text != document)
    assert sum(redacted.hits.values()) >= len(MARKER.findall(redacted.text)) - len(MARKER.findall(document))


@patient
@given(documents, redactors, exempts)
def test_the_shape_stays_and_of_the_strings_all_but_what_was_cut(document, redactor, exempt):
    same_shape(json.loads(document), json.loads(redactor.clean(document, exempt).text))


@patient
@given(st.lists(st.sampled_from([*TOKENS, "x", " ", "é", '"', "\\", "\n", "{}"]), max_size=8), redactors)
def test_no_token_is_left_wherever_it_stands(pieces, redactor):
    text = redactor.clean(json.dumps({"a": [" ".join(pieces), json.dumps({" ".join(pieces): pieces})]})).text
    assert [token for token in TOKENS if json.dumps(token)[1:-1] in text or json.dumps(json.dumps(token))[2:-2] in text] == []


@patient
@given(texts, redactors)
def test_plain_text_loses_nothing_but_what_was_cut(text, redactor):
    cleaned, hits = redactor.clean_text(text)
    assert is_left_of(cleaned, text)
    assert redactor.clean_text(cleaned) == (cleaned, {})
    assert hits or cleaned == text


def same_shape(before, after):
    """The same JSON, at every depth, but for strings with markers in the place of something."""
    if isinstance(before, str):
        inner = inner_json(before)
        if inner is None:
            assert is_left_of(after, before)
        else:
            same_shape(inner, json.loads(after))
    elif isinstance(before, dict):
        assert len(before) == len(after)
        for (key, value), (new_key, new_value) in zip(before.items(), after.items(), strict=True):
            assert is_left_of(new_key, key)
            same_shape(value, new_value)
    elif isinstance(before, list):
        assert len(before) == len(after)
        for value, new_value in zip(before, after, strict=True):
            same_shape(value, new_value)
    else:
        assert before == after


def inner_json(text):
    try:
        return json.loads(text, strict=True) if text.strip()[:1] in ("{", "[", '"') else None
    except (ValueError, RecursionError):
        return None


def is_left_of(after: str, before: str) -> bool:
    """Whether `after` is `before` with markers for some of its pieces."""
    if after == before:
        return True
    return re.fullmatch(".*?".join(re.escape(part) for part in MARKER.split(after)), before, re.DOTALL) is not None


HOSTILE = [
    *("eyJ", "eyJ-", "ops_eyJ", "glrt-", "sk-ant-", "sk-ant-xxxxx", "AKIA", "://a:", "a://b:c@", "&token=//", "token=`"),
    *("token=", 'password="', "password=a1b2c3", "api_key:", "密码：", "<password>", "Bearer ", "-u a:b", "mysql -p", "ookie: a="),
    *("-----BEGIN RSA PRIVATE KEY-----\n", "data:image/png;base64,", "[redacted:", "[redacted:x]password=a1b2c3d4"),
    *("\\", '"', "\\n", "a"),
]
CPU_SECONDS = 10  # the worst takes one; what is quadratic takes minutes


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_text_takes_time_in_proportion(piece):
    text = json.dumps({"content": piece * ((1 << 19) // len(piece))})
    start = time.process_time()
    WITH_PACKAGE.clean(text)
    assert time.process_time() - start < CPU_SECONDS
