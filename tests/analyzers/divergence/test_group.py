"""What a group of pairs is, from all of them."""

import pytest

from kvaudit.analyzers.divergence.groups import Groups
from kvaudit.analyzers.divergence.slots import Slot
from kvaudit.analyzers.divergence.verdict import Anchors, Verdict
from kvaudit.core.why import Cause


@pytest.mark.parametrize(
    ("texts", "cause"), [(2, Cause.UNCLASSIFIED), (4, Cause.RETRIEVED_CONTEXT_FIRST)]
)
def test_one_of_two_texts_is_an_agents_and_nothing_that_was_looked_up(texts, cause):
    groups = Groups()
    for n in range(8):
        other = f"Text {'abcd'[(n + 1) % texts]}." if n % 2 else ""
        slot = Slot("", f"Text {'abcd'[n % texts]}.", other, "", 0)
        verdict = Verdict(Cause.LIVE_STATE, slot, anchors=Anchors("", "Go on."), sure=False)
        groups.add(verdict, "system", None, first=False)
    groups.all[0].recurs(40, 40)  # all of it was met in other requests
    assert groups.all[0].cause is cause
