"""Limits on figures of a run."""

from dataclasses import replace

import pytest

from kvaudit.core.budgets import failure, judge, parse_fail_under
from kvaudit.core.errors import UsageError
from kvaudit.core.results import PrefixSummary, ReplayReport
from kvaudit.core.summaries import Bounds, LogSummary

LOG = LogSummary(
    files=[], format="x", records=1, skipped=0, skipped_reasons={}, broken=[], requests=1,
    span_s=None, tokenizer=None, chat_template=None, prompt_lengths=None, output_lengths=None,
)  # fmt: skip
PREFIX = PrefixSummary(
    requests=1, prompt_tokens=10, hit_tokens=6, hit_rate=0.6, block_hit_rate=None,
    mean_request_hit_rate=None, computed_tokens=4, evicted_blocks=None, peak_blocks=None,
    not_admitted=None, occupancy=None, definition="",
)  # fmt: skip
REPORT = ReplayReport(log=LOG, engine=None, prefix=PREFIX, ideal=None, reported=None)


def test_limits_are_shares_or_per_cent():
    assert parse_fail_under(["hit-rate=0.6"]) == {"hit-rate": 0.6}
    assert parse_fail_under(["hit-rate = 60%"]) == {"hit-rate": 0.6}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("hit-rate", "write it as NAME=LIMIT"),
        ("hitrate=0.5", "hitrate is not a figure; did you mean hit-rate"),
        ("hit-rate=most", "'most' is not a number"),
        ("hit-rate=60", "from 0 to 1"),
        ("hit-rate=nan", "from 0 to 1"),
        ("hit-rate=-0.1", "from 0 to 1"),
    ],
)
def test_a_wrong_limit_is_a_sentence(value, message):
    with pytest.raises(UsageError, match=message):
        parse_fail_under([value])


@pytest.mark.parametrize(("limit", "passed"), [(0.59, True), (0.6, True), (0.61, False)])
def test_the_limit_itself_is_enough(limit, passed):
    (budget,) = judge(REPORT, {"hit-rate": limit})
    assert (budget.value, budget.passed) == (0.6, passed)


def test_of_a_range_the_lower_end_counts():
    bounds = Bounds(low=0.5, high=0.9, definition="")
    report = replace(REPORT, prefix=replace(PREFIX, bounds=bounds))
    (budget,) = judge(report, {"hit-rate": 0.6})
    assert not budget.passed
    assert failure(budget) == "hit-rate is 0.5, below the 0.6 that was asked for"


@pytest.mark.parametrize(
    "report", [replace(REPORT, prefix=None), replace(REPORT, prefix=replace(PREFIX, hit_rate=None))]
)
def test_a_figure_that_is_missing_misses_its_budget(report):
    (budget,) = judge(report, {"hit-rate": 0.0})
    assert not budget.passed
    assert "has no value on this log" in failure(budget)
