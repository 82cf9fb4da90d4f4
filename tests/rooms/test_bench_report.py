"""What a bench says of its figures: ratios round by round, targets met or not, a table and JSON that agree."""

import json

import pytest

from bench.report import HEADINGS, Row, Sample, Target, exit_code, percentile, table, verdict
from bench.rounds import Plan, alternate


def row(values, limits, target=None, **more):
    samples = [Sample(value, *more.get("cpu", ())) for value in values]
    return Row("append", "committer", "/s", samples, "plain INSERTs", [Sample(limit) for limit in limits], target)


def test_a_ratio_is_taken_within_a_round_so_that_a_slow_minute_slows_both():
    drifting = row([300, 30, 3], [100, 10, 1])
    assert drifting.ratio == 3
    assert drifting.ratios == [3, 3, 3]


def test_the_median_round_counts():
    assert row([2, 3, 90], [1, 1, 1]).ratio == 3


@pytest.mark.parametrize(
    ("side", "ratio", "is_met"),
    [("at least", 3.0, True), ("at least", 2.99, False), ("at most", 3.0, True), ("at most", 3.01, False)],
)
def test_a_target_is_met_at_its_border_and_not_one_step_past_it(side, ratio, is_met):
    assert row([ratio], [1], Target(side, 3)).is_met is is_met


def test_a_row_without_a_target_is_neither_met_nor_missed():
    assert row([1], [1]).is_met is None
    assert exit_code([row([1], [1])], is_strict=True) == 0


def test_only_a_strict_run_fails_for_a_missed_target():
    missed = row([2], [1], Target("at least", 3))
    assert exit_code([missed], is_strict=False) == 0
    assert exit_code([missed], is_strict=True) == 1
    assert exit_code([row([3], [1], Target("at least", 3))], is_strict=True) == 0


def test_rounds_that_do_not_pair_are_refused():
    with pytest.raises(AssertionError):
        row([1, 2], [1])
    with pytest.raises(AssertionError):
        row([], [])


def test_the_table_is_aligned_markdown_with_a_line_a_row():
    rows = [row([3000, 2000], [1000, 1000], Target("at least", 3), cpu=(12.34, None)), row([0.5], [2])]
    lines = table(rows).splitlines()
    assert len(lines) == 2 + len(rows)
    assert {line.count(" | ") for line in lines} == {len(HEADINGS) - 1}
    assert len({len(line) for line in lines}) == 1
    assert "2500 (2000–3000) /s" in lines[2]
    assert "2.50 (2.00–3.00)" in lines[2]
    assert "≥ 3" in lines[2]
    assert "**no**" in lines[2]
    assert "12.3 + ?" in lines[2]


def test_the_verdict_counts_targets_and_names_the_missed_ones():
    met, missed, known = row([3], [1], Target("at least", 3)), row([2], [1], Target("at least", 3)), row([1], [1])
    assert verdict([met, known]) == "1 of 1 targets met"
    assert verdict([met, missed]) == "1 of 2 targets met: not append: committer (2.00, target ≥ 3)"


def test_json_holds_what_the_table_shows():
    told = json.loads(json.dumps(row([30, 20, 40], [10, 10, 10], Target("at most", 4), cpu=(7.0, 8.0)).as_json()))
    assert (told["median"], told["min"], told["max"], told["rounds"]) == (30, 20, 40, 3)
    assert (told["ratio"], told["ratio_min"], told["ratio_max"]) == (3, 2, 4)
    assert told["target"] == {"side": "at most", "ratio": 4}
    assert told["met"] is True
    assert told["cpu_us"] == {"program": 7, "database": 8}


def test_a_percentile_is_one_of_the_values():
    values = [5.0, 1.0, 4.0, 2.0, 3.0]
    assert [percentile(values, share) for share in (0, 0.5, 0.99, 1)] == [1, 3, 5, 5]


async def test_measures_alternate_and_each_begins_a_round_in_its_turn():
    order = []

    def measure(name):
        async def one(duration_s):
            order.append(name)
            return Sample(len(order))

        return one

    samples = await alternate(Plan(rounds=2, is_quick=True), 1.0, {name: measure(name) for name in "ab"})
    assert "".join(order) == "ab" + "ab" + "ba"
    assert {name: len(values) for name, values in samples.items()} == {"a": 2, "b": 2}


def test_a_machine_too_busy_for_every_round_does_two_of_them():
    assert list(Plan(rounds=5, is_quick=False).turns(60.0)) == [0, 1, 2, 3, 4]
    assert list(Plan(rounds=5, is_quick=False).turns(-1.0)) == [0, 1]
    assert list(Plan(rounds=1, is_quick=False).turns(-1.0)) == [0]
