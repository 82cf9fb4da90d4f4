"""JSON keeps its own text: what is taken, what is refused and in which words, and that time grows with the text alone."""

import json
import time

import pytest

from eventstore.errors import InvalidJson
from eventstore.wire.codec import NESTING_MAX, Number, canonical, decode_text, dump, items, parse, parse_object, quote, strings

LONG_CHARS = 4_000_000
LINEAR_S = 10  # minutes or hours where it is not


def nested(depth: int, innermost: str = "") -> str:
    return "[" * depth + innermost + "]" * depth


# --- what is kept


def test_a_members_text_is_given_back_as_it_came():
    document = parse_object('{ "b" : 1.50e+02 ,\n"a":{"y":"\\u0041\\ud800","x": [ ]} }')
    assert list(document.fields) == ["b", "a"]
    assert document.source("b") == "1.50e+02"
    assert document.source("a") == '{"y":"\\u0041\\ud800","x": [ ]}'


def test_new_members_stand_first_and_replace_their_like():
    document = parse_object('{"a": 1, "b": "x","c":[ 2 ]}')
    assert document.with_members({"n": "null", "b": '"y"'}, {"c"}) == '{"n":null,"b":"y","a": 1}'
    assert document.with_members({}) == '{"a": 1,"b": "x","c":[ 2 ]}'
    assert parse_object("{}").with_members({}) == "{}"


def test_lone_surrogates_and_nul_are_read_from_escapes_and_written_as_escapes():
    assert parse('"\\ud83d \\u0000 \\udE00"') == "\ud83d \0 \ude00"
    assert quote("\ud83d\0é😀") == '"\\ud83d\\u0000é😀"'
    assert parse('"\\ud83d\\ude00"') == "😀"


@pytest.mark.parametrize(
    "text", ["18446744073709551617", "-0", "1E400", "1e-400", "0.1000", "1" + "0" * 5000, "1e99999999999999999999"]
)
def test_a_number_keeps_its_spelling(text):
    number = parse(text)
    assert (number, dump(number), repr(number)) == (Number(text), text, text)
    assert not isinstance(number, str)


def test_only_a_whole_number_of_at_most_18_digits_is_one():
    assert [Number(text).as_int() for text in ("0", "-5", "999999999999999999")] == [0, -5, 999999999999999999]
    assert [Number(text).as_int() for text in ("1.0", "1e3", "1000000000000000000", "-")] == [None] * 4


def test_what_is_dumped_is_compact_and_readable():
    value = {"é": [1, 2.5, None, True, "\ud800", Number("1e400"), ("x",)], "": {}}
    assert dump(value) == '{"é":[1,2.5,null,true,"\\ud800",1e400,["x"]],"":{}}'


def test_items_are_the_pieces_of_an_array():
    assert items(' [1, {"a": [2]} ,"]"] ') == ["1", '{"a": [2]}', '"]"']
    assert items("[]") == items("[ \n ]") == []


def test_strings_know_where_they_stand():
    found = list(strings('{"a":["x",{"b":"y"}],"c":"z","d":{}, "e":[[],"w"]}'))
    assert [token.value for token in found if token.is_key] == ["a", "b", "c", "d", "e"]
    values = {token.value: token.path for token in found if not token.is_key}
    assert values == {"x": ("a", 0), "y": ("a", 1, "b"), "z": ("c",), "w": ("e", 1)}


# --- what is equal


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a":1,"b":2}', '{ "b" : 2.0 , "a" : 1e0 }'),
        ('"\\u00e9\\/"', '"é/"'),
        ("[0, 0.0]", "[-0, -0.0]"),
        ("1e22", "10000000000000000000000"),
        ("0.1", "0.1000000000000000055511151231257827"),
    ],
)
def test_equal_values_have_one_canonical_text(one, other):
    assert canonical(parse(one)) == canonical(parse(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("9007199254740993", "9007199254740992"),
        ("1", "true"),
        ("1", '"1"'),
        ("[]", "{}"),
        ('""', "null"),
        ('"\\ud800"', '"\\udc00"'),
    ],
)
def test_different_values_have_different_canonical_texts(one, other):
    assert canonical(parse(one)) != canonical(parse(other))


# --- what is refused


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("[]", "must be a JSON object"),
        ("\ufeff{}", "must be a JSON object"),
        ("{", "name in quotes is expected at character 1"),
        ('{"a"}', "colon is expected at character 4"),
        ('{"a":}', "value is expected at character 5"),
        ('{"a":1,}', "member is expected at character 7"),
        ('{"a":1 "b":2}', "comma or a closing brace is expected at character 7"),
        ('{"a":1} x', "follows the JSON value at character 7"),
        ('{"a":1}{}', "follows the JSON value"),
        ('{"a":"\n"}', "Invalid control character"),
        ('{"a":"\\x"}', "Invalid"),
        ('{"a":"\\u12"}', "Invalid"),
        ('{"a":"', "Unterminated"),
        ("{'a':1}", "name in quotes"),
        ('{"a":01}', "comma or a closing brace"),
        ('{"a":.5}', "value is expected"),
        ('{"a":NaN}', "NaN is not JSON"),
        ('{"a":[-Infinity]}', "-Infinity is not JSON"),
        ('{"a":\u00a01}', "value is expected"),
    ],
)
def test_what_is_no_json_object_is_refused_with_the_place(text, words):
    with pytest.raises(InvalidJson) as refused:
        parse_object(text)
    assert words in refused.value.detail


@pytest.mark.parametrize("text", ['{"k":1,"k":1}', '{"a":{"k":1,"k":2}}', '{"a":[{"x":[{"k":1,"\\u006b":1}]}]}'])
def test_a_key_twice_in_one_object_is_refused_at_any_depth_and_in_any_spelling(text):
    with pytest.raises(InvalidJson, match="'k' stands twice"):
        parse_object(text)


def test_nesting_is_taken_at_the_limit_and_refused_one_past_it():
    assert canonical(parse(nested(NESTING_MAX))) == nested(NESTING_MAX)
    assert parse_object(f'{{"a":{nested(NESTING_MAX - 1)}}}').source("a") == nested(NESTING_MAX - 1)
    for text in (nested(NESTING_MAX + 1), nested(100_000), "[" * 100_000, "[" * (NESTING_MAX + 1)):
        with pytest.raises(InvalidJson, match="deeper than 128"):
            parse(text)
    with pytest.raises(InvalidJson, match="deeper than 128"):
        parse_object(f'{{"a":{nested(NESTING_MAX)}}}')


def test_brackets_inside_strings_and_side_by_side_do_not_count_as_nesting():
    assert parse(json.dumps("[{" * 1000)) == "[{" * 1000
    assert len(parse("[" + ",".join(["[]"] * 1000) + "]")) == 1000
    assert parse('["' + '\\"[' * 1000 + '"]') == ['"[' * 1000]


@pytest.mark.parametrize("raw", [b"\xff", b'{"a":"\xed\xa0\x80"}', b"\xc0\x80", b'"\xf4\x90\x80\x80"', b'{"a":"\xc3'])
def test_bytes_that_are_no_utf8_are_refused_with_the_place(raw):
    with pytest.raises(InvalidJson, match=r"byte \d+ cannot be read"):
        decode_text(raw)


# --- time


@pytest.mark.parametrize(
    "text",
    [
        '{"a":"' + "\\" * LONG_CHARS,
        '{"a":"' + '\\"' * (LONG_CHARS // 2),
        '{"a":' + "[]," * (LONG_CHARS // 3),
        "[" * LONG_CHARS,
        '"[' * LONG_CHARS,
        '{"a":' + "9" * LONG_CHARS + "}",
        '{"a":0.' + "9" * LONG_CHARS + "e-" + "9" * 1000 + "}",
        " " * LONG_CHARS,
        "{" + ",".join(f'"{n}":{{}}' for n in range(LONG_CHARS // 20)) + "}",
    ],
    ids=["backslashes", "quotes", "siblings", "open", "strings", "integer", "float", "spaces", "members"],
)
def test_no_text_takes_longer_than_its_length_explains(text):
    began = time.process_time()
    try:
        document = parse_object(text)
    except InvalidJson:
        pass
    else:
        assert canonical(document.fields)
        assert document.with_members({"x": "1"})
        assert sum(1 for _ in strings(text)) >= 1
    assert time.process_time() - began < LINEAR_S
