"""A cache of whole prompts: what LMCache's agent-trace plots measured, and no engine does.

A prompt's hit is its longest common token prefix with any prompt in the cache, and a use of
that prompt. Every prompt is then admitted; the cache holds so many tokens, and the prompts
used longest ago go, whole, until it fits. A prompt larger than the cache empties it and goes
itself.
"""

import numpy as np


def common_prefix(a, b):
    """Return how many leading tokens two prompts share."""
    length = min(len(a), len(b))
    differ = np.flatnonzero(a[:length] != b[:length])
    return int(differ[0]) if len(differ) else length


def hit_tokens(prompts, capacity_tokens):
    """Return the hit tokens of each prompt, in order, from an empty cache."""
    held = []  # used longest ago first
    hits = []
    for prompt in prompts:
        shared = [common_prefix(prompt, other) for other in held]
        hits.append(max(shared, default=0))
        if hits[-1]:
            held.append(held.pop(shared.index(hits[-1])))
        held.append(prompt)
        while sum(map(len, held)) > capacity_tokens:
            del held[0]
    return hits
