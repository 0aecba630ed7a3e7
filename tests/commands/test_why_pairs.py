"""`kvaudit why` on logs with two faults planted: what both cost together is given to the two."""

import pytest
from test_why import called, computed, lost, made

from kvaudit.traffic.registry import all_faults

PLAN = {"requests": 100, "tenants": 2}


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    return made(tmp_path_factory.mktemp("sound") / "sound.jsonl", **PLAN)


@pytest.mark.parametrize(
    "faults",
    [
        # The clock's line is followed by a heading, and by tools in other bytes.
        ("clock-at-the-end", "json-key-order"),
        ("clock-at-the-end", "tool-order"),
        # What the user wrote begins with a block of the application's, which has a clock.
        ("environment-not-replayed", "user-text-first"),
        # Half of the requests of a conversation have all of it, in other words or not.
        ("history-rewritten", "history-trimmed"),
        ("environment-not-replayed", "history-trimmed"),
        # A kind of request that comes once with the user's words in front.
        ("history-rewritten", "user-text-first"),
    ],
)
def test_what_two_planted_faults_cost_is_named_by_their_causes(faults, sound, tmp_path, capsys):
    before = called(capsys, sound)
    log = made(tmp_path / "log.jsonl", *((fault, 0.5) for fault in faults), **PLAN)
    report = called(capsys, log)
    cost = min(computed(report) - computed(before), before["hit_tokens"] - report["hit_tokens"])
    found = lost(report)
    named = sum(found.get(all_faults()[fault].cause, 0) for fault in faults)
    assert named >= 0.95 * cost
    assert sum(found.values()) == named
