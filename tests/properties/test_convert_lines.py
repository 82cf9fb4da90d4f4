"""Line by line a session is converted to the very file and report that it makes as a whole, whatever its lines hold."""

import argparse
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from standard_sessions import sessions
from transcripts import transcripts

from adapters import pieces
from adapters.conversion import Json
from adapters.messages.writer import write
from adapters.registry import NotConverted
from adapters.target import Target
from cli.cleaning import Cleaner
from cli.convert import _convert_whole
from cli.convert_stream import Converted, convert_lines
from cli.stores import Source
from eventstore.redact import MESSAGE, Redactor
from eventstore.wire.codec import dump, parse

SECRET = "gh" + "p_" + "a1B2" * 9
AGENTS = st.sampled_from(["messages", "claude-code"])
Convert = Callable[[Source, str, Path, Target, Cleaner], list[Converted]]


def whole(source: Source, agent: str, output: Path, target: Target, cleaner: Cleaner) -> list[Converted]:
    return _convert_whole(argparse.Namespace(target=agent, output=output), source, target, cleaner)


def outcome(convert: Convert, agent: str, to: str, lines: list[bytes]) -> Any:
    """What was written and told, or why nothing was."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in.jsonl").write_bytes(b"".join(lines))
        cleaner = Cleaner(Redactor())
        try:
            done = convert(Source(agent, folder / "in.jsonl"), to, folder / "out.jsonl", Target(now_ms=1_800_000_000_000), cleaner)
        except NotConverted as error:
            assert [path.name for path in folder.iterdir()] == ["in.jsonl"]
            return error.detail
        assert sorted(path.name for path in folder.iterdir()) == ["in.jsonl", "out.jsonl"]
        return (folder / "out.jsonl").read_bytes(), done, cleaner.hits


@draws(60)
@given(transcripts(), AGENTS)
def test_any_transcript(lines, to):
    assert outcome(convert_lines, "claude-code", to, lines) == outcome(whole, "claude-code", to, lines)


@draws(60)
@given(sessions(), AGENTS)
def test_any_standard_session(session, to):
    lines = list(write(session, Target()).records)
    assert outcome(convert_lines, "messages", to, lines) == outcome(whole, "messages", to, lines)


@draws(60)
@given(transcripts(), st.data())
def test_any_transcript_that_went_on_elsewhere_and_comes_home(lines, data):
    there = outcome(convert_lines, "claude-code", "messages", lines)[0].splitlines(keepends=True)
    others = list(write(data.draw(sessions()), Target()).records)[1:]
    at = data.draw(st.integers(1, len(there)))
    mixed = [*there[:at], *others, *there[at:]]
    assert outcome(convert_lines, "messages", "claude-code", mixed) == outcome(whole, "messages", "claude-code", mixed)


secrets = st.sampled_from([SECRET, f"a token: {SECRET}!", f'{{"token": "{SECRET}"}}', "harmless", "", "x" * 40, f"pwd={SECRET}"])
values = st.recursive(
    secrets, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(secrets | st.just("password"), inner, max_size=3)
)


@draws(200)
@given(st.dictionaries(secrets, values, max_size=3), secrets)
def test_a_long_string_is_cleaned_as_any_other(more, content):
    entry: Json = {"role": "user", "content": content, "native": {"agent": "x", "record": more}}
    plain = Redactor().clean(dump(entry), MESSAGE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "LONG_CHARS", 12)
        cleaner = Cleaner(Redactor())
        cleaned, text = next(cleaner.clean([entry]))
        assert "".join(pieces.pieces(cleaned)) == plain.text
    assert cleaned == parse(plain.text)
    assert (text, cleaner.hits) in [("", plain.hits), (plain.text, plain.hits)]
