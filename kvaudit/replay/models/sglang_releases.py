"""Which SGLang releases are modelled, and which of their rules differ.

A release between two that were read follows the older one's rules; a patch release or a post
release follows its minor.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from kvaudit.core.errors import UsageError

OLDEST = "0.5.4"
NEWEST = "0.5.23"


class Kept(StrEnum):
    """What of a finished request stays in the tree."""

    ALL = "all"
    """Prompt and generated tokens, as far as their KV was computed."""
    PROMPT = "prompt"
    """The prompt only."""


class Rules(NamedTuple):
    """What differs between releases."""

    first: str
    kept: Kept
    uncomputed_outputs: int
    """Generated tokens whose KV is not computed: the last one, unless a step ran ahead."""
    evicts_shortfall: bool
    """Whether eviction frees what is missing, and not all that is asked for."""
    source: str


RELEASES = (
    Rules("0.5.4", Kept.ALL, 1, False, "radix_cache.py cache_finished_req of 0.5.4 and 0.5.5"),
    Rules(
        "0.5.6", Kept.PROMPT, 1, False, "the same of 0.5.6 to 0.5.8; pull request 16521 mends it"
    ),
    Rules("0.5.9", Kept.ALL, 0, False, "the same of 0.5.9 and 0.5.14, overlap scheduler on"),
    Rules("0.5.23", Kept.ALL, 0, True, "unified_radix_cache.py and common.py of 0.5.23"),
)


def rules(version: str) -> Rules:
    """Return the rules of an SGLang release such as ``0.5.23``.

    Raises `UsageError`, naming the nearest release that is modelled, for any other.
    """
    release = _parse(version)
    if not _parse(OLDEST) <= release <= _parse(NEWEST):
        nearest = OLDEST if release < _parse(OLDEST) else NEWEST
        raise UsageError(
            f"SGLang {version} is not modelled; kvaudit knows {OLDEST} to {NEWEST}: "
            f"use --engine-version {nearest}"
        )
    return max(
        (rules for rules in RELEASES if _parse(rules.first) <= release),
        key=lambda rules: _parse(rules.first),
    )


def _parse(version: str) -> tuple[int, ...]:
    match = re.fullmatch(r"v?(\d+)\.(\d+)\.(\d+)(?:\.?post\d+)?", version.strip())
    if match is None:
        raise UsageError(
            f"{version!r} is not an SGLang version; write it like --engine-version {NEWEST}"
        )
    return tuple(map(int, match.groups()))
