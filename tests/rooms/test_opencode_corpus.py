"""Home again: every export and tree of the corpus comes back equal, straight and through a `messages` file."""

import os
from pathlib import Path

import pytest

from adapters import registry
from adapters.conversion import Json
from adapters.messages import reader as messages_reader
from adapters.messages import writer as messages_writer
from adapters.opencode.reader import read
from adapters.opencode.validator import problems
from adapters.opencode.writer import write
from adapters.session import Session, session_of
from adapters.target import Target
from eventstore.wire.codec import dump, parse

CORPUS = Path(os.environ.get("TASUKI_CORPUS") or Path(__file__).parents[3] / "shared" / "corpus") / "opencode"
SAMPLES = Path(__file__).parent.parent / "samples" / "opencode"
FILES = sorted([*CORPUS.glob("*.json"), *SAMPLES.glob("*.json")])


@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"there is no corpus in {CORPUS}")
def test_there_is_a_corpus_to_read():
    assert len(list(CORPUS.glob("*.json"))) >= 2


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_session_goes_home_as_it_was(path):
    conversion = read(path.read_bytes().splitlines(keepends=True))
    written = write(session_of(conversion), Target())
    assert written.records == (parse(path.read_text("utf-8")),)
    assert not written.report["dropped"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_session_goes_home_through_a_messages_file(path):
    conversion = read([path.read_bytes()])
    file = messages_writer.write(session_of(conversion), Target()).records
    back = messages_reader.read(file)
    assert write(session_of(back), Target()).records == (parse(path.read_text("utf-8")),)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_session_goes_home_from_a_hub(path):
    """A hub gives each message back with its own fields beside, and the native records after them."""
    conversion = read([path.read_bytes()])
    said: list[Json] = [{"session_id": "ses_1", "seq": seq} | message.body for seq, message in enumerate(conversion.messages, 7)]
    said = [message | {"metadata": message["metadata"] | {"project": "p"}} for message in said]
    entries = [*said, *(batch.body for batch in conversion.natives)]
    written = write(Session(conversion.meta, tuple(parse(dump(entry)) for entry in entries)), Target())
    assert written.records == (parse(path.read_text("utf-8")),)
    assert not any(written.report[kind] for kind in ("dropped", "degraded", "synthesised"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_registry_knows_a_session_of_this_agent(path):
    found = registry.detect(path.read_bytes().splitlines(keepends=True)[:64])
    assert found is not None
    assert (found.agent, found.version) == ("opencode", "1.18.33")


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.json")), ids=lambda path: path.stem)
def test_the_validator_takes_what_the_real_agent_exported(path):
    assert problems([parse(path.read_text("utf-8"))]) == []
