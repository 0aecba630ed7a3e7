"""What the policy of a semantic cache lets through, whoever holds it: a product, or own code.

A threshold is judged as a cosine, on the scale that the product measures on; what a product adds by
itself counts as said.
"""

from __future__ import annotations

import re

_IN_CODE = re.compile(
    r"[sS]emantic_?[cC]ache|similarity_?[tT]hreshold|distance_?threshold|score_?threshold|minProximity"
    r"|min_proximity|gptcache|\b(mode|type)[\"']?\s*[:=]\s*[\"'][\w-]*semantic|semantic_(lookup|cache)"
    r"|semanticLookup|cached?_?(answer|lookup)|-semantic[\"']"
)


def may_hold_policy(text: str) -> bool:
    """Whether code may set up a semantic cache."""
    return _IN_CODE.search(text) is not None
