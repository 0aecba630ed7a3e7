"""Which groups are the parting of two prompts, and no fault: those cost nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kvaudit.analyzers.divergence.follow import Divergences
from kvaudit.analyzers.divergence.group import Group
from kvaudit.analyzers.divergence.verdict import CONTENT
from kvaudit.core.why import Cause

_RARE = 0.05
"""Share of the requests below which those of a group are the first of their prompts."""
_LITTLE = 0.01
"""Share of all prompt tokens that is not worth a word, where it is lost once."""
_ALIKE = 0.2
"""Share of what follows that is the same, in one piece, in two fillings of one prompt."""
_BY_CHANCE = 64
"""Tokens that two messages have in common once, and that say nothing of a template."""
_MOST_OF_A_TEMPLATE = 0.25
"""Share of the requests below which a line that passages go on with is a passage too."""
_BEHIND_ALL = 0.25
"""Share of what they begin with, below which what comes again behind a question is no template."""
_OF_TWO_PROMPTS = (
    Cause.IDENTITY,
    Cause.UNCLASSIFIED,
    Cause.SESSION_VALUE,
    Cause.LIVE_STATE,
    Cause.RETRIEVED_CONTEXT_FIRST,
)
_IN_PIECES = (Cause.UNCLASSIFIED, Cause.RETRIEVED_CONTEXT_FIRST)
"""Causes whose text may itself be made of what other requests have."""


def causes_of(found: Divergences) -> dict[int, Cause]:
    """Return the cause of every group by its number.

    Prompts of two tenants or applications may begin alike and name them; where little of what
    follows is the same, and hardly a request parts there, those are two prompts and no fault: each
    is computed once.
    """
    columns = found.columns()
    groups = columns["group"]
    named = groups >= 0
    roots = np.array([group.root.number for group in found.groups.all], np.int64)

    def of_each(values: NDArray[np.int64]) -> NDArray[np.float64]:
        sums = np.bincount(roots[groups[named]], values[named], len(roots))
        return sums.astype(np.float64)[roots]

    count, lost = of_each(np.ones_like(groups)), of_each(columns["lost"])
    shared = of_each(columns["shared"])
    behind = of_each(columns["prompt"]) - shared
    onward, longest = of_each(columns["onward"]), of_each(columns["longest"])
    between = of_each(np.where(columns["resumes"] < 0, columns["prompt"], columns["resumes"]))
    little = _LITTLE * columns["prompt"].sum()
    causes = {}
    for group in found.groups.all:
        n, share = group.number, count[group.number] / len(groups)
        rare = share <= _RARE and group.position in ("tools", "system")
        alike = longest if group.cause in _IN_PIECES else onward
        apart = rare and (
            # A tenant's name is computed once a tenant, however much of its prompt is common.
            (group.cause is Cause.IDENTITY and lost[n] < little)
            # Where two prompts have phrases in common, these come late and in pieces.
            or (
                group.cause in _OF_TWO_PROMPTS
                and not _says_so(group)
                and alike[n] < max(_ALIKE * behind[n], between[n])
            )
        )
        # Passages in front of a question go on alike where two were found together, and two
        # questions may have a sentence in common.
        passages = group.comes_again and not group.certain and share < _MOST_OF_A_TEMPLATE
        once = count[n] == 1 and lost[n] < _BY_CHANCE and group.position == "newest"
        phrases = share < _MOST_OF_A_TEMPLATE and lost[n] < _BEHIND_ALL * shared[n]
        apart = apart or passages or once or (phrases and _may_be_phrases(group))
        causes[n] = Cause.FIRST_SEEN if apart else group.cause
    return causes


def _says_so(group: Group) -> bool:
    """Whether passages that differ are marked as such, in whatever pieces they come again."""
    cause = group.cause
    return cause is Cause.RETRIEVED_CONTEXT_FIRST and group.is_sure(cause)


def _may_be_phrases(group: Group) -> bool:
    """Whether a prompt is one text, and may hold phrases of answers that come again in others.

    What users ask stands there behind what all requests begin with.
    """
    return group.one_text and group.cause in (*CONTENT, Cause.UNCLASSIFIED)
