"""How often a value changes, from the values that requests of a log had of it."""

import pytest

from kvaudit.analyzers.location.levels import Met, level_of
from kvaudit.core.document import Volatility


def met(value, requests=120):
    """Five days of requests: three tenants, sessions of four requests."""
    return [
        Met(
            value=value(n),
            day=n // 24,
            owner=("tenant", n // 4 % 3),
            session=n // 4,
        )
        for n in range(requests)
    ]


@pytest.mark.parametrize(
    ("value", "level"),
    [
        (lambda n: "shop", Volatility.CONSTANT),
        (lambda n: n // 60, Volatility.DEPLOY),
        (lambda n: f"day {n // 24}", Volatility.DAY),
        (lambda n: f"tier {n // 4 % 3 % 2}", Volatility.IDENTITY),
        (lambda n: f"folder {n // 4}", Volatility.SESSION),
        (lambda n: f"mood {n // 4 % 5}", Volatility.SESSION),
        (lambda n: f"step {n % 4}", Volatility.TURN),
        (lambda n: n, Volatility.REQUEST),
    ],
)
def test_the_steadiest_level_that_explains_all_values(value, level):
    assert level_of(met(value)) is level


def test_one_exception_is_enough_to_say_that_a_value_does_not_follow():
    values = met(lambda n: f"tier {n // 4 % 3 % 2}")
    values[50] = Met("other", values[50].day, values[50].owner, values[50].session)
    assert level_of(values) is Volatility.TURN


def test_few_values_say_nothing():
    assert level_of(met(lambda n: "shop", requests=9)) is None


def test_what_is_not_known_of_requests_is_no_reason():
    unknown = [Met(n % 7, None, None, None) for n in range(70)]
    assert level_of(unknown) is Volatility.TURN
    # One tenant, one day: that the value follows either cannot be seen.
    one = [Met(n // 35, 1, "a", n // 5) for n in range(70)]
    assert level_of(one) is Volatility.DEPLOY
