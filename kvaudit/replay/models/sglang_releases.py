"""Which SGLang releases are modelled, and which of their rules differ.

Read from the wheels of 0.5.4 to 0.5.23, folder ``sglang/srt/mem_cache``; a post release follows
the release it mends.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from kvaudit.core.errors import UsageError
from kvaudit.core.nearest import did_you_mean

OLDEST = "0.5.4"
NEWEST = "0.5.23"
OLDEST_IN_STEPS, NEWEST_IN_STEPS = "0.5.9", "0.5.18"
"""Releases whose scheduler was read and run."""


class Kept(StrEnum):
    """What of a finished request stays in the tree."""

    ALL = "all"
    """Prompt and generated tokens, as far as their KV was computed."""
    PROMPT = "prompt"
    """The prompt only."""


class Counted(StrEnum):
    """When a node counts as used, which lfu and slru go by."""

    NEVER = "never"
    EACH_INSERT = "each insert"
    """Whenever text that goes through it is inserted: at the end of the prefill and at the end
    of the request."""
    ONCE = "once"
    """Once a request: not again where the same request inserted it before."""


class Rules(NamedTuple):
    """What differs between releases."""

    first: str
    kept: Kept
    uncomputed_outputs: int
    """Generated tokens whose KV is not computed: the last one, unless a step ran ahead."""
    evicts_shortfall: bool
    """Whether eviction frees what is missing, and not all that is asked for."""
    counted: Counted
    split_keeps_age: bool
    """Whether the upper part of a node that is cut is as old as the node, and not new."""
    parts_output: bool
    """Whether a finished request's node is cut where the prompt ends."""
    policies: tuple[str, ...]
    source: str
    foresees_length: bool = False
    """Whether no step runs ahead for a request that is about to end by ``max_tokens``."""


_FIVE = ("lru", "lfu", "fifo", "mru", "filo")
_SIX = (*_FIVE, "priority")
_SEVEN = (*_SIX, "slru")
_EIGHT = (*_SEVEN, "tlru")
POLICIES = _EIGHT
"""All policies of any release."""

RELEASES = (
    Rules(
        *("0.5.4", Kept.ALL, 1, False, Counted.NEVER, False, False, _FIVE),
        "radix_cache.py cache_finished_req; common.py evict_from_tree_cache",
    ),
    Rules(
        *("0.5.6", Kept.PROMPT, 1, False, Counted.NEVER, False, False, _SIX),
        "radix_cache.py cache_finished_req inserts fill_ids; pull request 16521 mends it",
    ),
    Rules(
        *("0.5.9", Kept.ALL, 0, False, Counted.NEVER, False, False, _SIX),
        "radix_cache.py cache_finished_req; the overlap scheduler commits one token more",
    ),
    Rules(
        *("0.5.10", Kept.ALL, 0, False, Counted.EACH_INSERT, False, False, _SEVEN),
        "radix_cache.py _inc_hit_count; evict_policy.py SLRUStrategy",
    ),
    Rules(
        *("0.5.17", Kept.ALL, 0, True, Counted.EACH_INSERT, False, False, _SEVEN),
        "common.py evict_from_tree_cache",
    ),
    Rules(
        *("0.5.19", Kept.ALL, 0, True, Counted.EACH_INSERT, True, False, _SEVEN),
        "registry.py: the unified tree is the default; unified_tree_core.py _split_node",
    ),
    Rules(
        *("0.5.20", Kept.ALL, 0, True, Counted.EACH_INSERT, True, True, _SEVEN),
        "unified_radix_cache.py cache_finished_req, prompt_key",
    ),
    Rules(
        *("0.5.21", Kept.ALL, 0, True, Counted.EACH_INSERT, True, True, _EIGHT),
        "evict_policy.py TLRUStrategy",
    ),
    Rules(
        *("0.5.22", Kept.ALL, 0, True, Counted.ONCE, True, True, _EIGHT),
        "unified_tree_core.py _finish_insert_walk_node, inserted_len; scheduler.py "
        "_reqs_finishing_inflight",
        foresees_length=True,
    ),
)


def rules(version: str) -> Rules:
    """Return the rules of an SGLang release such as ``0.5.23``.

    Raises `UsageError`, naming the nearest release that is modelled, for any other.
    """
    release = parse(version)
    if not parse(OLDEST) <= release <= parse(NEWEST):
        nearest = OLDEST if release < parse(OLDEST) else NEWEST
        raise UsageError(
            f"SGLang {version} is not modelled; kvaudit knows {OLDEST} to {NEWEST}: "
            f"use --engine-version {nearest}"
        )
    return max(
        (rules for rules in RELEASES if parse(rules.first) <= release),
        key=lambda rules: parse(rules.first),
    )


class Admitting(NamedTuple):
    """How a release lets requests in; see `kvaudit.replay.models.sglang_queue.SglangLimits`."""

    reserves_page: bool
    """schedule_policy.py, _update_prefill_budget."""
    asks_page: bool
    """schedule_policy.py, add_one_req."""
    chunk_waits: bool
    """scheduler.py, _get_new_batch_prefill_raw."""
    caps_prefill: bool
    """schedule_policy.py, add_one_req."""
    sorts_reusable: bool
    """schedule_policy.py, match_prefix_for_req, num_matched_prefix_tokens."""


def admitting(version: str) -> Admitting:
    """Return how a release lets requests in.

    Raises `UsageError` for a release whose scheduler is not modelled.
    """
    rules(version)
    release = parse(version)
    if not parse(OLDEST_IN_STEPS) <= release <= parse(NEWEST_IN_STEPS):
        nearest = OLDEST_IN_STEPS if release < parse(OLDEST_IN_STEPS) else NEWEST_IN_STEPS
        raise UsageError(
            f"--schedule steps of SGLang {version} is not modelled; {OLDEST_IN_STEPS} to "
            f"{NEWEST_IN_STEPS} are: use --engine-version {nearest}, or --schedule sequential"
        )
    newer = release >= parse("0.5.11")
    return Admitting(
        reserves_page=release >= parse("0.5.10"),
        asks_page=newer,
        chunk_waits=not newer,
        caps_prefill=release < parse("0.5.13"),
        sorts_reusable=release >= parse("0.5.13"),
    )


def check_policy(version: str, policy: str) -> None:
    """Refuse a policy that a release does not have. Raises `UsageError`."""
    known = rules(version).policies
    if policy not in known:
        raise UsageError(
            f"SGLang {version} does not evict by {policy}{did_you_mean(policy, known)}"
        )


def parse(version: str) -> tuple[int, ...]:
    """Return a version as numbers, a post release as the one that it mends."""
    match = re.fullmatch(r"v?(\d+)\.(\d+)(?:\.(\d+)(?:\.?post\d+)?)?", version.strip())
    if match is None:
        raise UsageError(
            f"{version!r} is not an SGLang version; write it like --engine-version {NEWEST}"
        )
    return tuple(int(part or 0) for part in match.groups())
