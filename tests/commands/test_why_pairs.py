"""`kvaudit why` on logs with two faults planted: what both cost together is given to the two."""

from random import Random

import pytest
from test_why import called, computed, lost, made, written

from kvaudit.core.why import Cause
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


def test_values_of_two_faults_in_chinese_stand_in_lines_of_their_own(tmp_path, capsys):
    rules = "\n".join(f"{n}. 仓库里的第{n * 7}个箱子由值班人员检查，然后登记。" for n in range(60))

    def log(*faults):
        for n in range(60):
            lines = {
                "count": f"第{n + 1}次请求\n",
                "place": f"工作目录：/tmp/work-{n * 7919:08x}\n",
            }
            head = "".join(lines[f] for f in faults if Random(f"{f} {n}").random() < 0.4)
            yield {"id": str(n), "messages": [
                {"role": "system", "content": f"{head}{rules}"},
                {"role": "user", "content": f"第{n * 31 % 97}个箱子在哪里？"},
            ]}  # fmt: skip

    report, without, sound = (
        called(capsys, written(tmp_path / f"{n}.jsonl", log(*faults)))
        for n, faults in enumerate((("count", "place"), ("place",), ()))
    )
    cost = sound["hit_tokens"] - report["hit_tokens"]
    found = lost(report)
    assert set(found) == {Cause.COUNTER, Cause.SESSION_VALUE}
    assert sum(found.values()) == pytest.approx(cost, rel=0.05)
    fixed = next(g["what_if"] for g in report["groups"] if g["cause"] == Cause.COUNTER)
    assert fixed["hit_rate_after"] == pytest.approx(without["hit_rate"], abs=0.02)


def test_a_line_that_few_requests_have_is_moved_without_the_one_behind_it(tmp_path, capsys):
    """Of a date, a request's relative has none; the name behind it is another fault."""
    rules = "\n".join(
        f"{n}. Box {n * 7} is checked by the team, and then counted." for n in range(60)
    )

    def log(*faults):
        for n in range(120):
            session, people = (
                n // 4,
                ("Anna", "Eva", "Ken", "Ines", "Omar", "Sofia", "Hugo", "Tara"),
            )
            person = Random(f"person {session}").choice(people)
            lines = {
                "date": f"Today is March {2 + n // 30}, 2026\n",
                "name": f"User name: {person}\n",
            }
            dated = Random(f"dated {n}").random() < 0.3
            head = "".join(lines[fault] for fault in faults if dated or fault == "name")
            text = f"{head}{rules}\n\nWhere is box {n * 31 % 97}, and who has it?"
            yield {"id": str(n), "session": f"s{session}", "prompt": text}

    report, without = (
        called(capsys, written(tmp_path / f"{n}.jsonl", log(*faults)), "--what-if", "all")
        for n, faults in enumerate((("date", "name"), ("name",)))
    )
    fixed = next(g["what_if"] for g in report["groups"] if g["cause"] == Cause.CALENDAR_DATE)
    assert fixed["hit_rate_after"] == pytest.approx(without["hit_rate"], abs=0.005)
