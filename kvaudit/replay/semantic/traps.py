"""Near-miss traps of our own, and pairs that share an answer: what `calibrate` tries a cache on.

Made by filling frames with things of one kind, so that two questions differ in one place: by what
is left out of the frame a trap is as near to its twin as can be. The same frames asked in another
way are the pairs that a cache should serve. Nothing is drawn: the pairs are the same in every run.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib import resources
from itertools import pairwise
from typing import Any

from kvaudit.core.requests import Request
from kvaudit.replay.semantic.pairs import Pair

BUNDLED = "bundled"
"""Names these pairs where a file of pairs is asked for."""


def bundled_pairs() -> list[Pair]:
    """Return the pairs, by language and kind."""
    text = resources.files(__package__).joinpath("traps.toml").read_text("utf-8")
    document = tomllib.loads(text)
    return [pair for language in sorted(document) for pair in _of(language, document[language])]


def _of(language: str, kinds: dict[str, Any]) -> Iterator[Pair]:
    for kind in sorted(kinds):
        for number, (a, b, same) in enumerate(_texts(kinds[kind]), 1):
            yield Pair(
                id=f"{language}-{kind}-{number:03}",
                a=Request(id="", prompt=a),
                b=Request(id="", prompt=b),
                same=same,
                kind=kind,
                language=language,
            )


def _texts(frames: list[dict[str, Any]]) -> Iterator[tuple[str, str, bool]]:
    """Yield the pairs of a kind's frames.

    Neighbours in ``with`` make traps of ``ask``; ``or`` asks the same as ``ask``.
    """
    for frame in frames:
        ask, things = frame["ask"], frame.get("with", [""])
        for one, other in pairwise(things):
            yield ask.replace("{}", one), ask.replace("{}", other), False
        for turned in frame.get("not", []):
            yield ask.replace("{}", things[0]), turned.replace("{}", things[0]), False
        for again in frame.get("or", []):
            yield ask.replace("{}", things[0]), again.replace("{}", things[0]), True
