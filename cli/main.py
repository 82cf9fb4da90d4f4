"""The command line: `tasuki <verb>`. Each verb group is a file; exit codes are 0 done, 1 the answer is no, 2 usage,
3 the hub or database is not reachable."""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NoReturn

from cli.loading import loading
from cli.terminal import safe, use_utf8
from eventstore.errors import InvalidSettings, StoreError

GROUPS: Mapping[str, tuple[str, ...]] = {
    "hub_commands": ("serve", "migrate", "schema"),
    "demo": ("demo",),
    "doctor": ("doctor",),
    "session_commands": ("sessions", "show", "tail"),
    "push": ("push",),
    "pull": ("pull",),
    "convert": ("convert",),
    "snapshot_commands": ("snapshot", "snapshots", "fork"),
    "history_commands": ("diff", "delete", "purge"),
    "log_commands": ("log",),
    "projection_commands": ("projections",),
    "archive_commands": ("archive",),
    "restore_commands": ("restore",),
    "worker_commands": ("worker",),
    "mcp_commands": ("mcp",),
}
"""The files of verbs, in the order of the help, and which verbs each adds."""
_UNREACHABLE = {"database_unavailable", "embedded_unavailable", "hub_unreachable"}
_USAGE = {InvalidSettings.code, "no_such_file"}


def parser(verb: str = "") -> argparse.ArgumentParser:
    """Return the parser of every verb, or of those in the file of one verb: it is loaded in half the time, or a quarter."""
    top = argparse.ArgumentParser(
        prog="tasuki",
        description="Hand a coding agent's session from one host and agent to the next.",
        epilog="examples:\n  tasuki serve\n  tasuki demo\n  tasuki tail ses_… \n\n`tasuki VERB --help` shows more.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action=_Version, nargs=0, help="print the version")
    verbs = top.add_subparsers(dest="verb", metavar="VERB", required=True)
    own = [group for group, names in GROUPS.items() if verb in names]
    for group in own or GROUPS:
        import_module(f"cli.{group}").register(verbs)
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
    arguments = sys.argv[1:] if arguments is None else arguments
    with loading():
        known = parser(arguments[0] if arguments else "")
    options = known.parse_args(arguments)
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
