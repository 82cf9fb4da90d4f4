"""Home again: every export and tree of the corpus comes back equal, straight and through a `messages` file."""

import os
from pathlib import Path

import pytest

from adapters.messages import reader as messages_reader
from adapters.messages import writer as messages_writer
from adapters.opencode.reader import read
from adapters.opencode.validator import problems
from adapters.opencode.writer import write
from adapters.session import session_of
from adapters.target import Target
from eventstore.wire.codec import parse

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


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.json")), ids=lambda path: path.stem)
def test_the_validator_takes_what_the_real_agent_exported(path):
    assert problems([parse(path.read_text("utf-8"))]) == []
