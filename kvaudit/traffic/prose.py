"""Plain prose from patterns: enough variety that no two answers are alike, the same for a seed.

A pattern is a sentence with slots, ``Please send the {item} to {place}.``, and each slot is
filled with one of the words listed under its name. A `Grammar` holds the patterns of one
language by what they are for: a rule, a question, an answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from random import Random

_SLOT = re.compile(r"\{(\w+)\}")


class Grammar:
    """The sentences of one language."""

    def __init__(
        self,
        words: Mapping[str, Sequence[str]],
        patterns: Mapping[str, Sequence[str]],
        *,
        joiner: str,
    ) -> None:
        """Compile ``patterns``; ``joiner`` stands between the sentences of a paragraph."""
        self.joiner = joiner
        self._patterns = {
            kind: [_compile(pattern, words) for pattern in several]
            for kind, several in patterns.items()
        }

    def sentence(self, kind: str, rng: Random) -> str:
        """Return one sentence of a kind."""
        draw = rng.random
        patterns = self._patterns[kind]
        # int(random() * n) rather than choice(): a third of the time, and no bias that matters.
        pieces = patterns[int(draw() * len(patterns))]
        return "".join([choices[int(draw() * len(choices))] for choices in pieces])

    def sentences(self, kind: str, rng: Random, count: int) -> list[str]:
        """Return ``count`` sentences of a kind."""
        return [self.sentence(kind, rng) for _ in range(count)]

    def paragraph(self, kind: str, rng: Random, count: int) -> str:
        """Return ``count`` sentences of a kind as one text."""
        return self.joiner.join(self.sentences(kind, rng, count))


def _compile(pattern: str, words: Mapping[str, Sequence[str]]) -> list[Sequence[str]]:
    """Cut a pattern into the choices for each of its pieces; fixed text is a choice of one."""
    parts = _SLOT.split(pattern)
    return [words[part] if i % 2 else (part,) for i, part in enumerate(parts) if part]
