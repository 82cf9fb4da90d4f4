"""What the archive worker asks of the log and notes of its own work, and how a lost log is put back."""

from datetime import UTC, datetime

import pytest
from planted import plant
from sql_log import SqlLog, digest

NOTE = {"retry_count": 0, "last_error": None, "again_in_s": 0, "commit_id": None}
WHEN = datetime(2001, 2, 3, tzinfo=UTC)


def note(log: SqlLog, snapshot: int, status: str, **more: object) -> None:
    log.call("note_archive_job", snapshot_seq=snapshot, status=status, **NOTE | more)


def due(log: SqlLog, count: int = 9) -> list[tuple[int, str, int, int]]:
    return [tuple(row.values()) for row in log.call("next_archive_jobs", max_count=count)]


def snapshots(log: SqlLog, count: int) -> None:
    """Session 1 with message 2, and snapshots 3, 4, …"""
    log.begin("a")
    log.seqs(log.said("a"), *(log.snapped("a", 2) for _ in range(count)))


# --- jobs


@plant("next_archive_jobs", "coalesce((select max(j.snapshot_seq) from store.archive_jobs j), 0)", "0")
@plant("next_archive_jobs", "j.status = 'running' or", "")
@plant("next_archive_jobs", "j.next_try_at <= clock_timestamp()", "true")
@plant("next_archive_jobs", "order by n.snapshot_seq", "order by n.snapshot_seq desc")
@plant("next_archive_jobs", "limit next_archive_jobs.max_count", "")
@plant("next_archive_jobs", "n.up_to_seq, w.retry_count", "w.retry_count, w.retry_count")
@plant("note_archive_job", "make_interval(secs => note_archive_job.again_in_s)", "make_interval()")
@plant("note_archive_job", "set status = excluded.status, retry_count = excluded.retry_count", "set status = excluded.status")
@plant("note_archive_job", "set status = excluded.status", "set status = j.status")
def test_what_is_new_left_running_or_due_again_is_next_oldest_first(log: SqlLog):
    snapshots(log, 5)
    assert [row[0] for row in due(log)] == [3, 4, 5, 6, 7]
    note(log, 3, "running")
    note(log, 3, "done")
    note(log, 4, "running")
    note(log, 5, "running")
    note(log, 5, "pending", retry_count=2)
    note(log, 6, "pending", again_in_s=3600)
    assert due(log) == [(4, "a", 2, 0), (5, "a", 2, 2), (7, "a", 2, 0)]
    assert [row[0] for row in due(log, 1)] == [4]
    note(log, 4, "failed")
    assert [row[0] for row in due(log)] == [5, 7]


@plant("retry_archive_jobs", "j.status in ('failed', 'pending')", "j.status in ('failed', 'done')")
@plant("retry_archive_jobs", "next_try_at = clock_timestamp()", "next_try_at = j.next_try_at")
@plant("retry_archive_jobs", "retry_count = 0, ", "")
@plant("retry_archive_jobs", "finished_at = null", "finished_at = j.finished_at")
@plant("retry_archive_jobs", "select count(*)", "select 1 + count(*)")
@plant("list_archive_jobs", "coalesce(j.status, 'pending'), coalesce", "j.status, coalesce")
@plant("list_archive_jobs", "coalesce(j.status, 'pending') = list_archive_jobs.status", "j.status = list_archive_jobs.status")
@plant("list_archive_jobs", "n.snapshot_seq < list_archive_jobs.before_seq", "n.snapshot_seq <= list_archive_jobs.before_seq")
@plant("list_archive_jobs", "order by n.snapshot_seq desc", "order by n.snapshot_seq")
@plant("list_archive_jobs", "limit list_archive_jobs.max_count", "")
@plant("note_archive_job", "in ('done', 'failed') then", "in ('done') then")
@plant("note_archive_job", "finished_at = excluded.finished_at", "finished_at = j.finished_at")
@plant("note_archive_job", "last_error = excluded.last_error", "last_error = j.last_error")
@plant("note_archive_job", "commit_id = excluded.commit_id", "commit_id = j.commit_id")
def test_jobs_are_listed_with_how_they_went_and_tried_again_when_told(log: SqlLog):
    snapshots(log, 4)
    for snapshot in (3, 4, 5):
        note(log, snapshot, "running")
    note(log, 3, "done", commit_id="c3")
    note(log, 4, "failed", retry_count=8, last_error="no")
    note(log, 5, "pending", retry_count=1, last_error="soon", again_in_s=3600)

    def shown(status: str | None = None, before: int | None = None, count: int = 9) -> list[tuple[object, ...]]:
        rows = log.call("list_archive_jobs", status=status, before_seq=before, max_count=count)
        assert {(row["session_id"], row["up_to_seq"]) for row in rows} <= {("a", 2)}
        names = ("snapshot_seq", "status", "retry_count", "last_error", "commit_id")
        return [(*(row[name] for name in names), row["finished_at"] is not None) for row in rows]

    done, failed = (3, "done", 0, None, "c3", True), (4, "failed", 8, "no", None, True)
    pending, new = (5, "pending", 1, "soon", None, False), (6, "pending", 0, None, None, False)
    assert shown() == [new, pending, failed, done]
    assert shown("pending") == [new, pending]
    assert (shown(before=5), shown(before=5, count=1)) == ([failed, done], [failed])
    assert log.one("retry_archive_jobs") == 2
    again = [(5, "pending", 0, "soon", None, False), (4, "pending", 0, "no", None, False)]
    assert shown() == [new, *again, done]
    assert [row[0] for row in due(log)] == [4, 5, 6]


@plant("count_archive_jobs", "coalesce(j.status, 'pending') = 'pending'", "j.status = 'pending'")
@plant("count_archive_jobs", "where j.status = 'failed'", "where j.status <> 'failed'")
@plant("count_archive_jobs", "select r.pushed_id from", "select r.last_error from")
@plant("note_archive_push", "coalesce(note_archive_push.pushed_id, r.pushed_id)", "note_archive_push.pushed_id")
@plant("note_archive_push", "r.retry_count + 1 else 0", "r.retry_count + 1 else 1")
@plant(
    "note_archive_push",
    "last_error  = note_archive_push.last_error",
    "last_error = coalesce(note_archive_push.last_error, r.last_error)",
)
@plant("note_archive_push", "then r.pushed_at else clock_timestamp()", "then clock_timestamp() else r.pushed_at")
def test_jobs_and_pushes_are_counted(log: SqlLog):
    snapshots(log, 6)
    for snapshot, status in ((3, "done"), (4, "done"), (5, "failed")):
        note(log, snapshot, status)
    counts = log.one("count_archive_jobs")
    assert list(counts.values()) == [3, 0, 2, 1, None, None, None]
    assert [log.one("note_archive_push", pushed_id=None, last_error="away") for _ in range(2)] == [1, 2]
    assert list(log.one("count_archive_jobs").values())[4:] == [None, "away", None]
    assert log.one("note_archive_push", pushed_id="c1", last_error=None) == 0
    pushed_id, error, pushed_at = list(log.one("count_archive_jobs").values())[4:]
    assert (pushed_id, error, pushed_at is not None) == ("c1", None, True)
    log.one("note_archive_push", pushed_id=None, last_error="away")
    assert list(log.one("count_archive_jobs").values())[4:] == ["c1", "away", pushed_at]


@plant("forget_archive", "generation = generation + 1", "generation = generation")
@plant("forget_archive", "delete from store.archive_jobs;", "")
@plant("archive_generation", "select r.generation", "select 1")
def test_an_archive_that_is_forgotten_is_made_anew_from_the_first_snapshot(log: SqlLog):
    snapshots(log, 2)
    note(log, 3, "done")
    assert log.one("archive_generation") == 1
    log.one("forget_archive")
    assert log.one("archive_generation") == 2
    assert [row[0] for row in due(log)] == [3, 4]


@plant("lock_archive", "pg_try_advisory_lock(128005062318955)", "true")
@plant("lock_archive", "pg_try_advisory_lock(", "pg_try_advisory_xact_lock(")
def test_one_archives_at_a_time(log: SqlLog):
    assert log.one("lock_archive") is True
    with log.another() as other:
        assert other.one("lock_archive") is False


# --- what is archived


@plant("read_entries", "l.session_no = read_entries.session_no", "true")
@plant("read_entries", "l.seq > read_entries.after_seq", "l.seq >= read_entries.after_seq")
@plant("read_entries", "l.seq <= read_entries.up_to_seq", "l.seq < read_entries.up_to_seq")
@plant("read_entries", "and l.kind in ('message.appended', 'native.recorded')", "")
@plant("read_entries", "limit read_entries.max_count", "")
@plant("read_entries", "e.bytes <= read_entries.max_bytes or", "")
@plant("read_entries", "or e.nth = 1", "")
@plant("read_entries", "n on n.seq = e.seq", "n on n.seq = e.seq + 1")
def test_a_sessions_own_messages_and_records_are_read_up_to_a_seq(log: SqlLog):
    log.begin("a", "b")
    log.seqs(log.said("a", natives=b"n"), log.snapped("a", 3), log.recorded("a"), log.said("b"), log.said("a"), log.said("a"))

    def read(after: int, up_to: int, count: int = 9, size: int = 10**6) -> list[tuple[int, str, bytes | None]]:
        rows = log.call("read_entries", session_no=1, after_seq=after, up_to_seq=up_to, max_count=count, max_bytes=size)
        return [(row["seq"], row["kind"].partition(".")[2], row["native"]) for row in rows]

    assert read(0, 7) == [(3, "appended", b"n"), (5, "recorded", None), (7, "appended", None)]
    assert read(3, 8, count=2) == [(5, "recorded", None), (7, "appended", None)]
    assert read(0, 8, size=1) == [(3, "appended", b"n")]


@plant("list_session_snapshots", "n.session_no = list_session_snapshots.session_no", "true")
@plant(
    "list_session_snapshots",
    "n.snapshot_seq > list_session_snapshots.after_seq",
    "n.snapshot_seq >= list_session_snapshots.after_seq",
)
@plant(
    "list_session_snapshots",
    "n.snapshot_seq <= list_session_snapshots.up_to_seq",
    "n.snapshot_seq < list_session_snapshots.up_to_seq",
)
@plant("list_session_snapshots", "order by n.snapshot_seq", "order by n.snapshot_seq desc")
@plant("read_creation", "select c.append_id", "select d.append_id")
@plant("read_creation", "p.session_id, s.snapshot_seq", "s.session_id, s.snapshot_seq")
@plant("read_creation", "d.seq = s.deleted_seq", "d.seq = s.last_seq - 1")
@plant("read_creation", "left join store.log d", "join store.log d")
def test_what_the_log_has_of_a_session_beside_its_messages(log: SqlLog):
    log.seqs(log.created("a", append_id="born"))
    log.begin("other")
    taken = [log.snapped("a", 1, append_id=f"s{number}") for number in range(3)]
    log.seqs(*taken[:2], log.snapped("other", 2), taken[2])
    log.seqs(log.forked("a", "b", {"parent_no": 1, "snapshot_seq": 3, "up_to_seq": 1}, append_id="forked"))
    log.seqs(log.deleted("b"))
    rows = log.call("list_session_snapshots", session_no=1, after_seq=3, up_to_seq=6)
    assert [(row["seq"], row["append_id"], row["body"]) for row in rows] == [
        (4, "s1", log.snapped("a", 1)["bodies"]),
        (6, "s2", log.snapped("a", 1)["bodies"]),
    ]
    names = ("append_id", "parent_id", "snapshot_seq", "up_to_seq", "deletion_seq", "deletion")
    born, forked = (log.one("read_creation", session_no=no) for no in (1, 7))
    assert [born[name] for name in names] == ["born", None, None, None, None, None]
    assert [forked[name] for name in names] == ["forked", "a", 3, 1, 8, b"{}"]
    assert (forked["created_at"], forked["deleted_at"]) == tuple(log.one("read_event", seq=seq)["created_at"] for seq in (7, 8))


# --- put back


def restored(log: SqlLog) -> None:
    """Session 2 with message 4, put back into an empty log."""
    kept = [log.created("a", append_id="born"), log.said("a", "hi", "tool", {"model": "m"}, append_id="k", natives=b"n")]
    columns = ("kinds", "roles", "append_ids", "append_keys", "bodies", "natives", "metas", "facts")
    arrays = {name: [item.get(name) for item in kept] for name in columns}
    places = {"seqs": [2, 4], "session_nos": [2, 2], "said_ats": [None, WHEN], "created_ats": [WHEN, WHEN]}
    assert log.one("restore_events", **places, **arrays) == 4


@plant("restore_events", "where g.seq <> all (seqs)", "where g.seq = 1")
@plant("restore_events", "generate_series(_last + 1, _new)", "generate_series(_last + 2, _new)")
@plant("restore_events", "perform store.fold(_last + 1, _new);", "")
@plant("restore_events", "e.created_at, e.said_at, 0", "clock_timestamp(), e.said_at, 0")
@plant("restore_events", "select e.seq, e.native from", "select e.seq + 1, e.native from")
@plant("restore_events", "e.body, e.meta, e.fact::jsonb", "e.body, e.meta, '{}'")
def test_events_are_put_back_where_they_stood_with_gaps_between(log: SqlLog):
    restored(log)
    assert log.one("check_log") == {"events": 4, "head_seq": 4, "first_missing": None}
    columns = "session_no, seq, kind::text, role::text, append_id, created_at = %s, said_at, writer_no"
    rows = log.sql(f"select {columns} from {{}}.log order by seq", WHEN)
    assert rows == [
        (0, 1, "log.gap", None, "", False, None, 0),
        (2, 2, "session.created", None, "born", True, None, 0),
        (0, 3, "log.gap", None, "", False, None, 0),
        (2, 4, "message.appended", "tool", "k", True, WHEN, 0),
    ]
    session = log.one("find_session", session_id="a")
    assert [session[name] for name in ("session_no", "head_seq", "tool_count", "models")] == [2, 4, 1, ["m"]]
    assert log.sql("select seq, native from {}.natives") == [(4, b"n")]


@plant("restore_events", "append_key, append_id, body, meta, facts)", "append_key, append_id, body, meta, facts, body_hash)")
def test_a_restored_append_id_is_a_repeat_whatever_the_body(log: SqlLog):
    restored(log)
    (again,) = log.append(log.said("a", "another", append_id="k", body_hashes=digest(b"another")))
    assert (again.seq, again.is_repeat, again.refused) == (4, True, None)
    assert log.seqs(log.said("a")) == [5]


@plant("restore_events", "perform store.lock_log();", "perform pg_advisory_xact_lock(1);")
def test_nobody_appends_while_events_are_put_back(log: SqlLog):
    with log.another() as other, log.connection.transaction():
        restored(log)
        other.sql("set lock_timeout = 50")
        with pytest.raises(Exception, match="lock timeout"):
            other.one("lock_log")
