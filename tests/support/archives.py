"""The archive under test: git asked directly, the hub's status awaited, and a remote that hangs until it is let go."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
from restclient import Rest


def git(path: Path, *arguments: str) -> str:
    command = ["git", "-C", str(path), "-c", "user.name=t", "-c", "user.email=t@localhost", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def new_remote(folder: Path) -> Path:
    """An empty repository that can be pushed to."""
    git(folder, "init", "-q", "--bare", str(folder / "remote"))
    return folder / "remote"


async def until(rest: Rest, within_s: float = 40, **wanted: Any) -> dict[str, Any]:
    """The archive's status when it is as wanted. Raises TimeoutError after `within_s`."""
    with anyio.fail_after(within_s):
        while True:
            status = await rest.call("GET", "/v1/admin/archive")
            if all(status[name] == value for name, value in wanted.items()):
                return status
            await anyio.sleep(0.05)


@contextmanager
def hanging(remote: Path) -> Iterator[tuple[str, Any]]:
    """A remote whose hook sleeps until it is let go."""
    gate = remote.parent / "gate"
    hook = remote / "hooks" / "pre-receive"
    hook.write_text(f"#!/bin/sh\nwhile [ ! -e {gate} ]; do sleep 0.1; done\n")
    hook.chmod(0o755)
    try:
        yield str(remote), gate.touch
    finally:
        gate.touch()
