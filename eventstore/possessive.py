"""Possessive: repeats that give nothing back, so that a pattern takes linear time, in every Python from 3.11 on. Pure.

Python before 3.11.5 matches a possessive repeat of a group wrongly where the group itself can backtrack, and a secret stays in
its text (https://github.com/python/cpython/issues/106052). An atomic group around a greedy repeat is right there too; it takes
memory for each time that the group repeats, which the possessive one does not. Repeats of one character are right everywhere.
"""

import sys

_IS_RIGHT = sys.version_info >= (3, 11, 5)


def possessive(group: str, times: str) -> str:
    """Return a pattern for `group`, which may backtrack, repeated so many `times` (`*`, `+`, `?`, `{m,n}`)."""
    return f"(?:{group}){times}+" if _IS_RIGHT else f"(?>(?:{group}){times})"
