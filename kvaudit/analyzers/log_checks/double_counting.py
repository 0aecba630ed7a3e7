"""Cached tokens left out of the prompt tokens, or added to them once more.

Sources differ in whether the prompt includes what was cached (formats.md, "Prompt tokens and cached
tokens, per source"). Which one a log does shows against the tokens of its texts.
"""

from __future__ import annotations

import numpy as np

from kvaudit.analyzers.log_checks.facts import UNKNOWN, LogFacts, Modelled
from kvaudit.core.why import LogCheck

_LEAST_ROWS = 10
_NEAR, _FAR = 0.1, 0.2
"""Of the tokens of the text: as near as the other reading must be, and as far as the plain one."""
_MOST = 0.8
"""Share of the rows with cached tokens that must agree."""


def check(log: LogFacts, modelled: Modelled | None) -> LogCheck | None:
    """Compare the log's counts with the tokens of its texts, scaled by the rows without hits."""
    if modelled is None or len(modelled.counted) != len(log):
        return None
    known = (log.prompt_tokens > 0) & (modelled.counted > 0) & (log.cached_tokens != UNKNOWN)
    rows = known & (log.cached_tokens > 0)
    if rows.sum() < _LEAST_ROWS:
        return None
    # Another vocabulary, or text that is not logged, counts alike in the rows without hits.
    plain = known & (log.cached_tokens == 0)
    scale = 1.0
    if plain.sum() >= _LEAST_ROWS:
        scale = float(np.median(log.prompt_tokens[plain] / modelled.counted[plain]))
    expected = scale * modelled.counted[rows]
    prompt, cached = log.prompt_tokens[rows], log.cached_tokens[rows]
    written = np.maximum(log.written[rows], 0)
    far = np.abs(prompt - expected) > _FAR * expected
    without = far & (
        (np.abs(prompt + cached - expected) < _NEAR * expected)
        | (np.abs(prompt + cached + written - expected) < _NEAR * expected)
    )
    twice = far & (np.abs(prompt - cached - expected) < _NEAR * expected)
    for name, votes, text in (
        ("prompt-without-cached", without, _WITHOUT),
        ("cached-counted-twice", twice, _TWICE),
    ):
        if votes.mean() >= _MOST:
            return LogCheck(check=name, count=int(votes.sum()), message=text)
    return None


_WITHOUT = (
    "the prompt tokens are logged without the cached ones: against the text both together are "
    "right; the log's own hit rate is too high, and cached may exceed the prompt"
)
_TWICE = (
    "the cached tokens are counted twice: against the text the prompt tokens are too many by just "
    "these; the log's own hit rate is too low"
)
