"""The command line: `tasuki <verb>`. Each verb group is a file; exit codes are 0 done, 1 the answer is no, 2 usage,
3 the hub or database is not reachable."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from cli import (
    archive_commands,
    convert,
    demo,
    doctor,
    history_commands,
    hub_commands,
    log_commands,
    mcp_commands,
    projection_commands,
    pull,
    push,
    restore_commands,
    session_commands,
    snapshot_commands,
    worker_commands,
)
from cli.terminal import safe, use_utf8
from eventstore.errors import InvalidSettings, StoreError

_UNREACHABLE = {"database_unavailable", "embedded_unavailable", "hub_unreachable"}
_USAGE = {InvalidSettings.code, "no_such_file"}


def parser() -> argparse.ArgumentParser:
    """Return the parser of every verb."""
    top = argparse.ArgumentParser(
        prog="tasuki",
        description="Hand a coding agent's session from one host and agent to the next.",
        epilog="examples:\n  tasuki serve\n  tasuki demo\n  tasuki tail ses_… \n\n`tasuki VERB --help` shows more.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action=_Version, nargs=0, help="print the version")
    verbs = top.add_subparsers(dest="verb", metavar="VERB", required=True)
    for group in (
        hub_commands,
        demo,
        doctor,
        session_commands,
        push,
        pull,
        convert,
        snapshot_commands,
        history_commands,
        log_commands,
        projection_commands,
        archive_commands,
        restore_commands,
        worker_commands,
        mcp_commands,
    ):
        group.register(verbs)
    return top


class _Version(argparse.Action):
    """Looks the version up only when it is asked for: that takes longer than all else here."""

    def __call__(self, parser: argparse.ArgumentParser, *of_the_option: Any) -> NoReturn:
        from importlib.metadata import version

        print(f"tasuki {version('tasuki')}")
        parser.exit()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. What goes wrong is said in one line, without a traceback."""
    use_utf8()
    options = parser().parse_args(arguments)
    try:
        code = int(options.run(options) or 0)
        sys.stdout.flush()
        return code
    except StoreError as error:
        print(f"tasuki: {safe(error.detail)} [{error.code}]", file=sys.stderr)
        return 3 if error.code in _UNREACHABLE else 2 if error.code in _USAGE else 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


if __name__ == "__main__":
    sys.exit(main())
