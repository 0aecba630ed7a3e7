"""What is said of two requests that part: the cause, and the text that is to blame."""

from __future__ import annotations

from typing import NamedTuple

from kvaudit.analyzers.divergence.parting import Parting
from kvaudit.analyzers.divergence.slots import Slot
from kvaudit.core.requests import Request
from kvaudit.core.why import Cause

CONTENT = (Cause.USER_TEXT_FIRST, Cause.RETRIEVED_CONTEXT_FIRST)
"""Causes of running text that is new with every request."""
TEXTS = (*CONTENT, Cause.LIVE_STATE, Cause.UNCLASSIFIED)
"""Causes that running text may have; of a pair alone it is often not known which."""


class Anchors(NamedTuple):
    """The lines around a differing text of several lines; either may be empty."""

    before: str
    after: str


class Verdict(NamedTuple):
    """What a pair of requests shows."""

    cause: Cause
    slot: Slot | None
    """The line they part in, where it is a line of text."""
    title: str = ""
    """What stands for the template where no line does."""
    position: str = ""
    """Where it belongs, if elsewhere than where the two part."""
    anchors: Anchors | None = None
    """Where the differing text is running text, and its line says nothing."""
    fixed: str = ""
    """A line behind the slot that is a template's only if the group's other pairs have it too."""
    sure: bool = True
    """Whether the pair alone shows the cause; otherwise the group's other pairs decide."""


class Pair(NamedTuple):
    """Two requests that part, and how they belong together."""

    later: Request
    earlier: Request
    parting: Parting
    same_session: bool
