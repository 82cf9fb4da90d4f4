"""Diff: what two sessions share is told by lineage, what each has alone is shown in order."""

import pytest
from restclient import Refused, Rest


async def sides(rest: Rest, a: str, b: str, **query) -> tuple[int, list[str], list[str]]:
    answer = await rest.call("GET", "/v1/diff", params={"a": a, "b": b, **query})
    return answer["common"]["up_to_seq"], *([m["content"] for m in answer[side]["messages"]] for side in "ab")


async def test_a_fork_and_its_parent_share_what_was_inherited(rest: Rest):
    session = await rest.create()
    seq = (await rest.append(session, "shared"))["seq"]
    fork = await rest.fork((await rest.snapshot(session))["snapshot_id"])
    await rest.append(session, "only-parent")
    await rest.append(fork, "only-child")
    assert await sides(rest, session, fork) == (seq, ["only-parent"], ["only-child"])
    assert await sides(rest, fork, session) == (seq, ["only-child"], ["only-parent"])


async def test_equal_text_is_not_shared_history(rest: Rest):
    one, other = await rest.create(), await rest.create()
    for session in (one, other):
        await rest.append(session, "same")
    assert await sides(rest, one, other) == (0, ["same"], ["same"])


async def test_siblings_share_what_the_earlier_fork_point_covers(rest: Rest):
    session = await rest.create()
    seqs = [(await rest.append(session, text))["seq"] for text in ("a", "b", "c")]
    early = await rest.fork((await rest.snapshot(session, up_to_seq=seqs[0]))["snapshot_id"])
    late = await rest.fork((await rest.snapshot(session))["snapshot_id"])
    await rest.append(early, "e")
    await rest.append(late, "l")
    assert await sides(rest, early, late) == (seqs[0], ["e"], ["b", "c", "l"])


async def test_two_snapshots_of_a_session_show_the_messages_between(rest: Rest):
    session = await rest.create()
    await rest.append(session, "a")
    first = (await rest.snapshot(session))["snapshot_id"]
    await rest.append(session, "b")
    second = (await rest.snapshot(session))["snapshot_id"]
    await rest.append(session, "c")
    assert (await sides(rest, first, second))[1:] == ([], ["b"])
    assert (await sides(rest, second, session))[1:] == ([], ["c"])
    assert (await sides(rest, first, first))[1:] == ([], [])


async def test_a_diff_is_paged_by_side(rest: Rest):
    session = await rest.create()
    empty = (await rest.snapshot(session))["snapshot_id"]
    await rest.append_all(session, [{"role": "user", "content": str(n)} for n in range(5)])
    seen, after, more = [], 0, True
    while more:
        answer = await rest.call("GET", "/v1/diff", params={"a": empty, "b": session, "limit": 2, "after_b": after})
        seen += [m["content"] for m in answer["b"]["messages"]]
        after, more = answer["b"]["next_after_seq"], answer["b"]["has_more"]
    assert seen == list("01234")


async def test_what_is_not_there_is_told(rest: Rest):
    session = await rest.create()
    for a, b, code in ((session, "ses_nope", "session_not_found"), ("snap_999999", session, "snapshot_not_found")):
        with pytest.raises(Refused) as refused:
            await sides(rest, a, b)
        assert refused.value.code == code
    with pytest.raises(Refused, match="are needed"):
        await rest.call("GET", "/v1/diff", params={"a": session})
