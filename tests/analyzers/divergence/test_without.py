"""Where a text ends that some prompts have and others do not."""

import numpy as np

from kvaudit.analyzers.divergence.without import Without

HEAD, RULES, END = [1, 2, 3], list(range(100, 140)), 9


def units(*parts):
    return np.array([token for part in parts for token in part], np.int32)


def test_a_text_ends_where_most_prompts_without_one_go_on():
    without = Without()
    for question in ([50], [51], [52]):
        without.add(units(HEAD, RULES, question), len(HEAD))
    without.add(units(HEAD, [7] * 40), len(HEAD))
    passage = [*range(60, 80), END]
    own = len(HEAD) + len(passage)
    assert without.end(units(HEAD, passage, RULES, [53]), len(HEAD)) == own
    assert without.end(units(HEAD, passage, passage, RULES), len(HEAD)) == own + len(passage)


def test_nothing_is_known_of_other_beginnings_and_of_what_goes_on_otherwise():
    without = Without()
    without.add(units(HEAD, RULES), len(HEAD))
    without.add(units([4], RULES[:15]), 1)
    assert without.end(units([1, 2, 4], [60] * 20, RULES), len(HEAD)) is None
    assert without.end(units(HEAD, [60] * 60), len(HEAD)) is None
    assert without.end(units([4], [60], RULES), 1) is None, "too short to be told from chance"


def test_each_application_goes_on_in_its_own_way():
    without, others = Without(), list(range(200, 240))
    for rules in (RULES, RULES, others):
        without.add(units(HEAD, rules), len(HEAD))
    for rules in (RULES, others):
        assert without.end(units(HEAD, [60] * 20, rules), len(HEAD)) == len(HEAD) + 20
