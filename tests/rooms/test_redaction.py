"""No secret is stored: only it goes, wherever it stands, but never out of an exempt place; and nothing gets past."""

import copy
import json
import pickle
from dataclasses import replace

import pytest
from madeup import JWT, ROTATED, SYMBOLS, made, pem

from eventstore.errors import InvalidSettings
from eventstore.redact import HAS_PACKAGE, MESSAGE, NATIVE, NOTHING, Redacted, Redactor


@pytest.fixture(
    params=[
        "own",
        pytest.param("package", marks=pytest.mark.skipif(not HAS_PACKAGE, reason="redact-secret has no wheel for this platform")),
    ]
)
def redactor(request):
    return Redactor(package=request.param == "package")


TOKEN = "gh" + "p_" + made(36)
BLOB = made(120, "b")


def clean(redactor, value, exempt=NOTHING):
    redacted = redactor.clean(json.dumps(value), exempt)
    return json.loads(redacted.text), dict(redacted.hits)


def test_a_string_without_a_hit_keeps_its_bytes_and_one_with_a_hit_all_but_the_secret(redactor):
    text = '{ "a" : "\\u00e9\\/\\ud83d\\ude00 😀", "b":1.50e+400, "c": "\\u00e9 \\u0000 \\ud800 ' + TOKEN + ' \\"\\u00e9\\" שלום" }'
    redacted = redactor.clean(text)
    assert redacted.text == text.replace(TOKEN, "[redacted:github_token]")
    assert redacted.hits == {"github_token": 1}


def test_every_hit_is_counted_by_its_rule(redactor):
    _, hits = clean(redactor, [TOKEN, f"{TOKEN} {JWT}", {"x": [f"password={ROTATED}"]}])
    assert hits == {"github_token": 2, "jwt": 1, "password": 1}


def test_the_key_says_that_a_value_is_a_secret(redactor):
    given = {"password": SYMBOLS, "apiKey": made(24), "密码": ROTATED, "name": "bob", "tokens": "12345678", "public_key": made(24)}
    cleaned, hits = clean(redactor, given)
    kept = {key: given[key] for key in ("name", "tokens", "public_key")}
    assert cleaned == {"password": "[redacted:password]", "apiKey": "[redacted:api_key]", "密码": "[redacted:password]"} | kept
    assert hits == {"password": 2, "api_key": 1}


def test_the_name_beside_a_value_says_so_too(redactor):
    cleaned, _ = clean(redactor, [{"name": "DB_PASSWORD", "value": ROTATED}, {"name": "HOST", "value": "web01.example"}])
    assert cleaned == [{"name": "DB_PASSWORD", "value": "[redacted:password]"}, {"name": "HOST", "value": "web01.example"}]


def test_json_in_a_string_stays_json(redactor):
    arguments = json.dumps({"command": f'export PASSWORD="{SYMBOLS}" && x', "key": pem("RSA PRIVATE KEY"), "path": "C:\\new"})
    cleaned, hits = clean(redactor, {"tool_calls": [{"function": {"arguments": json.dumps({"inner": arguments})}}]}, MESSAGE)
    inner = json.loads(json.loads(cleaned["tool_calls"][0]["function"]["arguments"])["inner"])
    assert inner == {
        "command": 'export PASSWORD="[redacted:password]" && x',
        "key": "[redacted:private_key]",
        "path": "C:\\new",
    }
    assert hits == {"password": 1, "private_key": 1}


def test_a_piece_of_json_stays_a_piece_of_json(redactor):
    lines = "\n".join(json.dumps({"n": n, "out": f'token: "{made(20)}"\n{TOKEN}\npassword={ROTATED}'}) for n in range(2))
    cleaned, hits = redactor.clean_text(lines + '\n{"cut off')
    out = 'token: "[redacted:token]"\n[redacted:github_token]\npassword=[redacted:password]'
    assert [json.loads(line) for line in cleaned.splitlines()[:2]] == [{"n": n, "out": out} for n in range(2)]
    assert hits == {"token": 2, "github_token": 2, "password": 2}


def test_an_escape_is_never_cut_in_half(redactor):
    token = "np" + "m_" + made(36)
    assert redactor.clean_text(f"C:\\{token}")[0] == "C:\\n[redacted:npm_access_token]"


def test_keys_are_cleaned_and_stay_unique(redactor):
    other = "gh" + "p_" + made(40)
    text = json.dumps({TOKEN: 1, "[redacted:github_token]": 2, other: 3, "sub": {TOKEN: 4}})
    redacted = redactor.clean(text)
    assert json.loads(redacted.text, object_pairs_hook=list) == [
        ("[redacted:github_token]-2", 1),
        ("[redacted:github_token]", 2),
        ("[redacted:github_token]-3", 3),
        ("sub", [("[redacted:github_token]", 4)]),
    ]
    assert redactor.clean(redacted.text) == replace_hits(redacted)


def replace_hits(redacted: Redacted) -> Redacted:
    """The same text, of which nothing was redacted."""
    return Redactor(enabled=False).clean(redacted.text)


EXEMPT = [
    {"append_id": TOKEN, "session_id": TOKEN, "tool_call_id": TOKEN},
    {"tool_calls": [{"id": TOKEN, "type": "function"}]},
    {"thinking": {"items": [{"data": TOKEN, "signature": TOKEN, "id": TOKEN}]}},
    {"content": [{"type": "input_audio", "input_audio": {"data": TOKEN}}, {"type": "file", "file": {"file_data": TOKEN}}]},
    {"metadata": {"parent_id": TOKEN, "branch_id": TOKEN}},
]


@pytest.mark.parametrize("message", EXEMPT)
def test_nothing_is_looked_for_in_the_exempt_places_of_a_message(redactor, message):
    assert clean(redactor, message, MESSAGE) == (message, {})
    assert TOKEN not in json.dumps(clean(redactor, message)[0])  # the same anywhere else


@pytest.mark.parametrize("message", EXEMPT)
def test_the_same_places_one_step_deeper_are_no_exempt_places(redactor, message):
    assert TOKEN not in json.dumps(clean(redactor, {"content": [{"type": "tool", **message}]}, MESSAGE)[0])


AT_WORK = "AK" + "IA" + made(16, "A")  # the form of a key id, as base64 may have it by chance
BY_FORM = [
    {"signature": f"{BLOB}/{AT_WORK}/{BLOB}=="},
    {"type": "redacted_thinking", "data": f"{BLOB}+{AT_WORK}+{BLOB}"},
    {"type": "reasoning", "encrypted_content": f"gAAAAA{made(99)}-{AT_WORK}-{made(99)}=="},
    {"source": {"type": "base64", "data": f"{BLOB}/{AT_WORK}/{BLOB}"}},
    {"url": f"data:image/png;base64,{BLOB}/{AT_WORK}/{BLOB}="},
    {"text": f"![x](data:image/png;base64,{BLOB}/{AT_WORK}/{BLOB}=)"},
]


@pytest.mark.parametrize("record", BY_FORM)
def test_in_an_agents_own_records_key_and_form_tell_what_is_left_alone(redactor, record):
    assert clean(redactor, record, NATIVE) == (record, {})


@pytest.mark.parametrize("key", ["id", "uuid", "sessionId", "signature", "data", "encrypted_content"])
def test_an_innocent_key_hides_no_secret(redactor, key):
    for exempt in (NATIVE, MESSAGE):
        found = clean(redactor, {"toolUseResult": {key: TOKEN}}, exempt)
        assert found == ({"toolUseResult": {key: "[redacted:github_token]"}}, {"github_token": 1})
    inner = clean(redactor, {"content": json.dumps({key: TOKEN})}, MESSAGE)
    assert inner == ({"content": json.dumps({key: "[redacted:github_token]"})}, {"github_token": 1})


def test_a_document_of_plain_text_is_no_media(redactor):
    document = {"content": [{"type": "document", "source": {"type": "text", "data": f"token {TOKEN}"}}]}
    assert TOKEN not in json.dumps(clean(redactor, document, MESSAGE)[0])


def test_what_is_allowed_is_never_taken_out():
    redactor = Redactor(allow=["hunt" + r"er\w+", TOKEN])
    text = f"password={ROTATED} {TOKEN} {JWT}"
    assert redactor.clean_text(text) == (f"password={ROTATED} {TOKEN} [redacted:jwt]", {"jwt": 1})


def test_an_allowlist_entry_that_is_no_pattern_is_refused_by_its_number():
    with pytest.raises(InvalidSettings, match="Entry 2"):
        Redactor(allow=["a", "(b"])


def test_with_redaction_off_secrets_pass():
    text = json.dumps({"content": TOKEN, "password": SYMBOLS})
    redacted = Redactor(enabled=False).clean(text)
    assert (redacted.text, redacted.hits) == (text, {})


def test_only_a_redactor_makes_redacted_text(redactor):
    redacted = redactor.clean('"x"')
    for forge in (
        lambda: Redacted("{}", {}),
        lambda: Redacted("{}", {}, object()),
        lambda: replace(redacted, text="{}"),
        lambda: copy.copy(redacted),
        lambda: pickle.dumps(redacted),
        lambda: setattr(redacted, "text", "{}"),
        lambda: redacted.hits.update(x=1),
    ):
        with pytest.raises((TypeError, AttributeError)):
            forge()


def test_letters_that_become_ascii_in_lower_case_move_nothing(redactor):
    text = f"İİ\u212aey \u212a Basic dXNl\u212ajpwYXNz İ password={ROTATED} İ"
    assert redactor.clean_text(text) == (text.replace(ROTATED, "[redacted:password]"), {"password": 1})


def test_a_json_string_under_the_key_of_a_secret_stays_a_json_string(redactor):
    cleaned, _ = clean(redactor, {"password": json.dumps(json.dumps(SYMBOLS))})
    assert json.loads(json.loads(cleaned["password"])) == "[redacted:password]"
