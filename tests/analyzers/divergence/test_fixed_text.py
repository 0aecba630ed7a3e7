"""Fixed text behind passages that come again, each time in other company."""

import random

import numpy as np
import pytest

from kvaudit.analyzers.divergence.fixed_text import FixedText

HEAD = list(range(10))
RULES = list(range(100, 180))
PASSAGES = [list(range(1000 * n, 1000 * n + 60)) for n in range(1, 9)]


class Log:
    """Prompts by place, as `Relatives` has them."""

    def __init__(self, prompts):
        self.prompts = [np.array(units, np.int32) for units in prompts]

    def prompt(self, place):
        return self.prompts[place]


def fixed_text(prompts):
    shared = np.full(len(prompts), len(HEAD), np.int64)
    return FixedText(Log(prompts), np.arange(len(prompts)), {"shared": shared})


def asked(number, rules):
    """Two passages, then the rules and a question of its own."""
    found = random.Random(number).sample(PASSAGES, 2)
    own = [50_000 + 100 * number + n for n in range(30)]
    return [*HEAD, *found[0], *found[1], *rules, *own]


def test_rules_behind_passages_are_found_from_beginning_to_end():
    text = fixed_text([asked(n, RULES) for n in range(40)])
    begin = len(HEAD) + 2 * len(PASSAGES[0])
    for place in range(40):
        assert text.begin(place, len(HEAD), -1) == begin
        assert text.end(place, begin) == begin + len(RULES)


def test_passages_alone_are_not_fixed_however_often_they_come_again():
    text = fixed_text([asked(n, []) for n in range(40)])
    fixed = [text.of(place, len(HEAD)) for place in range(40)]
    most = len(HEAD) + len(PASSAGES[0])
    assert all(found is None or found.units.sum() < most for found in fixed)


@pytest.mark.parametrize("others", [0, 1])
def test_nothing_is_known_of_a_request_that_stands_nearly_alone(others):
    text = fixed_text([asked(n, RULES) for n in range(1 + others)])
    assert text.of(0, len(HEAD)) is None
    assert text.begin(0, len(HEAD), 77) == 77


def test_tenants_with_rules_of_their_own_are_told_apart():
    # Longer than a passage, by which requests of two tenants look alike.
    rules = [list(range(10_000 * n, 10_000 * n + 300)) for n in (2, 3)]
    text = fixed_text([asked(n, rules[n % 2]) for n in range(40)])
    begin = len(HEAD) + 2 * len(PASSAGES[0])
    assert [text.begin(place, len(HEAD), -1) for place in range(40)] == [begin] * 40


def test_a_value_near_the_beginning_does_not_end_the_rules():
    def prompt(n):
        return [*asked(n, [])[: len(HEAD) + 120], *range(900, 910), 7000 + n, *RULES]

    text = fixed_text([prompt(n) for n in range(40)])
    begin = len(HEAD) + 120
    assert text.end(3, begin) == begin + 11 + len(RULES)


def test_rules_are_found_in_front_of_a_history_that_is_longer():
    history = [list(range(60_000 + 200 * n, 60_000 + 200 * n + 190)) for n in range(40)]
    text = fixed_text([[*asked(n, RULES), *history[n], *range(190, 210)] for n in range(40)])
    begin = len(HEAD) + 2 * len(PASSAGES[0])
    assert [text.begin(place, len(HEAD), -1) for place in range(40)] == [begin] * 40
