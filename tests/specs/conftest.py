"""One hub for the specifications: they differ by project, not by server."""

from collections.abc import AsyncIterator, Iterator
from itertools import count

import pytest
from hubs import HubProcess, running_hub
from restclient import Rest

_projects = count(1)


@pytest.fixture(scope="module")
def hub(module_database: str) -> Iterator[HubProcess]:
    """A hub on a database of this module's own."""
    with running_hub(module_database) as hub:
        yield hub


@pytest.fixture
async def rest(hub: HubProcess) -> AsyncIterator[Rest]:
    """A caller in a project of its own."""
    async with hub.client() as http:
        yield Rest(http, f"project-{next(_projects)}")
