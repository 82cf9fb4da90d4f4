"""Paths: every operation is found at its own path, and nothing at any other."""

import pytest

from transports.rest.paths import Paths
from transports.rest.routes import OPERATIONS

PATHS = sorted({operation.path for operation in OPERATIONS})


async def app(scope, receive, send) -> None:
    """An application that is only ever found."""


@pytest.fixture(scope="module")
def paths() -> Paths:
    paths = Paths()
    for path in PATHS:
        paths.add(path, app)
    return paths


@pytest.mark.parametrize("path", PATHS)
def test_each_is_found_with_what_stands_for_its_braces(paths: Paths, path: str):
    names = [part.strip("{}") for part in path.split("/") if part.startswith("{")]
    values = {name: f"a {name}" for name in names}
    place, found = paths.find(path.format(**values))
    assert place
    assert (place.path, found) == (path, values)


@pytest.mark.parametrize(
    "path",
    [
        *("", "/", "//", "/v1", "/v1/", "/v1/sessions/", "/v1/sessions//messages", "/v1/sessions/s/messages/", "v1/sessions"),
        *("/v1/sessions/s/messages/more", "/V1/sessions", "/v1/sessions/s/", "/v1/snapshots/s/fork/x", "/healthz/", "/v2/sessions"),
    ],
)
def test_nothing_is_found_elsewhere(paths: Paths, path: str):
    assert paths.find(path)[0] is None


def test_a_part_may_be_anything_but_empty(paths: Paths):
    for part in (" ", "..", "{session_id}", "ses_\u00e9", "a%2Fb", "messages"):
        _, found = paths.find(f"/v1/sessions/{part}/messages")
        assert found == {"session_id": part}
