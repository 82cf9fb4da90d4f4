"""The codec against the standard library, for every value, every spelling, and every text that is no JSON."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from draws import draws
from hypothesis import example, given
from hypothesis import strategies as st
from jsons import objects, randoms, same, spelled, texts, values

from eventstore.errors import InvalidJson
from eventstore.wire.codec import (
    NESTING_MAX,
    Number,
    StringToken,
    canonical,
    decode_text,
    dump,
    items,
    parse,
    parse_object,
    quote,
    strings,
)

FRAGMENTS = st.sampled_from(
    [*'{}[]:,"\\ \n\t-0', "null", "true", "fal", '"a"', '"\\ud800"', '"\\u0000', "01", "1.5e400", "1e", "NaN", "-Infinity",
     '"a":', '"a":1,', "\ufeff", "\x00", "\x1f", "\u2028", "\u00a0", "٣", "//", "'a'", "[[[[", "]]]]", '"\\x"', '"\\u12']
)  # fmt: skip
almost_json = st.lists(FRAGMENTS, max_size=12).map("".join)


@st.composite
def mutated(draw: Any) -> str:
    """A JSON text with a few characters taken out, put in or doubled."""
    text = spelled(draw(objects), draw(randoms))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        text = (
            text[:at] + draw(st.sampled_from(["", '"', "{", "}", "[", "]", ",", ":", "\\", "e", "-", "\x00", "é"])) + text[at + 1 :]
        )
    return text


# --- what is JSON is read as the standard library reads it, and kept


@given(objects, randoms)
@draws(300)
def test_an_object_is_read_as_the_standard_library_reads_it(value, random):
    text = spelled(value, random)
    document = parse_object(text)
    assert same(plain(document.fields), json.loads(text))
    assert list(document.fields) == list(json.loads(text)), "order is kept"
    for name in document.fields:
        assert same(json.loads(document.source(name)), value[name])


@given(values, randoms)
@draws(300)
def test_any_value_is_read_as_the_standard_library_reads_it(value, random):
    text = f" {spelled(value, random)}\n"
    assert same(plain(parse(text)), json.loads(text))
    assert same(json.loads(text), value)


@given(objects, st.booleans(), st.sampled_from([None, 0, 1, "\t"]))
@draws()
def test_what_python_writes_is_kept_as_it_is(value, ensure_ascii, indent):
    text = json.dumps(value, ensure_ascii=ensure_ascii, indent=indent)
    document = parse_object(text)
    assert document.text == text
    assert parse_object(document.with_members({})).fields == document.fields


@given(objects, st.dictionaries(texts, values, max_size=3), st.sets(texts, max_size=2), randoms)
@draws(300)
def test_members_put_first_replace_their_like_and_leave_the_rest_as_it_came(own, first, without, random):
    document = parse_object(spelled(own, random))
    result = document.with_members({name: dump(value) for name, value in first.items()}, without)
    kept = {name: document.source(name) for name in document.fields if name not in first and name not in without}
    spliced = parse_object(result)
    assert list(spliced.fields) == [*first, *kept]
    assert {name: spliced.source(name) for name in kept} == kept
    assert same({name: plain(spliced.fields[name]) for name in first}, first)


@given(values, randoms)
@draws()
def test_numbers_keep_their_spelling_through_dump(value, random):
    text = spelled(value, random)
    assert parse(dump(parse(text))) == parse(text)
    assert same(json.loads(dump(parse(text))), json.loads(text))


@given(values)
@draws()
def test_plain_values_are_dumped_as_json_that_utf8_can_carry(value):
    text = dump(value)
    assert same(json.loads(text), value)
    assert text.encode("utf-8")


@given(st.lists(values, max_size=6), randoms)
@draws()
def test_the_items_of_an_array_are_its_pieces(value, random):
    text = spelled(value, random)
    assert same([json.loads(item) for item in items(text)], value)
    assert all(item in text for item in items(text))


@given(texts)
@draws()
def test_a_quoted_string_means_that_string(text):
    assert json.loads(quote(text)) == text
    assert quote(text).encode("utf-8")


# --- one spelling for what is equal


@given(values, randoms)
@draws(300)
def test_equal_values_have_one_canonical_text_whatever_their_spelling(value, random):
    one, other = spelled(value, random), spelled(value, random)
    assert canonical(parse(one)) == canonical(parse(other)), (one, other)
    assert canonical(parse(one)) == canonical(parse(canonical(parse(one))))


@given(values, values, randoms)
@example(1, True, None)
@example(0, False, None)
@example("1", 1, None)
@example([], {}, None)
@example(2**53 + 1, float(2**53), None)
@example(10**23, 1e23, None)
@example("\ud83d", "\ude00", None)
@draws()
def test_different_values_have_different_canonical_texts(one, other, random):
    spell = (lambda value: spelled(value, random)) if random else json.dumps
    assert (canonical(parse(spell(one))) == canonical(parse(spell(other)))) == same(one, other)


@given(values, randoms)
@draws()
def test_a_client_that_reads_json_and_writes_it_again_says_the_same(value, random):
    text = spelled(value, random)
    assert canonical(parse(json.dumps(json.loads(text)))) == canonical(parse(text))


# --- strings are found where they stand


@given(objects, randoms)
@draws(300)
def test_every_string_is_found_with_its_place_and_path(value, random):
    text = spelled(value, random)
    found = list(strings(text))
    assert [(token.value, token.is_key, where(token)) for token in found] == list(walked(json.loads(text)))
    assert all(json.loads(text[token.start : token.end]) == token.value for token in found)


def where(token: StringToken) -> tuple[str | int, ...]:
    """What leads to a value; for a key, what leads to its object."""
    return token.path[:-1] if token.is_key else token.path


def walked(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str, bool, tuple[str | int, ...]]]:
    if isinstance(value, str):
        yield value, False, path
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from walked(item, (*path, index))
    elif isinstance(value, dict):
        for name, item in value.items():
            yield name, True, path
            yield from walked(item, (*path, name))


# --- what is no JSON is refused by name, and nothing else is


@given(almost_json | mutated() | st.text(st.characters()))
@example("[" * 100_000)
@example('{"a":' * 100_000)
@example('{"a":"' + "\\" * 100_001)
@example('{"a":1,}')
@example('{"a":1 "b":2}')
@example("{,}")
@draws(400)
def test_a_text_is_taken_just_when_it_is_json_without_a_key_twice_and_not_too_deep(text):
    try:
        expected = strictly(text)
    except (ValueError, RecursionError):
        for read in (parse, parse_object):
            with pytest.raises(InvalidJson):
                read(text)
        return
    assert same(plain(parse(text)), expected)
    if isinstance(expected, dict):
        assert same(plain(parse_object(text).fields), expected)
    else:
        with pytest.raises(InvalidJson):
            parse_object(text)


@given(st.binary(max_size=200) | st.text(st.characters()).map(lambda text: text.encode("utf-8", "surrogatepass")))
@draws()
def test_any_bytes_are_text_or_a_named_refusal(raw):
    try:
        text = decode_text(raw)
    except InvalidJson:
        with pytest.raises(UnicodeDecodeError):
            raw.decode("utf-8")
    else:
        assert text.encode("utf-8") == raw


@given(st.lists(st.sampled_from("[{"), min_size=NESTING_MAX - 2, max_size=NESTING_MAX + 2).map("".join), st.integers(0, 3))
@draws()
def test_nesting_is_counted_whatever_it_is_made_of_and_never_inside_strings(opening, brackets_in_text):
    inner = quote("[{" * 1000 * brackets_in_text)
    text = inner
    for bracket in reversed(opening):
        text = f"[{text}]" if bracket == "[" else f'{{"a":{text}}}'
    if len(opening) > NESTING_MAX:
        with pytest.raises(InvalidJson, match="deeper than 128"):
            parse(text)
    else:
        assert canonical(parse(text)) == text.replace(" ", "")


@given(st.text("0123456789", min_size=1, max_size=400), st.integers(-(10**20), 10**20))
@draws()
def test_a_number_of_any_size_is_read_and_kept(digits, exponent):
    text = f"{digits.lstrip('0') or '0'}.{digits}e{exponent}"
    number = parse(text)
    assert number == Number(text)
    assert dump(number) == text
    assert canonical(parse(canonical(number))) == canonical(number)


def strictly(text: str) -> Any:
    """The value as the standard library reads it, with what it lets pass refused. Raises ValueError, RecursionError."""

    def refuse(word: str) -> Any:
        raise ValueError(word)

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) != len(pairs):
            raise ValueError("twice")
        return dict(pairs)

    return json.loads(text, parse_constant=refuse, object_pairs_hook=once)


def plain(value: Any) -> Any:
    """A parsed value with its numbers as Python's."""
    if isinstance(value, Number):
        return json.loads(value.text)
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value
