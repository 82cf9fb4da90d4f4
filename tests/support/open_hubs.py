"""Hubs that let requests without a token in and tell what tasks they have: tests/conformance/fixture_server.py as a process."""

from collections import Counter
from pathlib import Path
from typing import Any

import httpx2
from hubs import HubProcess

REPOSITORY = Path(__file__).resolve().parents[2]


class OpenHub(HubProcess):
    """`names` says whose tools it serves: the public suite's (fixture) or the hub's own (hub)."""

    def __init__(self, names: str, dsn: str, data_dir: Path, **settings: Any) -> None:
        super().__init__(dsn, data_dir, **settings)
        self._command[1:4] = ["-m", "tests.conformance.fixture_server", names]
        self._env["PYTHONPATH"] = str(REPOSITORY)


async def tasks_of(client: httpx2.AsyncClient) -> Counter[str]:
    """The tasks of an open hub's event loop by the name of their coroutine, the one of this request among them."""
    return Counter((await client.get("/-/tasks")).json())
