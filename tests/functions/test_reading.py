"""Reading in SQL: pages of a session over its lineage, its events, the whole log, what changed, and heads."""

from planted import plant
from sql_log import SqlLog

SEQ_MAX = 2**63 - 1


def page(
    log: SqlLog, session_no: int, *pieces: tuple[int, int], after: int = 0, count: int = 99, size: int = 10**6, native: bool = False
):
    """The rows of read_page; its twin for readers at the head gives the same."""
    shape = {**parts(pieces, after), "max_count": count, "max_bytes": size, "with_native": native}
    rows = log.call("read_page", session_no=session_no, **shape)
    assert log.call("read_page_at_head", session_no=session_no, **shape) == rows
    return rows


def events(log: SqlLog, session_no: int, *pieces: tuple[int, int], after: int = 0, count: int = 99, size: int = 10**6):
    """The rows of read_events; its twin for readers at the head gives the same."""
    shape = {**parts(pieces, after), "max_count": count, "max_bytes": size}
    rows = log.call("read_events", session_no=session_no, **shape)
    assert log.call("read_events_at_head", session_no=session_no, **shape) == rows
    return rows


def parts(pieces: tuple[tuple[int, int], ...], after: int):
    return {"part_nos": [no for no, _ in pieces], "part_afters": [after] * len(pieces), "part_tos": [to for _, to in pieces]}


def family(log: SqlLog) -> None:
    """A root with messages 2, 3, 5, a fork of it up to 3 with 8, a fork of that up to 8 with 12; other kinds between."""
    log.begin("root")
    log.seqs(log.said("root", "a"), log.said("root", "b", natives=b"native"), log.recorded("root"))
    log.seqs(log.said("root", "late"), log.snapped("root", 3))
    log.seqs(fork(log, "root", "child", 1, 6, 3, [1], [3]))
    log.seqs(log.said("child", "c"), log.recorded("child"), log.snapped("child", 8))
    log.seqs(fork(log, "child", "grandchild", 7, 10, 8, [1, 7], [3, 8]))
    log.seqs(log.said("grandchild", "d"))


def fork(log: SqlLog, parent: str, child: str, parent_no: int, snapshot: int, up_to: int, nos: list[int], tos: list[int]):
    facts = {"parent_no": parent_no, "snapshot_seq": snapshot, "up_to_seq": up_to, "head_seq": up_to}
    return log.forked(parent, child, facts | {"lineage_nos": nos, "lineage_tos": tos})


GRANDCHILD = ((1, 3), (7, 8), (11, SEQ_MAX))


@plant("read_page", "l.seq > p.after_seq", "l.seq >= p.after_seq")
@plant("read_page", "l.seq <= p.to_seq", "l.seq < p.to_seq")
@plant("read_page", "and l.seq <= p.to_seq", "")
@plant("read_page", "and l.kind = 'message.appended'", "")
@plant("read_page", "l.session_no = p.no", "l.session_no <= p.no")
@plant("read_page_at_head", "read_page_at_head.part_afters,", "read_page_at_head.part_tos,")
def test_a_page_holds_the_messages_of_every_part_in_order(log: SqlLog):
    family(log)

    def seqs(after: int) -> list[tuple[int, int]]:
        return [(row["part"], row["seq"]) for row in page(log, 11, *GRANDCHILD, after=after) if row["seq"]]

    assert seqs(0) == [(1, 2), (1, 3), (2, 8), (3, 12)]
    assert [seqs(after)[0][1] for after in (1, 2, 3, 7, 8, 11)] == [2, 3, 8, 8, 12, 12]
    assert seqs(12) == []
    assert [row["seq"] for row in page(log, 1, (1, SEQ_MAX))] == [2, 3, 5]


@plant("read_page", "limit read_page.max_count) c", "limit read_page.max_count + 1) c")
@plant("read_page", "m.bytes <= read_page.max_bytes", "true")
@plant("read_page", "or m.nth = 1", "")
@plant("read_page", "order by l.seq\n", "order by l.seq desc\n")
@plant("read_page_at_head", "read_page_at_head.max_count,", "1000,")
def test_a_page_is_cut_by_count_and_by_bytes_but_never_below_one(log: SqlLog):
    log.begin("a")
    log.seqs(*(log.said("a", "x" * 100) for _ in range(5)))
    size = len(log.said("a", "x" * 100)["bodies"])

    def seqs(count: int, size: int, *pieces: tuple[int, int]) -> list[int]:
        return [row["seq"] for row in page(log, 1, *pieces, count=count, size=size)]

    whole = (1, SEQ_MAX)
    assert seqs(2, 10**6, whole) == [2, 3]
    assert seqs(3, 10**6, (1, 3), whole) == [2, 3, 2]
    assert seqs(100, 2 * size, whole) == [2, 3]
    assert seqs(100, 2 * size - 1, whole) == seqs(100, 1, whole) == [2]


@plant("read_page", "where n.seq = m.seq", "where n.seq = m.seq + 1")
@plant("read_page", "case when read_page.with_native then", "case when true then")
@plant("read_page_at_head", "read_page_at_head.with_native)", "not read_page_at_head.with_native)")
def test_a_page_has_natives_when_they_are_wanted(log: SqlLog):
    family(log)
    assert [row["native"] for row in page(log, 1, (1, SEQ_MAX), native=True)] == [None, b"native", None]
    assert [row["native"] for row in page(log, 1, (1, SEQ_MAX))] == [None] * 3


@plant("read_page", "select s.head_seq, s.deleted_seq, m.part", "select s.last_seq, s.deleted_seq, m.part")
@plant("read_page", "select s.head_seq, s.deleted_seq, m.part", "select s.head_seq, null::bigint, m.part")
@plant("read_page", "where s.session_no = read_page.session_no", "where s.session_no = read_page.session_no and m.seq is not null")
@plant("read_page_at_head", "read_page_at_head.session_no,", "read_page_at_head.session_no + 1,")
def test_a_page_tells_head_and_deletion_even_when_it_is_empty_and_no_session_from_an_empty_one(log: SqlLog):
    log.begin("a")
    log.seqs(log.said("a"), log.recorded("a"))
    (row,) = page(log, 1, (1, SEQ_MAX), after=2)
    assert (row["head_seq"], row["deleted_seq"], row["part"], row["seq"]) == (2, None, None, None)
    log.seqs(log.deleted("a"))
    (row,) = page(log, 1, (1, SEQ_MAX), after=2)
    assert (row["head_seq"], row["deleted_seq"]) == (2, 4)
    assert page(log, 99, (1, SEQ_MAX)) == []


@plant("read_events", "p.no = read_events.session_no or", "")
@plant("read_events", "or l.kind in ('message.appended', 'native.recorded')", "or true")
@plant("read_events", "'native.recorded'", "'session.created'")
@plant("read_events", "l.seq > p.after_seq", "l.seq >= p.after_seq")
@plant("read_events", "l.seq <= p.to_seq", "l.seq < p.to_seq")
@plant("read_events", "order by l.seq\n", "order by l.seq desc\n")
@plant("read_events_at_head", "read_events_at_head.part_afters,", "read_events_at_head.part_tos,")
def test_a_session_has_events_of_every_kind_and_of_its_ancestors_what_it_inherits(log: SqlLog):
    family(log)

    def found(after: int, *pieces: tuple[int, int]):
        rows = events(log, pieces[-1][0], *pieces, after=after)
        return [(row["seq"], row["kind"].partition(".")[2]) for row in rows if row["seq"]]

    inherited = [(2, "appended"), (3, "appended"), (4, "recorded")]
    own = [(7, "forked"), (8, "appended"), (9, "recorded"), (10, "created")]
    assert found(0, (1, 4), (7, SEQ_MAX)) == inherited + own
    assert found(2, *GRANDCHILD) == [(3, "appended"), (8, "appended"), (11, "forked"), (12, "appended")]
    assert found(12, *GRANDCHILD) == []


@plant("read_events", "limit read_events.max_count) c", "limit read_events.max_count + 1) c")
@plant("read_events", "m.bytes <= read_events.max_bytes", "true")
@plant("read_events", "or m.nth = 1", "")
@plant("read_events", "select s.last_seq, s.deleted_seq", "select s.head_seq, s.deleted_seq")
@plant("read_events_at_head", "read_events_at_head.max_bytes)", "1000000)")
@plant("read_events_at_head", "read_events_at_head.session_no,", "read_events_at_head.session_no + 1,")
def test_events_are_cut_like_pages_and_tell_their_sessions_last_event(log: SqlLog):
    log.begin("a")
    log.seqs(*(log.said("a", "x" * 100) for _ in range(5)))
    log.seqs(log.deleted("a"))
    size = len(log.said("a", "x" * 100)["bodies"])

    def seqs(count: int, size: int, *pieces: tuple[int, int]) -> list[int]:
        return [row["seq"] for row in events(log, 1, *pieces, after=1, count=count, size=size)]

    whole = (1, SEQ_MAX)
    assert seqs(2, 10**6, whole) == [2, 3]
    assert seqs(3, 10**6, (1, 3), whole) == [2, 3, 2]
    assert seqs(9, 2 * size, whole) == [2, 3]
    assert seqs(9, 1, whole) == [2]
    (row,) = events(log, 1, whole, after=7)
    assert (row["head_seq"], row["deleted_seq"], row["seq"]) == (7, 7, None)


@plant("read_log", "l.seq + 0 > read_log.after_seq", "l.seq + 0 >= read_log.after_seq")
@plant("read_log", "order by l.seq + 0\n", "order by l.session_no\n")
@plant("read_log", "limit read_log.max_count", "limit read_log.max_count + 1")
@plant("read_log", "e.bytes <= read_log.max_bytes", "true")
@plant("read_log", "or e.nth = 1", "")
@plant("read_log", "e on e.bytes <= read_log.max_bytes or e.nth = 1", "e on true where e.bytes <= read_log.max_bytes or e.nth = 1")
@plant("read_log", "where s.session_no = e.session_no", "where s.session_no = e.seq")
def test_the_log_is_read_in_order_over_all_sessions(log: SqlLog):
    assert [row["seq"] for row in log.call("read_log", after_seq=0, max_count=9, max_bytes=9)] == [None]
    log.begin("a", "b")
    log.seqs(log.said("a", "x" * 100), log.said("b", "x" * 100), log.said("a"))

    def read(after: int, count: int, size: int):
        rows = log.call("read_log", after_seq=after, max_count=count, max_bytes=size)
        assert {row["head_seq"] for row in rows} == {5}
        return [(row["seq"], row["session_id"], row["kind"]) for row in rows if row["seq"]]

    said = "message.appended"
    assert read(0, 9, 10**6)[:2] == [(1, "a", "session.created"), (2, "b", "session.created")]
    assert read(2, 9, 10**6) == [(3, "a", said), (4, "b", said), (5, "a", said)]
    assert read(2, 2, 10**6) == [(3, "a", said), (4, "b", said)]
    assert read(2, 9, 1) == [(3, "a", said)]
    assert read(5, 9, 1) == []


@plant("read_event", "l.seq + 0 = read_event.seq", "l.seq + 0 >= read_event.seq")
@plant("read_event", "l.body, l.meta", "l.meta, l.body")
def test_one_event_is_found_by_its_seq(log: SqlLog):
    log.begin("a", meta=b'{"m":1}')
    log.seqs(log.said("a", "hi", append_id="k", facts={"f": 1}), log.said("a"))
    event = log.one("read_event", seq=2)
    said = log.said("a", "hi")["bodies"]
    names = ("session_id", "kind", "append_id", "body", "meta", "facts")
    assert [event[name] for name in names] == ["a", "message.appended", "k", said, None, '{"f": 1}']
    assert log.one("read_event", seq=1)["meta"] == b'{"m":1}'
    assert log.call("read_event", seq=4) == []


@plant("read_changes", "l.seq + 0 > read_changes.after_seq", "l.seq + 0 >= read_changes.after_seq")
@plant(
    "read_changes",
    "_head - read_changes.after_seq > read_changes.max_count",
    "_head - read_changes.after_seq >= read_changes.max_count",
)
@plant("read_changes", "_head <= read_changes.after_seq", "_head < read_changes.after_seq")
@plant("read_changes", "distinct _head, l.session_no", "distinct _head, l.seq")
def test_who_missed_notices_is_told_which_sessions_to_look_at_or_to_look_at_all(log: SqlLog):
    log.begin("a", "b", "c")
    log.seqs(log.said("b"), log.said("c"), log.said("b"))

    def changed(after: int, count: int = 100) -> tuple[set[int], list[int | None]]:
        rows = log.call("read_changes", after_seq=after, max_count=count)
        return {row["head_seq"] for row in rows}, sorted((row["session_no"] for row in rows), key=str)

    assert changed(3) == ({6}, [2, 3])
    assert changed(5) == ({6}, [2])
    assert changed(6) == changed(99) == ({6}, [None])
    assert changed(3, 3) == ({6}, [2, 3])
    assert changed(3, 2) == ({6}, [None])


@plant("head_at", "l.seq <= head_at.up_to_seq", "l.seq < head_at.up_to_seq")
@plant("head_at", "and l.kind = 'message.appended'", "")
@plant("head_at", "order by l.seq desc", "order by l.seq")
@plant("head_at", "l.session_no = head_at.session_no", "true")
def test_the_head_at_a_seq_is_the_sessions_own_last_message_up_to_there(log: SqlLog):
    log.begin("a")
    log.seqs(log.said("a"), log.said("a"), log.recorded("a"))
    log.begin("b")
    log.seqs(log.said("b"))
    assert [log.one("head_at", session_no=1, up_to_seq=seq) for seq in (2, 3, 4, 99)] == [2, 3, 3, 3]
    assert log.call("head_at", session_no=1, up_to_seq=1) == [{"head_at": None}]


@plant("check_log", "g.seq <> g.before + 1", "false")
@plant("check_log", "min(g.before + 1)", "min(g.before)")
@plant("check_log", "count(*)", "max(l.seq)")
@plant("check_log", "max(l.seq)", "count(*)")
def test_a_hole_in_the_log_is_found(log: SqlLog):
    assert log.one("check_log") == {"events": 0, "head_seq": 0, "first_missing": None}
    log.begin("a")
    log.seqs(log.said("a"), log.said("a"), log.said("a"))
    assert log.one("check_log") == {"events": 4, "head_seq": 4, "first_missing": None}
    with log.connection.transaction(force_rollback=True):
        log.sql("set local session_replication_role = replica")
        log.sql("delete from {}.log where seq in (2, 3)")
        assert log.one("check_log") == {"events": 2, "head_seq": 4, "first_missing": 2}
