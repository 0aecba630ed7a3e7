"""Which names are names of prompts, in languages that write them in camel case.

The words are those of all sources; functions here are also called by what they give alone,
such as ``env`` or ``searchContext``.
"""

from __future__ import annotations

import re
from functools import lru_cache

from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.source.prompt_names import Called
from kvaudit.analyzers.source.prompt_names import called as called_anywhere

_TURN = re.compile(
    r"(^|_)((per_)?turns?|dynamic)_(system_)?(context|preamble|header|prompt|block|env\w*)($|_)|(^|_)reminder"
)
"""Texts that go with the newest turn."""
_BARE_CONTEXT = re.compile(r"(\w+_)?(context|env(ironment)?(_(block|info))?)")
"""Not the details of an environment: agents send them with the newest turn, and keep it."""


@lru_cache(maxsize=8192)
def called(name: str) -> Called | None:
    """Return what a function's, variable's or constant's name says; None for no prompt."""
    spelled = snake_case(name)
    if _TURN.search(spelled):
        return Called.USER
    known = called_anywhere(name)
    if known is None and len(spelled) <= 40 and _BARE_CONTEXT.fullmatch(spelled):
        return Called.CONTEXT
    return known
