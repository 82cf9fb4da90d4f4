"""An append is one event and one answer, however often it is sent, to however many hubs at once, whatever breaks meanwhile."""

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator

import anyio
import httpx2
import pytest
from agreement import Event, log_faults, read_log
from backends import WORKERS, keep_terminating
from fleet import Fleet, mixed_fleet, running_fleet
from load import Refused, answered
from plants import NO_HASH, NO_LOOKUP, NO_UNIQUE_IDS, edit, plant
from repeats import Append, plain

HUBS, CLIENTS, ROUNDS = 3, 8, 3
KEY = "ghp_" + "aB3dE6gH9jK2" * 3
EXACTLY_ONE, AT_MOST_ONE = range(1, 2), range(2)

Make = Callable[[str, str, str], Append]
"""A kind of append: made of a name, a session and a snapshot of it."""


def said(name: str, text: str) -> dict:
    return {"role": "user", "content": text, "append_id": name}


def create(name: str, session_id: str, snapshot_id: str) -> Append:
    body = {"project_id": "p", "append_id": name, "meta": {"title": KEY}}
    return Append("create", "POST", "/v1/sessions", body, [name], {**body, "meta": {"title": "other"}})


def append(name: str, session_id: str, snapshot_id: str) -> Append:
    return Append("message", "POST", f"/v1/sessions/{session_id}/messages", said(name, KEY), [name], said(name, "other"))


def append_several(name: str, session_id: str, snapshot_id: str) -> Append:
    names = [f"{name}.{n}" for n in range(4)]
    body, other = ({"messages": [said(one, text) for one in [*names, names[0]]]} for text in (KEY, "other"))
    return Append("messages", "POST", f"/v1/sessions/{session_id}/messages", body, names, other)


def record(name: str, session_id: str, snapshot_id: str) -> Append:
    body = {"agent": "a", "version": "1", "records": [KEY], "append_id": name}
    return Append("native", "POST", f"/v1/sessions/{session_id}/native", body, [name], {**body, "records": ["other"]})


def patch(name: str, session_id: str, snapshot_id: str) -> Append:
    return Append("patch", "PATCH", f"/v1/sessions/{session_id}?append_id={name}", {name: KEY}, [name], {name: "other"})


def take_snapshot(name: str, session_id: str, snapshot_id: str) -> Append:
    body = {"session_id": session_id, "append_id": name, "commit_msg": KEY, "meta": {"a": KEY}}
    return Append("snapshot", "POST", "/v1/snapshots", body, [name], {**body, "commit_msg": "other"})


def fork(name: str, session_id: str, snapshot_id: str) -> Append:
    body = {"append_id": name, "meta": {"title": KEY}}
    return Append("fork", "POST", f"/v1/snapshots/{snapshot_id}/fork", body, [name], {"append_id": name})


def fork_by_get(name: str, session_id: str, snapshot_id: str) -> Append:
    return Append("fork by GET", "GET", f"/v1/snapshots/{snapshot_id}/fork?append_id={name}", None, [name])


KINDS: list[Make] = [create, append, append_several, record, patch, take_snapshot, fork, fork_by_get]
HOLD_TEXT = KINDS[:-1]


async def prepare(https: list[httpx2.AsyncClient]) -> tuple[str, str]:
    """A session with a message, and a snapshot of it."""
    session_id = (await answered(https, "POST", "/v1/sessions", {"project_id": "p"}, []))["session_id"]
    await answered(https, "POST", f"/v1/sessions/{session_id}/messages", {"role": "user", "content": "hi"}, [])
    return session_id, (await answered(https, "POST", "/v1/snapshots", {"session_id": session_id}, []))["snapshot_id"]


async def client(https: list[httpx2.AsyncClient], shared: tuple[str, str], names: Iterator[str], made: list[Append]) -> None:
    """Make every kind of append, in any order, to a session that other clients write to as well; then delete one of its own."""
    for _ in range(ROUNDS):
        for kind in random.sample(KINDS, len(KINDS)):
            one = kind(next(names), *shared)
            made.append(one)
            await one.send(https, random.randint(1, len(https)))
            await one.send_other(https)
            await one.send(https, 1)
        made += await delete_one(https, next(names))


async def delete_one(https: list[httpx2.AsyncClient], name: str) -> list[Append]:
    """Delete a session, several times at once. What was appended before is answered again, though nothing new is taken."""
    session_id, snapshot_id = await prepare(https)
    before = [kind(f"{name}.{kind.__name__}", session_id, snapshot_id) for kind in KINDS]
    for one in before:
        await one.send(https, 1)
    deletion = Append("delete", "DELETE", f"/v1/sessions/{session_id}", None, [session_id])
    await deletion.send(https, len(https))
    for one in before:
        await one.send(https, 1)
    with pytest.raises(Refused, match="session_deleted"):
        await answered(https, "POST", f"/v1/sessions/{session_id}/messages", said(f"{name}.late", "too late"), [])
    return [*before, deletion]


async def under_repeats(fleet: Fleet, dsn: str, breaks: bool = False) -> tuple[list[Append], int]:
    """Let clients send everything several times at once. `breaks`: their hubs' connections are terminated all the time."""
    names = (f"id-{n}" for n in itertools.count())
    made: list[Append] = []
    ended: list[int] = []
    async with fleet.clients() as https:
        shared = await prepare(https)
        async with anyio.create_task_group() as tasks:
            if breaks:
                tasks.start_soon(keep_terminating, dsn, WORKERS, (0.01, 0.1), ended)
            async with anyio.create_task_group() as clients:
                for _ in range(CLIENTS):
                    clients.start_soon(client, https, shared, names, made)
            tasks.cancel_scope.cancel()
    return made, len(ended)


def all_faults(made: list[Append], log: list[Event], firsts: range) -> list[str]:
    return log_faults(log) + [fault for one in made for fault in one.faults(log, firsts)]


async def test_what_is_sent_several_times_at_once_is_one_event_and_one_answer(database):
    with running_fleet(database, HUBS) as fleet:
        made, _ = await under_repeats(fleet, database)
    assert all_faults(made, read_log(database), EXACTLY_ONE) == []
    assert len(made) == CLIENTS * ROUNDS * (2 * len(KINDS) + 1)


async def test_so_it_is_when_connections_to_the_database_break_at_any_moment(database):
    """A hub that lost the answer asks again by itself, and then knows only that it stands in the log."""
    with running_fleet(database, HUBS) as fleet:
        made, ended = await under_repeats(fleet, database, breaks=True)
    assert all_faults(made, read_log(database), AT_MOST_ONE) == []
    assert ended >= 20


async def test_of_two_bodies_sent_at_once_under_one_id_one_is_taken_and_the_other_refused(database):
    with running_fleet(database, 2) as fleet:
        async with fleet.clients() as https:
            shared = await prepare(https)
            made = [kind(f"id-{number}", *shared) for number, kind in enumerate(HOLD_TEXT * 5)]
            for one in made:
                bodies = [(https[0], one.body), (https[1], one.other)]
                outcomes: list[str] = []
                async with anyio.create_task_group() as tasks:
                    for http, body in random.sample(bodies, 2):
                        tasks.start_soon(outcome, http, one, body, outcomes)
                assert sorted(outcomes) == ["append_id_reused", "written"], one
    written = Counter(event.append_id for event in read_log(database))
    assert [written[name] for one in made for name in one.names if written[name] != 1] == []


async def outcome(http: httpx2.AsyncClient, one: Append, body: object, outcomes: list[str]) -> None:
    try:
        await answered([http], one.method, one.path, body, [])
        outcomes.append("written")
    except Refused as refused:
        outcomes.append(refused.problem["code"])


async def test_a_redaction_rule_that_came_in_between_makes_no_repeat_a_conflict(hubs_of_different_rules):
    """Whichever rules it met first, it is the same body: the first answer comes again."""
    async with hubs_of_different_rules.clients() as https:
        shared = await prepare(https)
        for kind, order in itertools.product(HOLD_TEXT, itertools.permutations(https)):
            one = kind(f"{kind.__name__}-{'-'.join(str(https.index(http)) for http in order)}", *shared)
            for http in order:
                await one.send([http], 1)
                await one.send_other([http])
            assert one.surprises == []
            assert [plain(answer) for answer in one.answers] == [one.first] * 3
            assert {name for answer in one.answers[:1] for name, is_new in one.told(answer) if is_new} == set(one.names)
            assert not any(is_new for answer in one.answers[1:] for _, is_new in one.told(answer))


@pytest.fixture
def hubs_of_different_rules(database):
    with mixed_fleet(database, [{"redaction": "off"}, {"redaction": "on"}, {"redaction": "on", "redaction_allow": KEY}]) as fleet:
        yield fleet


async def test_the_rules_differ_in_what_they_store(hubs_of_different_rules):
    async with hubs_of_different_rules.clients() as https:
        session_id, _ = await prepare(https)
        path = f"/v1/sessions/{session_id}"
        for number, http in enumerate(https):
            await answered([http], "POST", f"{path}/messages", said(f"id-{number}", f"use {KEY}"), [])
        contents = [message["content"] for message in (await answered(https, "GET", path, None, []))["messages"]]
        assert contents == ["hi", f"use {KEY}", "use [redacted:github_token]", f"use {KEY}"]


@pytest.mark.parametrize(
    ("bugs", "fault"),
    [
        ([NO_UNIQUE_IDS, NO_LOOKUP], "written 3 times"),
        ([NO_LOOKUP], "a repeat was refused: 500"),
        ([NO_HASH], "another body was taken"),
    ],
    ids=["no_lookup_no_index", "no_lookup", "no_hash"],
)
async def test_a_log_that_does_not_know_repeats_is_found_out(database, bugs, fault):
    def bug():
        for one in bugs:
            plant(database, one) if isinstance(one, str) else edit(database, *one)

    with running_fleet(database, 2) as fleet:
        async with fleet.clients() as https:
            shared = await prepare(https)
            bug()
            made = [kind(kind.__name__, *shared) for kind in HOLD_TEXT]
            for one in made:
                await one.send(https, 2)
                await one.send_other(https)
    found = all_faults(made, read_log(database), EXACTLY_ONE)
    assert [one.kind for one in made if not any(f"{one.kind} " in text and fault in text for text in found)] == []
