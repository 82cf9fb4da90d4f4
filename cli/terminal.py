"""The terminal: text as a person reads it. What an agent said is shown, never obeyed: no escape sequence of it gets through.

On a terminal lines are broken at its width, with the indentation kept, and colours are used (NO_COLOR turns them off);
in a pipe lines stay as they are.
"""

import os
import re
import shutil
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any, TextIO
from unicodedata import category, combining, east_asian_width

from eventstore.wire.codec import Number

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "magenta": "35", "cyan": "36"}
_WIDTH_MIN, _WIDTH_MAX = 40, 140
# Everything that moves the cursor, colours, or turns the direction of what follows around; tab and line end are kept.
_control = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_words = re.compile(r"\s+|\S+")


class Screen:
    """One output, by default the standard one."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self.is_terminal = self._out.isatty()
        self._has_colour = self.is_terminal and not os.environ.get("NO_COLOR") and _shows_colour()
        self._progress = ""

    @property
    def width(self) -> int:
        """The columns to use; 0 in a pipe, where nothing is broken."""
        return max(_WIDTH_MIN, min(_WIDTH_MAX, shutil.get_terminal_size().columns)) if self.is_terminal else 0

    def line(self, text: str = "") -> None:
        """Write one line as it is."""
        self.end_progress()
        self._out.write(text + "\n")

    def block(self, text: str, indent: int = 0, style: str = "") -> None:
        """Write text of any origin, indented, broken at the width, in one style."""
        for line in safe(text).split("\n"):
            for part in wrap(line, self.width - indent) if self.width else [line]:
                self.line((" " * indent + self.styled(part, style)).rstrip())

    def styled(self, text: str, style: str) -> str:
        """The text in a style: names of colours, bold and dim, separated by spaces. Without colours: the text."""
        codes = ";".join(_CODES[name] for name in style.split())
        return f"\x1b[{codes}m{text}\x1b[0m" if codes and text and self._has_colour else text

    def flush(self) -> None:
        self._out.flush()

    def progress(self, text: str) -> None:
        """Say how far it is: one line that is written over on a terminal, plain lines in a pipe."""
        if not self.is_terminal:
            self._out.write(text + "\n")
        else:
            self._out.write("\r" + text[: self.width - 1].ljust(len(self._progress)))
            self._progress = text
        self._out.flush()

    def end_progress(self) -> None:
        """Take the line of progress away."""
        if self._progress:
            self._out.write("\r" + " " * min(len(self._progress), self.width - 1) + "\r")
            self._progress = ""


class Pace:
    """When to say again how far it is: often on a terminal, seldom in a pipe."""

    def __init__(self, screen: Screen) -> None:
        self._every_s = 0.1 if screen.is_terminal else 5.0
        self._last = time.monotonic() - (0 if not screen.is_terminal else self._every_s)

    def is_due(self) -> bool:
        if time.monotonic() - self._last < self._every_s:
            return False
        self._last = time.monotonic()
        return True


def safe(text: str) -> str:
    """The text without what a terminal would obey: escapes become visible, tabs and line ends one kind each."""
    text = text.replace("\r\n", "\n").expandtabs(4)
    return _control.sub(_visible, text)


def one_line(text: str, chars_max: int = 80) -> str:
    """The beginning of a text on one line."""
    flat = " ".join(safe(text[: 8 * chars_max]).split())
    return flat if len(flat) <= chars_max else flat[: chars_max - 1].rstrip() + "…"


def shorten(text: str, lines_max: int, chars_max: int) -> tuple[str, str]:
    """The beginning of a text, and how much was left out ("" for nothing)."""
    lines = text.strip("\n").split("\n")
    shown = "\n".join(lines[:lines_max])
    if len(shown) > chars_max:
        shown = shown[:chars_max]
    chars = len(text.strip("\n")) - len(shown)
    if not chars:
        return shown, ""
    more = len(lines) - shown.count("\n") - 1
    return shown, f"… {more:,} more lines, {chars:,} characters" if more else f"… {chars:,} more characters"


def wrap(line: str, width: int) -> Iterator[str]:
    """Break a line after at most `width` columns, at spaces where there are any; what follows stands under its beginning."""
    indent = min(len(line) - len(line.lstrip(" ")), max(0, width - 20))
    part, columns = "", 0
    for piece in _words.findall(line):
        size = display_width(piece)
        if columns + size > width and part.strip():
            yield part.rstrip()
            part, columns = " " * indent, indent
            if piece.isspace():
                continue
        while size > width - columns:
            head = _fitting(piece, width - columns)
            yield part + head
            piece = piece[len(head) :]
            part, columns, size = " " * indent, indent, display_width(piece)
        part, columns = part + piece, columns + size
    if part.strip() or not line.strip():
        yield part.rstrip()


def display_width(text: str) -> int:
    """The columns that a text takes: two for wide characters, none for what combines."""
    if text.isascii():
        return len(text)
    return sum(_columns(char) for char in text)


def moment(value: Any) -> str:
    """A time as it was kept, in this host's zone and with its offset; what is no time, as it is."""
    text = value if isinstance(value, str) else ""
    try:
        return datetime.fromisoformat(text.upper()).astimezone().strftime("%Y-%m-%d %H:%M:%S %z")
    except (ValueError, OverflowError, OSError):
        return one_line(text, 40)


def number(value: Any) -> int:
    """A whole number out of a document, 0 for anything else."""
    return (value.as_int() or 0) if isinstance(value, Number) else 0


def counted(count: int, one: str, many: str = "") -> str:
    """A number with its noun."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def use_utf8() -> None:
    """Let standard output and error carry any text, with plain line ends, whatever the platform's habit is."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")


def _columns(char: str) -> int:
    if combining(char) or category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(char) in "WF" else 1


def _fitting(text: str, columns: int) -> str:
    """The beginning of a text that takes at most this many columns, at least one character."""
    taken = 0
    for index, char in enumerate(text):
        taken += _columns(char)
        if taken > columns and index:
            return text[:index]
    return text


def _visible(match: re.Match[str]) -> str:
    code = ord(match.group())
    return chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else f"\\u{code:04x}"


def _shows_colour() -> bool:
    if sys.platform == "win32":
        return any(name in os.environ for name in ("WT_SESSION", "ANSICON", "TERM"))
    return os.environ.get("TERM", "dumb") != "dumb"
