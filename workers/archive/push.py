"""Push: the archive's way to a remote, by the stock git: it knows every transport, credential helper and host key.

It runs beside everything else and has a time limit: a slow, dead or refusing remote delays nothing but itself. A remote that has
gone another way is reported and never overwritten, unless a purge says so, and then only if it is where it was last seen.
"""

import os
from pathlib import Path

import anyio

from eventstore.errors import StoreError

PUSH_S_MAX = 120.0
TOKEN_VARIABLE = "TASUKI_ARCHIVE_TOKEN"  # noqa: S105  # the name of a variable
_HELPER = f'!f() {{ test "$1" = get && echo username=tasuki && echo "password=${TOKEN_VARIABLE}"; }}; f'
_LINE_CHARS_MAX = 300


class PushFailed(StoreError):
    """The remote did not take what was pushed; it is tried again."""

    code, title, retryable = "archive_push_failed", "The remote did not take the archive", True


async def push(repository: Path, remote: str, expected: str | None = None) -> None:
    """Push main and every tag. `expected`: overwrite main there if it is at this commit (only after a purge).

    Raises PushFailed with the line that says why.
    """
    command = ["git", "-C", str(repository)]
    if os.environ.get(TOKEN_VARIABLE):
        command += ["-c", f"credential.helper={_HELPER}"]
    command += ["push", "--porcelain", "--quiet"]
    if expected is not None:
        command += [f"--force-with-lease=main:{expected}", remote, "+refs/heads/main", "+refs/tags/*:refs/tags/*"]
    else:
        command += [remote, "refs/heads/main", "refs/tags/*:refs/tags/*"]
    environment = {
        **os.environ,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_SSH_COMMAND": os.environ.get("GIT_SSH_COMMAND", "ssh -o BatchMode=yes"),
    }
    with anyio.move_on_after(PUSH_S_MAX):
        done = await anyio.run_process(command, check=False, env=environment)
        if done.returncode:
            raise PushFailed(_why(done.stderr.decode("utf-8", "replace") + done.stdout.decode("utf-8", "replace")))
        return
    raise PushFailed(f"The remote did not answer within {PUSH_S_MAX:.0f} s.")


def _why(said: str) -> str:
    """The line of git's words that says most, without what stands before an @ in an address."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if "rejected" in line or line.startswith(("fatal:", "error:", "!"))]
    line = (telling or lines or ["git push failed"])[0]
    if "non-fast-forward" in said or "fetch first" in said or "stale info" in said:
        line = f"The remote has gone another way; nothing there was overwritten. {line}"
    return " ".join(
        word.rpartition("://")[0] + "://" + word.rpartition("@")[2] if "://" in word and "@" in word else word
        for word in line.split()
    )[:_LINE_CHARS_MAX]
