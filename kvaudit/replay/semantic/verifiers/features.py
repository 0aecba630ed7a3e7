"""Cheap features of a pair of texts, for a verifier that a user's labels train.

Semantic.md 2.5 names them: similarities of several kinds, what only one text has, and what the
entity rule finds to differ.
"""

from __future__ import annotations

from collections import Counter
from difflib import SequenceMatcher
from functools import lru_cache
from math import log, sqrt

from kvaudit.replay.semantic.guards.alike import alike, root
from kvaudit.replay.semantic.guards.apart import are_near
from kvaudit.replay.semantic.guards.entities import KINDS, differences, facts_of
from kvaudit.replay.semantic.guards.words import EMPTY, HAN_EMPTY

GRAMS = (2, 3, 4)
FEATURES = (
    "cosine",
    "cosine_above_090",
    "grams",
    "jaccard",
    "roots",
    "content",
    "order",
    "only_a",
    "only_b",
    "replaced",
    "put_in",
    "length_ratio",
    "length",
    *KINDS,
    "kinds",
)


def features(a: str, b: str, cosine: float) -> list[float]:
    """Return the features of a pair, in the order of `FEATURES`; the order of the texts is one."""
    first, second = facts_of(a), facts_of(b)
    words_a, words_b = set(first.words), set(second.words)
    roots_a, roots_b = {root(w) for w in words_a}, {root(w) for w in words_b}
    content_a, content_b = _content(first.sentence), _content(second.sentence)
    own = {w for w in content_a - content_b if not any(alike(w, o) for o in content_b)}
    others = {w for w in content_b - content_a if not any(alike(w, o) for o in content_a)}
    matcher = SequenceMatcher(None, first.sentence, second.sentence, autojunk=False)
    near = are_near(first.sentence, second.sentence)
    edits = [e for e in matcher.get_opcodes() if e[0] != "equal"] if near else []
    found = differences(a, b)
    lengths = sorted((len(a) + 1, len(b) + 1))
    return [
        cosine,
        max(0.0, cosine - 0.9),
        _gram_cosine(a, b),
        _share(words_a & words_b, words_a | words_b),
        _share(roots_a & roots_b, roots_a | roots_b),
        1 - (len(own) + len(others)) / max(1, len(content_a) + len(content_b)),
        matcher.ratio() if near else matcher.quick_ratio(),
        float(min(len(own), 6)),
        float(min(len(others), 6)),
        float(min(sum(edit[0] == "replace" for edit in edits), 6)),
        float(min(sum(edit[0] != "replace" for edit in edits), 6)),
        lengths[0] / lengths[1],
        log(lengths[1]),
        *(float(kind in found) for kind in KINDS),
        float(len(found)),
    ]


def _content(words: list[str]) -> set[str]:
    return {word for word in words if word not in EMPTY and not HAN_EMPTY.fullmatch(word)}


def _share(part: set[str], whole: set[str]) -> float:
    return len(part) / len(whole) if whole else 1.0


@lru_cache(1 << 16)
def _grams(text: str) -> Counter[str]:
    text = f" {' '.join(text.lower().split())} "
    return Counter(text[i : i + n] for n in GRAMS for i in range(len(text) - n + 1))


def _gram_cosine(a: str, b: str) -> float:
    first, second = _grams(a), _grams(b)
    product = sum(count * second[gram] for gram, count in first.items() if gram in second)
    return product / sqrt(_squares(first) * _squares(second)) if product else 0.0


def _squares(grams: Counter[str]) -> int:
    return sum(count * count for count in grams.values())
