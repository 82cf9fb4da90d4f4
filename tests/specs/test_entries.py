"""Entries: a session whole, page by page: messages with what they keep for the way home, and native records between them."""

from typing import Any

import pytest
from restclient import Refused, Rest


async def entries(rest: Rest, session_id: str, limit: int = 100) -> list[dict[str, Any]]:
    """All entries, until a page is empty."""
    found: list[dict[str, Any]] = []
    after_seq = 0
    while True:
        query = {"after_seq": after_seq, "limit": limit}
        page = await rest.call("GET", f"/v1/sessions/{session_id}/entries", params=query)
        if not page["entries"]:
            assert page["next_after_seq"] == after_seq
            return found
        assert len(page["entries"]) <= limit
        found += page["entries"]
        after_seq = page["next_after_seq"]


async def record(rest: Rest, session_id: str, append_id: str, records: list[Any]) -> None:
    body = {"agent": "acme", "version": "1", "records": records, "append_id": append_id}
    await rest.call("POST", f"/v1/sessions/{session_id}/native", body)


@pytest.mark.parametrize("limit", [1, 2, 100])
async def test_messages_and_native_records_come_in_order_over_the_lineage(rest: Rest, limit: int):
    session = await rest.create()
    native = {"agent": "acme", "version": "1", "line": 1}
    await rest.append(session, "one", append_id="a1", native=native)
    await record(rest, session, "n1", [{"tick": 1}])
    gone = await rest.append(session, "gone", append_id="a1b")
    snapshot = await rest.snapshot(session)
    await rest.append(session, "not inherited")
    fork = await rest.fork(snapshot["snapshot_id"])
    await record(rest, fork, "n2", [{"tick": 2}])
    await rest.append(fork, "two", append_id="a2")
    purged = await rest.http.post("/v1/admin/purge", json={"seq": gone["seq"]})
    assert "result" in purged.text
    found = await entries(rest, fork, limit)
    assert found.pop(2) == {"seq": gone["seq"], "purged": True}
    assert [entry["append_id"] for entry in found] == ["a1", "n1", "n2", "a2"]
    assert (found[0]["content"], found[0]["native"], found[0]["session_id"]) == ("one", native, session)
    assert found[1] == {"append_id": "n1", "agent": "acme", "version": "1", "records": [{"tick": 1}]}
    assert (found[3]["content"], found[3]["session_id"]) == ("two", fork)


async def test_a_deleted_session_and_another_log_are_refused(rest: Rest):
    session = await rest.create()
    await rest.append(session, "one")
    with pytest.raises(Refused) as refused:
        await rest.call("GET", f"/v1/sessions/{session}/entries", params={"log_id": "another"})
    assert refused.value.code == "cursor_ahead"
    await rest.delete(session)
    with pytest.raises(Refused) as refused:
        await rest.call("GET", f"/v1/sessions/{session}/entries")
    assert refused.value.code == "session_deleted"
