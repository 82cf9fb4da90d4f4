"""Which parts of which sessions a session reads: cut at the fork, in order, with a cursor that is valid across the borders."""

from itertools import pairwise

from draws import draws
from hypothesis import given
from hypothesis import strategies as st

from eventstore.lineage import SEQ_MAX, Part, inherited, parts_after


def test_a_fork_inherits_its_parent_up_to_the_snapshot():
    assert inherited((), 1, "root", 7) == (Part(1, 7, "root"),)


def test_a_fork_of_a_fork_inherits_both_each_up_to_where_it_was_left():
    child = inherited((), 1, "root", 7)
    assert inherited(child, 10, "child", 15) == (Part(1, 7, "root"), Part(10, 15, "child"))


def test_a_fork_at_an_inherited_point_takes_nothing_of_the_session_between():
    child = inherited((), 1, "root", 7)
    grandchild = inherited(child, 10, "child", 5)
    assert grandchild == (Part(1, 5, "root"),)
    assert inherited(grandchild, 20, "grandchild", 7) == (Part(1, 5, "root"),)


def test_a_fork_before_the_first_message_inherits_nothing():
    assert inherited((), 5, "root", 5) == inherited((), 5, "root", 0) == ()


def test_a_reader_is_sent_only_to_the_parts_that_it_has_not_read_and_always_to_the_session_itself():
    lineage = (Part(1, 7, "root"), Part(10, 15, "child"))
    own = Part(20, SEQ_MAX, "me")
    assert parts_after(lineage, 20, "me", 0) == [*lineage, own]
    assert parts_after(lineage, 20, "me", 6) == [*lineage, own]
    assert parts_after(lineage, 20, "me", 7) == [lineage[1], own]
    assert parts_after(lineage, 20, "me", 15) == [own]
    assert parts_after(lineage, 20, "me", 99) == [own]


@given(st.lists(st.tuples(st.integers(1, 5), st.floats(0, 1)), max_size=8), st.floats(0, 1))
@draws(300)
def test_the_parts_of_any_chain_of_forks_lie_one_after_another_and_hold_what_each_parent_held(steps, share):
    head = 0
    lineage: tuple[Part, ...] = ()
    held: list[int] = []  # what the newest session reads, in a model: a list of seqs
    for count, at in [(3, 1.0), *steps]:
        no, first = head + 1, head + 2
        head = first + count - 1
        own = list(range(first, head + 1))
        up_to_seq = round(at * head)
        lineage, held = inherited(lineage, no, f"ses_{no}", up_to_seq), [seq for seq in held + own if seq <= up_to_seq]
    assert [seq for part in lineage for seq in range(part.session_no + 1, part.to_seq + 1) if seq in held] == held
    assert all(one.to_seq < other.session_no for one, other in pairwise(lineage))
    after = round(share * (head + 1))
    read = [seq for part in parts_after(lineage, head + 1, "me", after) for seq in held if part.session_no < seq <= part.to_seq]
    assert [seq for seq in read if seq > after] == [seq for seq in held if seq > after]
