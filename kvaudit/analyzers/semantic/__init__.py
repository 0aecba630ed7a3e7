"""What the policy of a semantic cache lets through, whoever holds it: a product, or own code.

A threshold is judged as a cosine, on the scale that the product measures on; what a product adds by
itself counts as said.
"""

from __future__ import annotations

import re

_IN_CODE = re.compile(
    r"[sS]emantic_?[cC]ache|similarity_?[tT]hreshold|distance_?threshold|score_?threshold|minProximity"
    r"|min_proximity|gptcache|\b(mode|type)[\"']?\s*[:=]\s*[\"'][\w-]*semantic|semantic_(lookup|cache)"
    r"|semanticLookup|[cC]ached?_?([aA]nswer|[lL]ookup)|-semantic[\"']"
    r"|(search|query|nearest|knn)\w*\([^\n]*(embed|encode|vec)"
)


_WORDS = (
    "emantic", "imilarity", "distance", "score", "roximity", "gptcache", "answer", "lookup",
    "Lookup", "Answer", "response",
)  # fmt: skip
"""Parts of what the pattern finds; most files hold none, and plain words are found faster."""


def may_hold_policy(text: str) -> bool:
    """Whether code may set up a semantic cache."""
    return any(word in text for word in _WORDS) and _IN_CODE.search(text) is not None
