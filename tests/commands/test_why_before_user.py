"""A value in a line of its own in front of what the user asks: two faults, and which is which."""

from random import Random
from uuid import UUID

import pytest
from test_why import called, lost, written

from kvaudit.core.why import Cause

RULES = "\n".join(f"{n}. Box {n * 7} is checked by the team, and then counted." for n in range(60))
ASKED = ("Where was box {} seen last, and by whom?", "Why did nobody count box {} today?")


def log(kind, *faults, value=0.4, asked=0.4):
    """Half of the requests have the value, half have the question in front; some have both."""
    shares = {"value": value, "asked": asked}
    for n in range(80):
        put = {f for f in faults if Random(f"{f} {n}").random() < shares[f]}
        question = ASKED[n % 2].format(n * 31 % 997)
        line = {
            "id": f"Request ID: {UUID(int=Random(n).getrandbits(128), version=4)}\n",
            "count": f"Request number: {n + 1}\n",
            "name": f"Name of the user: {('Ann Lee', 'Bo Rossi', 'Cem Kaya', 'Di Novak')[n % 4]}\n",
            "date": f"Today is March {2 + n // 20}, 2026\n",
        }[kind]
        task = f"Task: {question}\n\n" if "asked" in put else ""
        system = f"{line if 'value' in put else ''}{task}{RULES}"
        yield {"id": str(n), "session": f"s{n // 2}", "messages": [
            {"role": "system", "content": system}, {"role": "user", "content": question},
        ]}  # fmt: skip


CAUSES = {
    "id": Cause.RANDOM_ID,
    "count": Cause.COUNTER,
    "name": Cause.IDENTITY,
    "date": Cause.CALENDAR_DATE,
}


@pytest.mark.parametrize(
    ("kind", "shares"),
    [
        ("id", {"value": 1.0}),
        ("count", {}),
        ("name", {}),
        # Behind every date another question stands: no two lines are followed by one text.
        ("date", {"asked": 1.0}),
    ],
)
def test_the_fix_of_each_leaves_what_the_log_with_the_other_has(kind, shares, tmp_path, capsys):
    report, *twins = (
        called(capsys, written(tmp_path / f"{n}.jsonl", log(kind, *faults, **shares)), *options)
        for n, (faults, *options) in enumerate(
            (
                (("value", "asked"), "--what-if", "all"),
                (("asked",), "--what-if", "none"),
                (("value",), "--what-if", "none"),
                ((), "--what-if", "none"),
            )
        )
    )
    assert set(lost(report)) <= {CAUSES[kind], Cause.USER_TEXT_FIRST}
    for cause, twin in zip((CAUSES[kind], Cause.USER_TEXT_FIRST), twins, strict=False):
        # What stands behind an id in every request is not seen before that is moved.
        group = next((g for g in report["groups"] if g["cause"] == cause), None)
        assert group is not None or (cause is Cause.USER_TEXT_FIRST and kind == "id")
        if group is not None:
            after = group["what_if"]["hit_rate_after"]
            assert after == pytest.approx(twin["hit_rate"], abs=0.02), cause
    both = report["groups"][0]["next"]["what_if"]["hit_rate_after"]
    assert both == pytest.approx(twins[2]["hit_rate"], abs=0.02)
