"""A program that has the followers of `followers/` too: `python -m with_followers` and arguments of the command line."""

import sys
from pathlib import Path

from sql import migrate

FOLDER = Path(__file__).parent / "followers"
NAMES = ("kinds", "tallies")


def register() -> None:
    """Add them to the registry of this process."""
    migrate.PROJECTION_FOLDERS = (*migrate.PROJECTION_FOLDERS, FOLDER)


if __name__ == "__main__":
    from cli.main import main

    register()
    sys.exit(main())
