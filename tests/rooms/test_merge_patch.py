"""Meta is changed by JSON merge patches as RFC 7396 has them: its own examples, and what follows from its text."""

import json

import pytest
from draws import draws
from hypothesis import given
from jsons import objects, same, values

from eventstore.sessions import merge_patch
from eventstore.wire.codec import dump, parse

# RFC 7396, appendix A: target, patch, result
EXAMPLES = [
    ('{"a":"b"}', '{"a":"c"}', '{"a":"c"}'),
    ('{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'),
    ('{"a":"b"}', '{"a":null}', "{}"),
    ('{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'),
    ('{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'),
    ('{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'),
    ('{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'),
    ('{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'),
    ('["a","b"]', '["c","d"]', '["c","d"]'),
    ('{"a":"b"}', '["c"]', '["c"]'),
    ('{"a":"foo"}', "null", "null"),
    ('{"a":"foo"}', '"bar"', '"bar"'),
    ('{"e":null}', '{"a":1}', '{"e":null,"a":1}'),
    ("[1,2]", '{"a":"b","c":null}', '{"a":"b"}'),
    ("{}", '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'),
]


@pytest.mark.parametrize(("target", "patch", "result"), EXAMPLES)
def test_the_examples_of_the_rfc(target, patch, result):
    assert dump(merge_patch(parse(target), parse(patch))) == result


def test_what_a_patch_does_not_name_keeps_its_spelling_and_order():
    assert dump(merge_patch(parse('{"b":1e400,"a":0.10}'), parse('{"c":[null],"b":-0}'))) == '{"b":-0,"a":0.10,"c":[null]}'


@given(objects, objects)
@draws()
def test_patching_twice_is_patching_once_and_the_target_is_left_alone(target, patch):
    before = json.dumps(target)
    once = merge_patch(target, patch)
    assert same(merge_patch(once, patch), once)
    assert json.dumps(target) == before


@given(values, objects)
@draws()
def test_the_result_says_what_the_patch_says(target, patch):
    result = merge_patch(target, patch)
    for name, value in patch.items():
        if value is None:
            assert name not in result
        elif not isinstance(value, dict):
            assert same(result[name], value)
    if isinstance(target, dict):
        assert all(same(result[name], target[name]) for name in target if name not in patch)
