"""Views agree: after any workload the live views, rebuilt ones, and a fold in plain Python over the log are the same."""

import json
import random
from typing import Any

import pytest
from hubs import running_hub
from restclient import Refused, Rest

SEEDS = range(6)
STEPS = 60


async def a_random_workload(rest: Rest, draw: random.Random) -> None:
    sessions, snapshots = [await rest.create(meta={"title": "first"})], list[str]()
    steps = ["create", "append", "append", "append", "several", "snapshot", "fork", "patch", "native", "repeat", "delete", "purge"]
    for step in range(STEPS):
        session, do = draw.choice(sessions), draw.choice(steps)
        try:
            await one_step(rest, draw, do, session, f"k{step}", sessions, snapshots)
        except Refused as refused:
            if refused.code != "session_deleted":
                raise


async def one_step(
    rest: Rest, draw: random.Random, do: str, session: str, key: str, sessions: list[str], snapshots: list[str]
) -> None:
    if do == "create":
        sessions.append(await rest.create(meta={"title": draw.choice(["a", "b", "\u0000"]), "agent_source": "dsh"}))
    elif do in ("append", "several"):
        await rest.append_all(session, [message(draw) for _ in range(1 if do == "append" else 5)])
    elif do == "repeat":
        for _ in "12":
            await rest.append(session, "again", append_id=key)
    elif do == "snapshot":
        snapshots.append((await rest.snapshot(session))["snapshot_id"])
    elif do == "fork" and snapshots:
        sessions.append(await rest.fork(draw.choice(snapshots)))
    elif do == "patch":
        await rest.call("PATCH", f"/v1/sessions/{session}", {"title": draw.choice(["x", None, "y"]), "n": draw.randint(0, 9)})
    elif do == "native":
        await rest.call("POST", f"/v1/sessions/{session}/native", {"agent": "dsh", "version": "4", "records": [1]})
    elif do == "delete" and draw.random() < 0.3:
        await rest.call("DELETE", f"/v1/sessions/{session}")
    elif do == "purge" and draw.random() < 0.3:
        head = await rest.log_head()
        await rest.http.post("/v1/admin/purge", content=json.dumps({"seq": draw.randint(1, head)}))


def message(draw: random.Random) -> dict[str, Any]:
    role = draw.choice(["system", "user", "assistant", "tool"])
    made: dict[str, Any] = {"role": role, "content": draw.choice(["", "hi", None])}
    if role == "tool":
        made["tool_call_id"] = "c"
    if role == "assistant":
        names = draw.sample(["bash", "read", "write", "grep"], draw.randint(0, 3))
        made["tool_calls"] = [{"id": n, "type": "function", "function": {"name": n, "arguments": "{}"}} for n in names]
        made["metadata"] = {"model": draw.choice(["m1", "m2"]), "usage": {"input_tokens": draw.randint(0, 99)}}
        if draw.random() < 0.7:
            made["metadata"]["reply_id"] = draw.choice(["r1", "r2"])
    return made


def folded(events: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """What the sessions are, by the events alone: an independent reading of the contract."""
    sessions: dict[str, dict[str, Any]] = {}
    head_of: dict[str, list[tuple[int, int]]] = {}  # session -> (seq of event, head after it)
    session_of_snapshot: dict[str, str] = {}
    for event in events:
        name, kind, payload, seq = event["session_id"], event["kind"], event["payload"], event["seq"]
        if kind in ("session.created", "session.forked"):
            sessions[name] = {
                "meta": payload.get("meta", {}),
                "messages": 0,
                "snapshots": 0,
                "forks": 0,
                "tools": set(),
                "in": 0,
                "reply": ("", 0),
            }
            sessions[name] |= {"deleted": False, "head": 0}
            if kind == "session.forked" and "parent_session_id" in payload:
                parent = payload["parent_session_id"]
                sessions[parent]["forks"] += 1
                heads = [head for at, head in head_of.get(parent, []) if head <= payload["up_to_seq"]]
                sessions[name]["head"] = max(heads, default=0)
            head_of[name] = [(seq, sessions[name]["head"])]
        elif kind == "session.meta_updated":
            if "purged" not in payload:
                sessions[name]["meta"] = merged(sessions[name]["meta"], payload)
        elif kind == "session.deleted":
            sessions[name]["deleted"] = True
        elif kind == "snapshot.created":
            session_of_snapshot[f"snap_{seq}"] = name
            sessions[name]["snapshots"] += 1
        elif kind == "message.appended":
            one = sessions[name]
            one["messages"], one["head"] = one["messages"] + 1, seq
            head_of[name].append((seq, seq))
            one["tools"] |= {call["function"]["name"] for call in payload.get("tool_calls") or []}
            metadata = payload.get("metadata") or {}
            tokens = (metadata.get("usage") or {}).get("input_tokens", 0)
            one["in"] += tokens
            if "reply_id" in metadata:  # the newest of a reply counts for all of it
                one["in"] -= one["reply"][1] if one["reply"][0] == metadata["reply_id"] else 0
                one["reply"] = (metadata["reply_id"], tokens)
    return sessions


def merged(meta: Any, patch: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in ({**meta, **patch}).items() if v is not None}


async def whole_log(rest: Rest) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    more = True
    while more:
        page = await rest.call("GET", "/v1/log", params={"after_seq": events[-1]["seq"] if events else 0, "limit": 1000})
        events += page["events"]
        more = page["has_more"]
    return events


async def all_views(rest: Rest) -> dict[str, Any]:
    sessions = (await rest.call("GET", "/v1/sessions", params={"limit": 1000}))["sessions"]
    snapshots = (await rest.call("GET", "/v1/snapshots", params={"limit": 1000}))["snapshots"]
    return {"sessions": sessions, "snapshots": snapshots}


async def work(rest: Rest, name: str, verb: str) -> dict[str, Any]:
    response = await rest.http.post(f"/v1/admin/projections/{name}/{verb}")
    result: dict[str, Any] = json.loads(response.text.splitlines()[-1])["result"]
    return result


@pytest.mark.parametrize("seed", SEEDS)
async def test_live_views_are_rebuilt_views_are_a_fold_in_python(database: str, seed: int):
    with running_hub(database) as hub:
        async with hub.client() as http:
            rest = Rest(http, "p")
            await a_random_workload(rest, random.Random(seed))
            live = await all_views(rest)
            for name in ("sessions", "snapshots"):
                assert (await work(rest, name, "verify"))["differences"] == []
                await work(rest, name, "rebuild")
            assert await all_views(rest) == live
            by_hand = {name: one for name, one in folded(await whole_log(rest)).items() if not one["deleted"]}
            shown = {one["session_id"]: one for one in live["sessions"]}
            assert set(shown) == set(by_hand)
            for name, one in by_hand.items():
                has = shown[name]
                counts = (has["message_count"], has["snapshot_count"], has["fork_count"], has["head_seq"], has["input_tokens"])
                assert counts == (one["messages"], one["snapshots"], one["forks"], one["head"], one["in"]), name
                assert set(has["tools"]) == one["tools"]
