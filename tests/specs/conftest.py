"""One hub for the specifications: they differ by project, not by server.

A promise that REST and MCP both make is written once, with `caller`, and runs through every skin: REST, MCP in both protocol
eras over HTTP, and where it is marked `stdio`, through `tasuki mcp`. A test with `rest` is of what REST alone has.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import count

import pytest
from hubs import HubProcess, running_hub
from mcp import Client
from mcpclient import HANDSHAKE, MODERN, Caller, Mcp, over_http, over_stdio
from restclient import Rest

SKINS = {"rest": "rest", "mcp-2026-07-28": "mcp_modern", "mcp-handshake": "mcp_handshake"}
STDIO = {"mcp-stdio-2026-07-28": "mcp_stdio", "mcp-stdio-handshake": "mcp_stdio_handshake"}
_projects = count(1)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "caller" in metafunc.fixturenames:
        skins = SKINS | (STDIO if metafunc.definition.get_closest_marker("stdio") else {})
        metafunc.parametrize("caller", list(skins.values()), ids=list(skins), indirect=True)


@pytest.fixture(scope="package")
def shared_hub(shared_database: str) -> Iterator[HubProcess]:
    """A hub for all files."""
    with running_hub(shared_database) as hub:
        yield hub


@pytest.fixture(scope="module")
def own_hub(module_database: str) -> Iterator[HubProcess]:
    """A hub on a database of a file's own."""
    with running_hub(module_database) as hub:
        yield hub


@pytest.fixture(scope="module")
def hub(shared_hub: HubProcess) -> HubProcess:
    """The hub of a file's tests: the one for all, where a file says nothing else."""
    return shared_hub


@pytest.fixture
def caller(request: pytest.FixtureRequest) -> Caller:
    """A caller in a project of its own, through one of the skins."""
    found: Caller = request.getfixturevalue(request.param)
    return found


@pytest.fixture
async def rest(hub: HubProcess) -> AsyncIterator[Rest]:
    """A caller over REST in a project of its own."""
    async with rest_caller(hub) as caller:
        yield caller


@pytest.fixture
async def mcp_modern(hub: HubProcess, rest: Rest) -> AsyncIterator[Mcp]:
    """A caller over MCP 2026-07-28."""
    async with over_http(hub, MODERN) as client:
        yield Mcp(client, rest)


@pytest.fixture
async def mcp_handshake(hub: HubProcess, rest: Rest) -> AsyncIterator[Mcp]:
    """A caller over MCP as it was before 2026-07-28."""
    async with over_http(hub, HANDSHAKE) as client:
        yield Mcp(client, rest)


@pytest.fixture
async def mcp_stdio(stdio_modern: Client, rest: Rest) -> Mcp:
    """A caller through `tasuki mcp`."""
    return Mcp(stdio_modern, rest)


@pytest.fixture
async def mcp_stdio_handshake(stdio_handshake: Client, rest: Rest) -> Mcp:
    """A caller through `tasuki mcp` as it was before 2026-07-28."""
    return Mcp(stdio_handshake, rest)


@pytest.fixture(scope="module")
async def stdio_modern(hub: HubProcess) -> AsyncIterator[Client]:
    """One `tasuki mcp` for the tests of a module."""
    async with over_stdio(hub, MODERN) as client:
        yield client


@pytest.fixture(scope="module")
async def stdio_handshake(hub: HubProcess) -> AsyncIterator[Client]:
    async with over_stdio(hub, HANDSHAKE) as client:
        yield client


@asynccontextmanager
async def rest_caller(hub: HubProcess) -> AsyncIterator[Rest]:
    """A caller over REST in a project that no other has."""
    async with hub.client() as http:
        yield Rest(http, f"project-{next(_projects)}")
