"""What a fix is said to bring while another fault stands, against the traffic with that alone.

A sample of all pairs, one or two of each kind: two values in front of the instructions, a value
and content, a value and what rewrites, and two that rewrite.
"""

import pytest
from test_why import called, lost, made

from kvaudit.traffic.registry import all_faults

PLAN = {"requests": 60, "tenants": 2}
DAYS = {"requests": 100, "tenants": 2, "session_gap_s": 6000.0}
"""Days enough for dates to change, and dates that part none but requests without one."""
SHARE = 0.5
PAIRS = [
    ("counter", "identity"),
    ("live-state", "random-id"),
    ("retrieved-context-first", "sub-day-clock"),
    ("identity", "tool-set"),
    ("calendar-date", "identity"),
    ("environment-not-replayed", "history-rewritten"),
    ("history-rewritten", "history-trimmed"),
    ("clock-at-the-end", "history-trimmed"),
]
ALL_THERE_IS = [("retrieved-context-first", "sub-day-clock"), ("identity", "tool-set")]
"""Pairs of which nothing is left to be named once the costlier fault is fixed."""
RATES = {}


def rate(tmp_path, capsys, plan, *faults):
    if (str(plan), faults) not in RATES:
        path = made(tmp_path / "twin.jsonl", *((fault, SHARE) for fault in faults), **plan)
        RATES[str(plan), faults] = called(capsys, path, "--what-if", "none")["hit_rate"]
    return RATES[str(plan), faults]


@pytest.mark.parametrize("pair", PAIRS, ids="+".join)
def test_a_fix_leaves_what_the_log_with_the_other_fault_has(pair, tmp_path, capsys):
    plan = DAYS if "calendar-date" in pair else PLAN
    path = made(tmp_path / "both.jsonl", *((fault, SHARE) for fault in pair), **plan)
    report = called(capsys, path, "--what-if", "all")
    causes = {fault: all_faults()[fault].cause for fault in pair}
    found = lost(report)
    assert sum(found.get(cause, 0) for cause in causes.values()) >= 0.95 * sum(found.values())
    for fault, other in (pair, pair[::-1]):
        group = next(g for g in report["groups"] if g["cause"] == causes[fault])
        after = group["what_if"]["hit_rate_after"]
        assert after == pytest.approx(rate(tmp_path, capsys, plan, other), abs=0.02), fault
    following = report["groups"][0]["next"]
    assert (following is None) is (pair in ALL_THERE_IS)
    if following is not None:
        after = following["what_if"]["hit_rate_after"]
        assert after == pytest.approx(rate(tmp_path, capsys, plan), abs=0.02)
