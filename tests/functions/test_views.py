"""What views show of sessions and snapshots: found, listed, related; and the folds that keep them."""

import psycopg
import pytest
from planted import plant
from sql_log import Item, SqlLog

NO_FILTER = {
    "project_id": None, "agent": None, "title_part": None, "since": None, "before": None, "before_no": None, "max_count": 100,
}  # fmt: skip


def fork(log: SqlLog, parent: str, child: str, snapshot: int, up_to: int, **facts: object) -> int:
    parent_no = log.one("find_session", session_id=parent)["session_no"]
    origin = {"parent_no": parent_no, "snapshot_seq": snapshot, "up_to_seq": up_to, "head_seq": up_to}
    lineage = {"lineage_nos": [parent_no], "lineage_tos": [up_to]}
    return log.seqs(log.forked(parent, child, origin | lineage | facts))[0]


def listed(log: SqlLog, **wanted: object) -> list[str]:
    return [row["session_id"] for row in log.call("list_sessions", **NO_FILTER | wanted)]


# --- one session, one snapshot


@plant("find_session", "s.session_id = find_session.session_id", "s.session_id like find_session.session_id || '%'")
@plant("find_session", "order by n.o", "order by n.o desc")
@plant("find_session", "s.meta_seq, s.head_seq, s.last_seq", "s.meta_seq, s.last_seq, s.head_seq")
@plant("find_session", "s.snapshot_seq, s.up_to_seq", "s.up_to_seq, s.snapshot_seq")
def test_a_session_is_found_by_its_whole_id_with_its_lineage(log: SqlLog):
    log.begin("s1", "s10", meta=b'{"m": 1}')
    log.seqs(log.said("s1"), log.recorded("s1"), log.snapped("s1", 3))
    fork(log, "s1", "s2", 5, 3, lineage_nos=[2, 1], lineage_tos=[3, 4])
    session = log.one("find_session", session_id="s1")
    names = ("session_no", "project_id", "meta", "meta_seq", "head_seq", "last_seq", "deleted_seq", "parent_no", "lineage_ids")
    assert [session[name] for name in names] == [1, "p", b'{"m": 1}', 1, 3, 5, None, None, []]
    session = log.one("find_session", session_id="s2")
    origin = ("session_no", "parent_no", "snapshot_seq", "up_to_seq", "head_seq", "lineage_nos", "lineage_tos", "lineage_ids")
    assert [session[name] for name in origin] == [6, 1, 5, 3, 3, [2, 1], [3, 4], ["s10", "s1"]]
    assert log.call("find_session", session_id="s") == []
    log.seqs(log.deleted("s2"))
    assert log.one("find_session", session_id="s2")["deleted_seq"] == 7


@plant("find_snapshot", "n.snapshot_seq = find_snapshot.snapshot_seq", "n.snapshot_seq >= find_snapshot.snapshot_seq")
@plant("find_snapshot", "n.up_to_seq, s.deleted_seq", "n.snapshot_seq, s.deleted_seq")
@plant("find_snapshot", "s.deleted_seq, l.body", "null::bigint, l.body")
@plant("find_snapshot", "and l.seq = n.snapshot_seq", "and l.seq = n.session_no")
@plant("fold_snapshots", "(l.facts ->> 'up_to_seq')::bigint", "l.seq")
@plant("fold_snapshots", "l.seq, l.session_no, (l", "l.seq, l.seq, (l")
@plant("fold_snapshots", "and l.kind = 'snapshot.created'", "and l.kind <> 'message.appended'")
@plant("fold_snapshots", "between fold_snapshots.from_seq and", "between fold_snapshots.from_seq + 1 and")
def test_a_snapshot_is_found_by_its_number(log: SqlLog):
    log.begin("a")
    log.seqs(log.said("a"))
    log.seqs(log.snapped("a", 2), log.snapped("a", 1))
    snapshot = log.one("find_snapshot", snapshot_seq=3)
    body = log.snapped("a", 2)["bodies"]
    names = ("session_id", "session_no", "up_to_seq", "deleted_seq", "body")
    assert [snapshot[name] for name in names] == ["a", 1, 2, None, body]
    assert snapshot["created_at"] == log.one("read_event", seq=3)["created_at"]
    assert log.call("find_snapshot", snapshot_seq=2) == log.call("find_snapshot", snapshot_seq=5) == []
    log.seqs(log.deleted("a"))
    assert log.one("find_snapshot", snapshot_seq=4)["deleted_seq"] == 5


# --- lists


@plant("list_sessions", "order by s.session_no desc", "order by s.session_no")
@plant("list_sessions", "order by c.session_no desc", "order by c.session_no")
@plant("list_sessions", "s.session_no < list_sessions.before_no", "s.session_no <= list_sessions.before_no")
@plant("list_sessions", "and s.deleted_seq is null", "")
@plant("list_sessions", "limit list_sessions.max_count", "")
@plant("list_sessions", "p.session_id, c.snapshot_seq\n", "c.session_id, c.snapshot_seq\n")
def test_sessions_are_listed_newest_first_page_by_page_without_deleted_ones(log: SqlLog):
    log.begin("a", "b", "c", "d")
    log.seqs(log.deleted("c"), log.snapped("a", 0))
    fork(log, "a", "e", 6, 0)
    assert listed(log) == ["e", "d", "b", "a"]
    assert listed(log, max_count=2) == ["e", "d"]
    assert listed(log, before_no=4) == ["b", "a"]
    rows = log.call("list_sessions", **NO_FILTER)
    assert [(row["parent_id"], row["snapshot_seq"]) for row in rows] == [("a", 6), (None, None), (None, None), (None, None)]


@plant("list_sessions", "s.project_id = list_sessions.project_id", "true")
@plant("list_sessions", "s.agent_source = list_sessions.agent", "true")
@plant("list_sessions", "in lower(s.title)", "in s.title")
@plant("list_sessions", "lower(list_sessions.title_part)", "list_sessions.title_part")
@plant("list_sessions", "s.updated_at >= list_sessions.since", "s.created_at >= list_sessions.since")
@plant("list_sessions", "s.updated_at < list_sessions.before)", "s.updated_at <= list_sessions.before)")
def test_sessions_are_filtered_by_project_agent_title_and_time(log: SqlLog):
    log.seqs(log.created("a", "p1", facts={"title": "The Plan", "agent_source": "dsh"}))
    log.seqs(log.created("b", "p2", facts={"title": "else", "agent_source": "hermes"}))
    log.seqs(log.said("a"))
    assert (listed(log, project_id="p1"), listed(log, project_id="p")) == (["a"], [])
    assert listed(log, agent="hermes") == ["b"]
    assert listed(log, title_part="pLAN") == ["a"]
    b, a = (row["updated_at"] for row in log.call("list_sessions", **NO_FILTER))
    assert (listed(log, since=a), listed(log, before=a), listed(log, since=b, before=a)) == (["a"], ["b"], ["b"])


@plant("list_sessions", "where c.bytes_before <= 4 * 1024 * 1024", "")
@plant("list_sessions", "- octet_length(f.meta)", "")
@plant("list_sessions", "over (order by f.session_no desc)", "over (order by f.session_no)")
def test_what_lies_behind_a_page_of_meta_stays_where_it_is_but_for_one_session(log: SqlLog):
    for name, size in (("a", 10), ("b", 10), ("c", 3 << 20), ("d", 2 << 20), ("e", 10)):
        log.begin(name, meta=b'{"m":"%b"}' % (b"x" * size))
    assert listed(log) == ["e", "d", "c"], "c goes over it, and shows that there are more"
    assert listed(log, before_no=4) == ["c", "b", "a"]


@plant("list_snapshots", "where c.bytes_before <= 4 * 1024 * 1024", "")
@plant("list_snapshots", "- octet_length(f.body)", "")
@plant("list_snapshots", "over (order by f.snapshot_seq)", "over (order by f.snapshot_seq desc)")
def test_what_lies_behind_a_page_of_payload_stays_where_it_is_but_for_one_snapshot(log: SqlLog):
    log.begin("a")
    for size in (10, 2 << 20, 3 << 20, 10, 10):
        event = log.snapped("a", 0)
        log.seqs(event | {"bodies": b'{"up_to_seq":0,"m":"%b"}' % (b"x" * size)})
    rows = log.call("list_snapshots", session_no=1, after_seq=0, max_count=100)
    assert [row["snapshot_seq"] for row in rows] == [2, 3, 4]
    rows = log.call("list_snapshots", session_no=1, after_seq=3, max_count=100)
    assert [row["snapshot_seq"] for row in rows] == [4, 5, 6]


@plant("list_snapshots", "n.snapshot_seq > list_snapshots.after_seq", "n.snapshot_seq >= list_snapshots.after_seq")
@plant("list_snapshots", "order by n.snapshot_seq", "order by n.snapshot_seq desc")
@plant("list_snapshots", "n.session_no = list_snapshots.session_no", "true")
@plant("list_snapshots", "and s.deleted_seq is null", "")
@plant("list_snapshots", "limit list_snapshots.max_count", "")
@plant("list_snapshots", "order by c.snapshot_seq", "order by c.snapshot_seq desc")
@plant("list_snapshots", "c.up_to_seq, c.body", "c.snapshot_seq, c.body")
def test_snapshots_are_listed_oldest_first_of_one_session_or_of_all(log: SqlLog):
    log.begin("a", "b")
    log.seqs(log.snapped("a", 1), log.snapped("b", 2), log.snapped("a", 0))

    def snapshots(session_no: int | None, after: int = 0, count: int = 9):
        rows = log.call("list_snapshots", session_no=session_no, after_seq=after, max_count=count)
        return [(row["snapshot_seq"], row["session_id"], row["up_to_seq"]) for row in rows]

    assert snapshots(1) == [(3, "a", 1), (5, "a", 0)]
    assert snapshots(None) == [(3, "a", 1), (4, "b", 2), (5, "a", 0)]
    assert snapshots(None, after=3, count=1) == [(4, "b", 2)]
    log.seqs(log.deleted("a"))
    assert snapshots(None) == [(4, "b", 2)]


# --- relatives


@plant("list_ancestors", "order by c.depth", "order by c.depth desc")
@plant("list_ancestors", "p.deleted_seq is not null", "false")
@plant("list_ancestors", "c.snapshot_seq, c.up_to_seq, p.deleted_seq", "p.snapshot_seq, p.up_to_seq, p.deleted_seq")
@plant("list_ancestors", "s.session_no = list_ancestors.session_no", "s.parent_no = list_ancestors.session_no")
@plant("list_forks", "s.parent_no = list_forks.session_no", "list_forks.session_no = any (s.lineage_nos)")
@plant("list_forks", "order by s.session_no", "order by s.session_no desc")
@plant("list_forks", "and s.deleted_seq is null", "")
@plant("list_forks", "limit list_forks.max_count", "")
@plant("list_heirs", "list_heirs.session_no = any (s.lineage_nos)", "list_heirs.session_no = s.parent_no")
@plant("list_heirs", "order by s.session_no", "order by s.session_no desc")
@plant("list_heirs", "and s.deleted_seq is null", "")
def test_ancestors_are_told_nearest_first_forks_and_heirs_in_the_order_they_were_made(log: SqlLog):
    log.begin("a")
    fork(log, "a", "b", 11, 1)
    fork(log, "b", "c", 22, 2, lineage_nos=[1, 2], lineage_tos=[1, 2])
    for child in "def":
        fork(log, "a", child, 12, 1)
    log.seqs(log.deleted("b"), log.deleted("e"))
    ancestors = log.call("list_ancestors", session_no=3)
    shown = [tuple(row.values()) for row in ancestors]
    assert shown == [("b", "p", 22, 2, True), ("a", "p", 11, 1, False)]
    assert log.call("list_ancestors", session_no=1) == []
    forks = log.call("list_forks", session_no=1, max_count=9)
    assert [(row["session_id"], row["snapshot_seq"], row["up_to_seq"]) for row in forks] == [("d", 12, 1), ("f", 12, 1)]
    assert len(log.call("list_forks", session_no=1, max_count=1)) == 1
    assert [row["session_id"] for row in log.call("list_heirs", session_no=1)] == ["c", "d", "f"]


@plant("list_subagents", "c.starter = s.session_id", "c.starter = s.project_id")
@plant("list_subagents", "c.starter = list_subagents.native_id", "true")
@plant("list_subagents", "and c.agent_source = s.agent_source", "")
@plant("list_subagents", "c.project_id = s.project_id", "true")
@plant("list_subagents", "and c.session_no <> s.session_no", "")
@plant("list_subagents", "and c.parent_no is null", "")
@plant("list_subagents", "and c.deleted_seq is null", "")
@plant("list_subagents", "order by c.session_no", "order by c.session_no desc")
@plant("list_subagents", "limit list_subagents.max_count", "")
@plant("list_subagents", "s.session_no = list_subagents.session_no", "true")
@plant("fold_sessions", "s.starter else m.facts ->> 'starter' end", "m.facts ->> 'starter' else s.starter end")
@plant("fold_sessions", "l.facts ->> 'starter', l.meta", "null, l.meta")
def test_sub_agents_are_those_that_say_who_started_them(log: SqlLog):
    own = {"agent_source": "hermes"}
    log.seqs(log.created("a", facts=own | {"starter": "native-a"}), log.created("b", facts=own))
    log.seqs(log.created("child", facts=own | {"starter": "native-a"}), log.created("of-b", facts=own | {"starter": "b"}))
    log.seqs(log.created("other-agent", facts={"agent_source": "dsh", "starter": "native-a"}))
    log.seqs(log.created("elsewhere", project_id="q", facts=own | {"starter": "native-a"}))
    log.seqs(log.created("gone", facts=own | {"starter": "native-a"}), log.created("later", facts=own))
    log.seqs(log.deleted("gone"), log.patched("later", b"1", own | {"starter": "a"}), log.snapped("child", 3))
    fork(log, "child", "fork", 11, 3, starter="native-a", **own)

    def started(session_no: int, native_id: str | None, count: int = 9) -> list[str]:
        rows = log.call("list_subagents", session_no=session_no, native_id=native_id, max_count=count)
        return [row["session_id"] for row in rows]

    assert started(1, "native-a") == ["child", "later"]
    assert (started(1, None), started(2, None), started(2, "x")) == (["later"], ["of-b"], ["of-b"])
    assert started(1, "native-a", 1) == ["child"]
    log.seqs(log.said("later"))
    assert started(1, None) == ["later"]


# --- folds


@plant("fold_sessions", "greatest(s.head_seq, to_seq)", "s.head_seq")
@plant("fold_sessions", "last_seq         = to_seq", "last_seq = s.last_seq")
@plant("fold_sessions", "s.message_count + 1,", "s.message_count,")
@plant("fold_sessions", "s.user_count + (_one.role = 'user')::integer", "s.user_count + 1")
@plant("fold_sessions", "s.tool_count + (_one.role = 'tool')::integer", "s.tool_count")
@plant("fold_sessions", "coalesce((_one.facts ->> 'input_tokens')::bigint, 0)", "0")
@plant("fold_sessions", "coalesce((_one.facts ->> 'output_tokens')::bigint, 0)", "1")
@plant("fold_sessions", "store.merge_names(s.models, array[_one.facts ->> 'model'])", "s.models")
@plant("fold_sessions", "array['reply_id', 'tools']", "array['reply_id']")
@plant("fold_sessions", "array['reply_id', 'tools']", "array['tools']")
@plant("fold_sessions", "if _one.kind = 'message.appended' and", "if")
@plant("fold_sessions", "greatest(s.last_message_at, _one.created_at)", "s.last_message_at")
@plant("fold_sessions", "least(s.first_message_at, _one.created_at)", "_one.created_at")
@plant("fold_sessions", "greatest(s.updated_at, _one.created_at)", "s.updated_at")
def test_messages_one_by_one_leave_a_session_as_a_batch_of_them_does(log: SqlLog):
    log.begin("one by one", "batch")

    def items(session_id: str) -> list[Item]:
        return [
            log.recorded(session_id),
            log.said(session_id, role="assistant", facts={"model": "m", "reply_id": "r", "input_tokens": 2, "output_tokens": 3}),
            log.said(session_id, role="assistant", facts={"model": "k", "tools": ["t"], "input_tokens": 1}),
            log.said(session_id, role="system"),
            log.said(session_id),
            log.said(session_id, role="assistant", facts={"model": "lone", "input_tokens": 5, "output_tokens": 7}),
            log.said(session_id, role="tool"),
        ]

    for item in items("one by one"):
        log.seqs(item)
    log.seqs(items("batch"))
    apart = "session_no session_id meta_seq head_seq last_seq created_at updated_at first_message_at last_message_at".split()
    columns = "select to_jsonb(s) - %s::text[] from {}.sessions s where session_id = %s"
    assert log.sql(columns, apart, "one by one") == log.sql(columns, apart, "batch")
    seqs = "select head_seq, last_seq, updated_at = last_at, first_message_at = first_at, last_message_at = last_message"
    times = ", ".join(
        f"(select {what} from {{}}.log l where l.session_no = s.session_no and {which}) as {name}"
        for name, what, which in (
            ("last_at", "max(created_at)", "true"),
            ("first_at", "min(created_at)", "l.kind = 'message.appended'"),
            ("last_message", "max(created_at)", "l.kind = 'message.appended'"),
        )
    )
    told = f"{seqs} from (select s.*, {times} from {{}}.sessions s where session_id = %s) s"
    assert log.sql(told, "one by one") == [(9, 9, True, True, True)]


@plant("fold_sessions", "greatest(s.head_seq, e.head_seq)", "e.head_seq")
@plant("fold_sessions", "greatest(s.head_seq, e.head_seq)", "greatest(s.head_seq, e.last_seq)")
@plant("fold_sessions", "last_seq         = e.last_seq", "last_seq = coalesce(e.head_seq, s.last_seq)")
@plant("fold_sessions", "s.message_count + e.message_count", "e.message_count")
@plant("fold_sessions", "where l.role = 'tool')", "where l.role = 'user')")
@plant("fold_sessions", "s.snapshot_count + e.snapshot_count", "s.snapshot_count + 1")
@plant("fold_sessions", "coalesce(s.deleted_seq, e.deleted_seq)", "s.deleted_seq")
@plant("fold_sessions", "coalesce(e.meta_seq, s.meta_seq)", "s.meta_seq")
@plant("fold_sessions", "coalesce(m.meta, s.meta)", "s.meta")
@plant("fold_sessions", "coalesce(m.meta, s.meta)", "m.meta")
@plant(
    "fold_sessions",
    "case when m.meta is null then s.title else coalesce(m.facts ->> 'title', '') end",
    "coalesce(m.facts ->> 'title', s.title)",
)
@plant(
    "fold_sessions",
    "case when m.meta is null then s.agent_source else m.facts ->> 'agent_source' end",
    "m.facts ->> 'agent_source'",
)
@plant(
    "fold_sessions",
    "case when m.meta is null then s.agent_source else m.facts ->> 'agent_source' end",
    "coalesce(m.facts ->> 'agent_source', s.agent_source)",
)
def test_a_session_is_what_its_events_leave_it(log: SqlLog):
    log.seqs(log.created("a", meta=b"1", facts={"title": "T", "agent_source": "dsh"}))
    log.begin("b")

    def session() -> list[object]:
        row = log.one("find_session", session_id="a")
        (title,) = log.sql("select title from {}.sessions where session_id = 'a'")[0]
        counts = [row[f"{role}_count"] for role in ("message", "system", "user", "assistant", "tool", "snapshot")]
        names = ("head_seq", "last_seq", "meta", "meta_seq", "deleted_seq", "agent_source")
        return [*(row[name] for name in names), title, counts]

    assert session() == [0, 1, b"1", 1, None, "dsh", "T", [0, 0, 0, 0, 0, 0]]
    log.seqs(log.said("a"), log.said("a", role="tool"), log.said("b"), log.said("a", role="tool"), log.recorded("a"))
    assert session() == [6, 7, b"1", 1, None, "dsh", "T", [3, 0, 1, 0, 2, 0]]
    log.seqs(log.snapped("a", 4), log.said("a", role="assistant"), log.said("a", role="system"))
    assert session() == [10, 10, b"1", 1, None, "dsh", "T", [5, 1, 1, 1, 2, 1]]
    log.seqs(log.patched("a", b"2", {"title": "U"}))
    assert session() == [10, 11, b"2", 11, None, None, "U", [5, 1, 1, 1, 2, 1]]
    log.seqs(log.patched("a", b"3", {"agent_source": "hermes"}))
    log.seqs(log.recorded("a"))
    assert session() == [10, 13, b"3", 12, None, "hermes", "", [5, 1, 1, 1, 2, 1]]
    log.seqs(log.deleted("a"))
    assert session() == [10, 14, b"3", 12, 14, "hermes", "", [5, 1, 1, 1, 2, 1]]


@plant("fold_sessions", "coalesce((l.facts ->> 'head_seq')::bigint, 0), l.seq, l.created_at", "0, l.seq, l.created_at")
@plant("fold_sessions", "s.fork_count + f.forks", "f.forks")
@plant("fold_sessions", "count(*) as forks", "1 as forks")
@plant(
    "fold_sessions",
    "(l.facts ->> 'snapshot_seq')::bigint, (l.facts ->> 'up_to_seq')",
    "(l.facts ->> 'up_to_seq')::bigint, (l.facts ->> 'snapshot_seq')",
)
@plant(
    "fold_sessions",
    "order by o) from jsonb_array_elements_text(l.facts -> 'lineage_tos')",
    "order by o desc) from jsonb_array_elements_text(l.facts -> 'lineage_tos')",
)
@plant(
    "fold_sessions",
    "order by o) from jsonb_array_elements_text(l.facts -> 'lineage_nos')",
    "order by o desc) from jsonb_array_elements_text(l.facts -> 'lineage_nos')",
)
def test_a_fork_begins_with_what_it_inherits_and_its_parent_counts_it(log: SqlLog):
    log.begin("a")
    log.seqs(log.said("a"), log.snapped("a", 2))
    facts = {"parent_no": 1, "snapshot_seq": 3, "up_to_seq": 2, "head_seq": 2, "lineage_nos": [9, 1], "lineage_tos": [1, 2]}
    log.seqs(log.forked("a", "b", facts), log.forked("a", "c", facts))
    log.seqs(log.forked("a", "d", facts))
    child = log.one("find_session", session_id="b")
    names = ("head_seq", "last_seq", "message_count", "parent_no", "snapshot_seq", "up_to_seq", "lineage_nos", "lineage_tos")
    assert [child[name] for name in names] == [2, 4, 0, 1, 3, 2, [9, 1], [1, 2]]
    assert log.one("find_session", session_id="a")["fork_count"] == 3


@plant("fold_sessions", "s.input_tokens + e.input_tokens", "e.input_tokens")
@plant("fold_sessions", "sum((l.facts ->> 'output_tokens')::bigint) filter", "max((l.facts ->> 'output_tokens')::bigint) filter")
@plant("fold_sessions", "least(s.first_message_at, e.first_message_at)", "e.first_message_at")
@plant("fold_sessions", "greatest(s.last_message_at, e.last_message_at)", "s.last_message_at")
@plant("fold_sessions", "greatest(s.updated_at, e.updated_at)", "s.updated_at")
@plant("fold_sessions", "e.tools <@ s.tools then", "true then")
@plant("fold_sessions", "e.models <@ s.models then", "e.models && s.models then")
@plant("merge_names", "distinct n.name", "n.name")
@plant("merge_names", "order by name", "order by name desc")
@plant("merge_names", "unnest(a || b)", "unnest(b)")
@plant("merge_names", "limit 200", "limit 2000")
@plant("flat_names", "distinct n.name", "distinct l.list ->> 0")
def test_what_messages_say_of_models_tools_and_tokens_adds_up(log: SqlLog):
    log.begin("a")
    first = {"model": "m2", "tools": ["b", "Z"], "input_tokens": 1, "output_tokens": 10}
    log.seqs(log.said("a", facts=first), log.said("a", facts={"tools": ["a"], "output_tokens": 5}))
    log.seqs(log.said("a", facts={"model": "m1", "tools": ["b", "c"], "input_tokens": 2}), log.said("a", facts={"model": "m2"}))
    log.seqs(log.recorded("a"))
    session = log.one("find_session", session_id="a")
    names = ("models", "tools", "input_tokens", "output_tokens")
    assert [session[name] for name in names] == [["m1", "m2"], ["Z", "a", "b", "c"], 3, 15]
    times = [log.one("read_event", seq=seq)["created_at"] for seq in (2, 5, 6)]
    assert [session[name] for name in ("first_message_at", "last_message_at", "updated_at")] == times
    log.seqs(log.said("a", facts={"tools": [f"t{number:03}" for number in range(300)]}))
    assert len(log.one("find_session", session_id="a")["tools"]) == 200


@plant("fold_sessions", "case when s.reply_id = r.first_id then s.reply_input else 0 end", "0")
@plant("fold_sessions", "case when s.reply_id = r.first_id then s.reply_output else 0 end", "s.reply_output")
@plant("fold_sessions", "is distinct from l.facts", "= l.facts")
@plant("fold_sessions", "over (partition by l.session_no order by l.seq)", "over (order by l.seq)")
@plant("fold_sessions", "m.reply_id order by m.seq))[1]", "m.reply_id order by m.seq desc))[1]")
@plant("fold_sessions", "m.input_tokens order by m.seq desc))[1]", "m.input_tokens order by m.seq))[1]")
def test_of_a_reply_whose_messages_each_repeat_what_it_cost_the_newest_counts(log: SqlLog):
    log.begin("a", "b")

    def said(name: str, reply: str | None, tokens: int):
        facts = {"input_tokens": 10 * tokens, "output_tokens": tokens}
        return log.said(name, facts=facts | ({"reply_id": reply} if reply else {}))

    def counted(name: str) -> tuple[int, int]:
        session = log.one("find_session", session_id=name)
        return session["input_tokens"], session["output_tokens"]

    log.seqs(said("a", "r1", 1), said("b", "r1", 100), said("a", "r1", 2), said("a", None, 5))
    assert (counted("a"), counted("b")) == ((70, 7), (1000, 100))
    log.seqs(said("a", "r1", 3), said("a", "r2", 1), said("a", "r2", 4))
    assert counted("a") == (120, 12)
    log.seqs(said("a", "r2", 5))
    log.seqs(said("a", "r1", 1), said("b", "r2", 1))
    assert (counted("a"), counted("b")) == ((140, 14), (1010, 101))


# --- for people with psql


@plant("view_events", "l.append_id, convert_from", "s.session_id, convert_from")
@plant("view_messages", "and s.deleted_seq is null", "")
@plant("view_messages", "where l.kind = 'message.appended'", "where l.kind <> 'log.gap'")
@plant("view_messages", "j.payload -> 'content', j.payload -> 'tool_calls'", "j.payload -> 'tool_calls', j.payload -> 'content'")
@plant("view_sessions", "where s.deleted_seq is null", "")
@plant("view_sessions", "s.message_count, s.head_seq", "s.head_seq, s.message_count")
@plant("view_snapshots", "where s.deleted_seq is null", "")
@plant("view_snapshots", "n.up_to_seq, l.facts", "n.snapshot_seq, l.facts")
def test_people_see_the_same_in_views(log: SqlLog):
    log.begin("a", "gone")
    log.seqs(log.said("a", "hi\0", append_id="k"), log.said("gone"), log.snapped("a", 3), log.snapped("gone", 4))
    log.seqs(log.deleted("gone"))
    events = log.sql("select seq, session_id, kind, append_id, payload::text from public.events order by seq")
    assert events[2] == (3, "a", "message.appended", "k", '{"role": "user", "content": "hi\\u0000"}')
    assert len(events) == 7
    assert log.sql("select session_id, seq, role, content::text from public.messages") == [("a", 3, "user", '"hi\\ufffd"')]
    assert log.sql("select session_id, message_count, head_seq from public.sessions") == [("a", 1, 3)]
    assert log.sql("select snapshot_id, session_id, up_to_seq, commit_msg from public.snapshots") == [("snap_5", "a", 3, "m")]


@plant("view_events", "left join", "join")
def test_an_event_of_the_log_itself_is_seen_too(log: SqlLog):
    zeros, empty = b"\0" * 16, b"{}"
    columns = "session_no, seq, created_at, writer_no, kind, append_key, append_id, body"
    log.sql(f"insert into {{}}.log ({columns}) values (0, 1, now(), 1, 'log.gap', %s, '', %s)", zeros, empty)
    assert log.sql("select seq, session_id, kind from public.events") == [(1, None, "log.gap")]


def test_what_was_appended_cannot_be_changed_by_any_statement(log: SqlLog):
    log.begin("a")
    log.seqs(log.said("a", natives=b"n"))
    for table in ("log", "natives"):
        for statement in (f"update {{}}.{table} set seq = seq", f"delete from {{}}.{table}", f"truncate {{}}.{table}"):
            with pytest.raises(psycopg.Error) as refused:
                log.sql(statement)
            assert refused.value.sqlstate == "TK405"
    assert log.sql("select count(*) from {}.log") == [(2,)]


@plant("readable", "'\\\\u0000', '\\\\ufffd', 'g'", "'\\\\u0000', '\\\\ufffd'")
@plant("readable", "(?!\\\\u[dD][c-fC-F])", "")
@plant("readable", "(?<!\\\\u[dD][89abAB][[:xdigit:]]{2})", "")
def test_text_that_postgresql_has_no_character_for_can_be_looked_at(log: SqlLog):
    body = rb'{"a":"\u0000\u0000 \ud83d \uDE00 \ud83d\ude00 \ud83d\ud83d\ude00"}'
    (value,) = log.sql("select {}.readable(%s) ->> 'a'", body)[0]
    assert value == "\ufffd\ufffd \ufffd \ufffd \U0001f600 \ufffd\U0001f600"
