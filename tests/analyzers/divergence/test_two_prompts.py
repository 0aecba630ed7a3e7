"""What comes again behind a question is a template's, or a phrase that some answers have."""

from types import SimpleNamespace

import numpy as np
import pytest

from kvaudit.analyzers.divergence.groups import Groups
from kvaudit.analyzers.divergence.slots import Slot
from kvaudit.analyzers.divergence.two_prompts import causes_of
from kvaudit.analyzers.divergence.verdict import Verdict
from kvaudit.core.why import Cause

REQUESTS = 100


def log(parted, *, shared, lost, one_text):
    """Requests of which some part behind ``shared`` tokens, at a question in other words."""
    groups = Groups()
    for n in range(parted):
        slot = Slot("Q: ", f"What of {n}?", f"Which of {n}?", "", 0)
        groups.add(Verdict(Cause.UNCLASSIFIED, slot, sure=False), "system", None, first=False)
    groups.all[0].one_text = one_text
    own = np.arange(REQUESTS) < parted
    amounts = {"prompt": shared + 100, "shared": shared, "lost": lost, "onward": lost}
    columns = {name: np.where(own, tokens, 0) for name, tokens in amounts.items()}
    columns |= {"longest": columns["lost"], "resumes": np.full(REQUESTS, 10)}
    columns["prompt"] = np.full(REQUESTS, shared + 100)
    columns["group"] = np.where(own, 0, -1)
    return SimpleNamespace(groups=groups, columns=lambda: columns)


@pytest.mark.parametrize(
    ("parted", "shared", "one_text", "fault"),
    [
        (8, 600, True, False),
        (8, 600, False, True),  # where messages are known, it stands in the instructions
        (8, 100, True, True),  # most of what these have stands behind it
        (50, 600, True, True),  # so does what is asked of every other request
    ],
)
def test_a_phrase_that_few_prompts_have_behind_their_question(parted, shared, one_text, fault):
    found = log(parted, shared=shared, lost=60, one_text=one_text)
    assert (causes_of(found)[0] != Cause.FIRST_SEEN) is fault
