"""What the verbs that speak to a hub have in common: their options, and a help with examples."""

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from cli.client import Hub, open_hub

Run = Callable[[argparse.Namespace], int]


def add_verb(
    verbs: Any, name: str, run: Run, *, summary: str, more: str, examples: Sequence[str], json: str = "print JSON"
) -> argparse.ArgumentParser:
    """Add a verb that speaks to a hub: with `--url` and `--json`. `summary` stands in the list of verbs, `more` in its own help."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        name,
        help=summary,
        description=more,
        epilog="\n".join(["examples:", *(f"  {example}" for example in examples)]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help=json)
    parser.add_argument("--url", default="", help="address of the hub (default TASUKI_URL, else http://127.0.0.1:8808)")
    parser.set_defaults(run=run)
    return parser


def hub_of(options: argparse.Namespace) -> Hub:
    """Return the hub that a command was given. Raises InvalidSettings."""
    return open_hub(options.url)


def natural(text: str) -> int:
    """A whole number from 0, for argparse."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise argparse.ArgumentTypeError(f"{text[:40]!a} is no whole number from 0")
    return int(text)


def positive(text: str) -> int:
    """A whole number from 1, for argparse."""
    if natural(text) < 1:
        raise argparse.ArgumentTypeError("it must be at least 1")
    return int(text)
