"""Lineage: which parts of which sessions a session reads. Pure.

A fork inherits its parent's messages up to a seq. Seqs rise in commit order and a session's own events all come after its
creation, so the parts of a lineage lie one after another and a cursor stays valid across their borders.
"""

from typing import NamedTuple

SEQ_MAX = 2**63 - 1


class Part(NamedTuple):
    """A session's events up to `to_seq`, as a descendant reads them."""

    session_no: int
    to_seq: int
    session_id: str


def inherited(parent: tuple[Part, ...], parent_no: int, parent_id: str, up_to_seq: int) -> tuple[Part, ...]:
    """Return the lineage of a fork of a session at `up_to_seq`: the parent's own, cut there, and the parent.

    A session created after `up_to_seq` (its number is the seq of its creation) has nothing to give and is left out.
    """
    whole = (*parent, Part(parent_no, SEQ_MAX, parent_id))
    return tuple(Part(p.session_no, min(p.to_seq, up_to_seq), p.session_id) for p in whole if p.session_no < up_to_seq)


def parts_after(lineage: tuple[Part, ...], session_no: int, session_id: str, after_seq: int) -> list[Part]:
    """Return the parts that hold events with seq > `after_seq`, in order, the session itself last."""
    return [part for part in lineage if part.to_seq > after_seq] + [Part(session_no, SEQ_MAX, session_id)]
