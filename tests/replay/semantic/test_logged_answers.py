"""Logged answers as a proxy: rho from exact repeats, its alarms, and hard differences."""

import numpy as np
import pytest

from kvaudit.replay.semantic.answers import FEWEST_REPEATS, judge_answers
from kvaudit.replay.semantic.gather import Asked
from kvaudit.replay.semantic.reference import empty
from kvaudit.replay.semantic.verdict import RIGHT, UNKNOWN, WRONG

VECTORS = {"refunds": [1.0, 0.0], "refunds are": [0.96, 0.28], "delivery": [0.0, 1.0]}
"""Cosine 0.96 between the first two, which say the same; what follows them is ignored."""


def encode(answers):
    found = []
    for answer in answers:
        key = next(k for k in sorted(VECTORS, key=len, reverse=True) if answer.startswith(k))
        found.append(VECTORS[key])
    return np.array(found, np.float32)


def asked(rows, temperature=None):
    return [
        Asked(
            number=i, id=str(i), text=text, key=(), arrived_s=None, finished_s=None,
            storable=True, tenant=None, answer_group=None, response=response, looked_up=True,
            cosine=0.9, parameters=(None, None, temperature),
        )
        for i, (text, response) in enumerate(rows)
    ]  # fmt: skip


def served(count, pairs):
    found = empty(count)
    for request, donor in pairs.items():
        found.donors[request] = donor
    return found


# One question again and again, answered in two wordings in turn.
REPEATS = [("how do refunds work", "Refunds" if n % 2 else "Refunds are") for n in range(30)]


@pytest.mark.parametrize(
    ("own", "donor", "verdict"),
    [
        ("refunds", "Refunds ", RIGHT),
        ("refunds", "refunds are", RIGHT),
        ("refunds", "delivery", WRONG),
        ("refunds cost 5 euros", "refunds cost 6 euros", WRONG),
        ("refunds", None, UNKNOWN),
    ],
)
def test_answers_that_repeats_vary_like_are_the_same(own, donor, verdict):
    log = asked([*REPEATS, ("a", donor), ("b", own)])
    each, proxy = judge_answers(log, served(len(log), {31: 30}), encode)
    assert each[31] == verdict
    assert (each[:31] == UNKNOWN).all()
    assert proxy.rho == pytest.approx(0.96)
    assert (proxy.repeats, proxy.alarm_rate) == (29, 0.0)
    assert proxy.supports(0.0)


def test_alarms_are_counted_on_the_repeats_themselves():
    # Two of thirty answers are about something else: rho is below them, and what has other
    # numbers alarms whatever rho is.
    rows = list(REPEATS)
    rows[10] = ("how do refunds work", "refunds cost 5 euros")
    log = asked([*rows, ("a", "refunds"), ("b", "refunds are")])
    each, proxy = judge_answers(log, served(len(log), {31: 30}), encode)
    assert each[31] == RIGHT
    assert proxy.alarm_rate == pytest.approx(2 / 29)
    assert not proxy.supports(0.05)
    assert proxy.supports(0.1)


def test_too_few_repeats_support_nothing():
    log = asked([*REPEATS[:FEWEST_REPEATS], ("a", "refunds"), ("b", "refunds are")])
    last = len(log) - 1
    each, proxy = judge_answers(log, served(len(log), {last: last - 1}), encode)
    assert each[last] == WRONG  # nothing says that two wordings may be one answer
    assert (proxy.rho, proxy.alarm_rate) == (None, None)
    assert not proxy.supports(1.0)


def test_greedy_decoding_repeats_itself_and_measures_nothing():
    log = asked(REPEATS, temperature=b"0.0")
    assert judge_answers(log, served(len(log), {}), encode)[1].repeats == 0


def test_random_pairs_say_how_often_it_sees_a_difference():
    rows = [("q1", "refunds"), ("q2", "delivery")] * 20
    _, proxy = judge_answers(asked(rows), served(40, {}), encode)
    assert proxy.sensitivity == 1.0
    assert proxy.random_pairs > 100
