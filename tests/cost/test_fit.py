"""Lines through measured times: found again where they are there, refused where they are not."""

import numpy as np
import pytest

from kvaudit.cost.fit import FEWEST, fit_line, relative_errors

FLOPS = np.linspace(1e12, 5e13, 200)


def test_a_line_is_found_again():
    line = fit_line(FLOPS, 0.08 + FLOPS / 2e14)
    assert line is not None
    assert line.constant_s == pytest.approx(0.08)
    assert 1 / line.s_per_flop == pytest.approx(2e14)


def test_a_few_that_waited_long_do_not_move_it():
    seconds = 0.08 + FLOPS / 2e14
    seconds[::10] += 30
    line = fit_line(FLOPS, seconds)
    assert line is not None
    assert line.constant_s == pytest.approx(0.08, rel=0.01)
    assert 1 / line.s_per_flop == pytest.approx(2e14, rel=0.01)
    errors = relative_errors(line.seconds(FLOPS), seconds)
    assert errors.median < 0.01
    assert errors.p90 < 0.02


def test_a_constant_is_never_negative():
    line = fit_line(FLOPS, (FLOPS / 2e14) ** 2)
    assert line is not None
    assert line.constant_s == 0


@pytest.mark.parametrize(
    ("flops", "seconds"),
    [
        (FLOPS[: FEWEST - 1], 0.1 + FLOPS[: FEWEST - 1] / 1e14),
        (np.full(50, 1e13), np.linspace(0.1, 0.2, 50)),
        (FLOPS, 1 - FLOPS / 1e14),
    ],
)
def test_where_there_is_no_line(flops, seconds):
    assert fit_line(flops, seconds) is None


def test_errors_are_shares_of_what_was_measured():
    errors = relative_errors(np.array([1.0, 2.0, 3.0, 40.0]), np.array([1.0, 1.0, 2.0, 4.0]))
    assert errors == (0.5, 9.0)
