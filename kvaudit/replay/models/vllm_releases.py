"""Which vLLM releases are modelled, and which of their rules differ.

Every minor release from 0.9.2 on was read, and the classes of most were run beside the models.
A patch release follows its minor.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from kvaudit.core.errors import UsageError

OLDEST = "0.9.2"
NEWEST = "0.33.0"


class FreeOrder(StrEnum):
    """Where a finished request's blocks go in the queue of free blocks."""

    ALL_TO_TAIL = "all-to-tail"
    """All of them to the tail, whether they hold KV that can be hit or not."""
    UNKEYED_TO_HEAD = "unkeyed-to-head"
    """Blocks without a key, which nothing can hit, to the head; the others to the tail."""


class Preemption(StrEnum):
    """What priority scheduling does with a victim that this step had already scheduled."""

    NOT_MODELLED = "not-modelled"
    """The victim's tokens stay counted as computed although its blocks are gone."""
    SCHEDULED_ONLY = "scheduled-only"
    """The tokens are given back."""
    ANY_VICTIM = "any-victim"
    """As before; nobody is passed over, and a request that gives way does not end the round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a release does; each field names the file and the release that changed it."""

    free_order: FreeOrder = FreeOrder.UNKEYED_TO_HEAD
    """block_pool.py, free_blocks; pull request 42656, first released in 0.24.0."""
    unkeyed_windows_first: bool = False
    """Whether the blocks of sliding windows go to the head where others do not.
    single_type_kv_cache_manager.py, SlidingWindowManager.free, of 0.23.0."""
    whole_prompt_fits: bool = True
    """Whether a prompt is begun only where its end fits too, else its first chunk is enough.
    sched/scheduler.py, scheduler_reserve_full_isl, since 0.19.0."""
    watermark: bool = True
    """Whether --watermark exists; kv_cache_manager.py, since 0.24.0."""
    retention: bool = True
    """Whether sparse retention exists; kv_cache_coordinator.py, since 0.23.0."""
    sparse_states: bool = True
    """Whether that leaves out states too; single_type_kv_cache_manager.py, since 0.24.0."""
    sparse_by_default: bool = True
    """Whether an engine to which nothing is said keeps what ``--retention 0`` does.
    config/cache.py, prefix_cache_retention_interval, since 0.29.0."""
    junctions: bool = True
    """Whether sparse retention also keeps where another request was seen to part.
    single_type_kv_cache_manager.py, cache_blocks, since 0.26.0."""
    eagle_junctions: bool = True
    """Whether with EAGLE the block before such a place is kept too; same, since 0.33.0."""
    both_replays: bool = True
    """Whether with EAGLE both the prompt's repetition and its continuation are kept in reach.
    kv_cache_coordinator.py, replay_boundaries, since 0.30.0."""
    eagle_to_last_block: bool = True
    """Whether the block that EAGLE drops may hold the prompt's last token.
    kv_cache_coordinator.py, find_longest_cache_hit, since 0.32.0."""
    eagle_drops_once: bool = True
    """Whether EAGLE costs a hybrid model one block, else one block a kind of layer.
    Same, since 0.20.0; issue 32802."""
    eagle_spares_states: bool = True
    """Whether state layers, of which EAGLE drops nothing, are asked for no block more either.
    Same, since 0.26.0."""
    states_wait: bool = True
    """Whether a state that this step computes can be hit from the next step on only.
    single_type_kv_cache_manager.py, MambaManager, since 0.17.0."""
    several_kinds: bool = True
    """Whether more than one kind of layer may stand beside full attention; same, 0.14.0."""
    shortens_again: bool = False
    """Whether a hit of full attention and one other kind is looked at until it stays; 0.14."""
    takes_skipped_hits: bool = False
    """Whether a request takes hit blocks that its next token does not look at.
    single_type_kv_cache_manager.py, until 0.13."""
    chunks_kept_longer: bool = False
    """Whether chunked attention holds on to the last block it cached; same, until 0.11."""
    preemption: Preemption = Preemption.ANY_VICTIM
    """sched/scheduler.py, schedule; changed in 0.12.0 and 0.28.0."""
    long_prefill_alone: bool = True
    """Whether a long prefill that is alone may pass its threshold; same, since 0.31.0."""
    counts_retries: bool = False
    """Whether the counters take every look of a waiting request; pull request 48860, 0.27.0."""
    counts_resumed_apart: bool = True
    """Whether a resumed request has counters of its own; pull request 25787, 0.12.0."""
    mamba_all: bool = False
    """Whether the cache mode ``all`` of state layers exists; from 0.12.0 to 0.32."""
    mamba_align: bool = True
    """Whether the cache mode ``align`` of state layers exists; since 0.15.0."""
    aligns_again: bool = True
    """Whether what a resumed request computes again ends on block boundaries, too.
    sched/scheduler.py, _mamba_block_aligned_split, since 0.17.0."""
    aligns_junctions: bool = True
    """Whether a prefill also ends where other kinds of layers would hit on; same, 0.24.0."""
    aligns_stops: bool = True
    """Whether a prefill that begins inside a block ends with that block; same, since 0.26.0."""
    aligns_to_the_end: bool = True
    """Whether a chunk that the budget cut short ends on a boundary wherever that is; 0.27.0."""
    aligns_before_last: bool = True
    """Whether the last state that is kept leaves a token to compute; same, since 0.32.0."""
    states_pass_nulls: bool = True
    """Whether blocks behind those that were given up before are looked at again.
    single_type_kv_cache_manager.py, MambaManager._remove_blocks_in_range, since 0.30.0."""
    states_wait_again: bool = False
    """Whether the state before a prompt's last block waits once more when that block is computed.
    single_type_kv_cache_manager.py, MambaManager._cache_partial_tail_block, of 0.32 only."""
    hits_stay_in_full: bool = True
    """Whether a hit is never longer than full attention's own; with EAGLE a state could be.
    kv_cache_coordinator.py, find_longest_cache_hit, since 0.26.0."""
    reserves_by_kind: bool = True
    """Whether a prompt reserves of a window only what it holds at once; same, since 0.20.0."""


def rules_of(version: str) -> Rules:
    """Return the rules of a vLLM release such as ``0.33.0``.

    Raises `UsageError`, naming the nearest release that is modelled, for any other.
    """
    release = _modelled(version)

    def since(minor: int) -> bool:
        return release[:2] >= (0, minor)

    return Rules(
        free_order=FreeOrder.UNKEYED_TO_HEAD if since(24) else FreeOrder.ALL_TO_TAIL,
        unkeyed_windows_first=release[:2] == (0, 23),
        whole_prompt_fits=since(19),
        watermark=since(24),
        retention=since(23),
        sparse_states=since(24),
        sparse_by_default=since(29),
        junctions=since(26),
        eagle_junctions=since(33),
        both_replays=since(30),
        eagle_to_last_block=since(32),
        eagle_drops_once=since(20),
        eagle_spares_states=since(26),
        states_wait=since(17),
        several_kinds=since(14),
        shortens_again=release[:2] == (0, 14),
        takes_skipped_hits=not since(14),
        chunks_kept_longer=not since(12),
        preemption=_preemption(release),
        long_prefill_alone=since(31),
        counts_retries=not since(27),
        counts_resumed_apart=since(12),
        mamba_all=since(12) and not since(33),
        mamba_align=since(15),
        aligns_again=since(17),
        aligns_junctions=since(24),
        aligns_stops=since(26),
        aligns_to_the_end=since(27),
        aligns_before_last=since(32),
        states_pass_nulls=since(30),
        states_wait_again=release[:2] == (0, 32),
        hits_stay_in_full=since(26),
        reserves_by_kind=since(20),
    )


def _modelled(version: str) -> tuple[int, ...]:
    release = parse_release(version)
    oldest, newest = parse_release(OLDEST), parse_release(NEWEST)
    if release < oldest or release[:2] > newest[:2]:
        nearest = OLDEST if release < oldest else NEWEST
        raise UsageError(
            f"vLLM {version} is not modelled; kvaudit knows {OLDEST} to {NEWEST}: "
            f"use --engine-version {nearest}"
        )
    return release


def _preemption(release: tuple[int, ...]) -> Preemption:
    if release[:2] >= (0, 28):
        return Preemption.ANY_VICTIM
    return Preemption.SCHEDULED_ONLY if release[:2] >= (0, 12) else Preemption.NOT_MODELLED


def free_order(version: str) -> FreeOrder:
    """Return the free order of a vLLM release; see `rules_of`."""
    return rules_of(version).free_order


def parse_release(version: str) -> tuple[int, ...]:
    """Return major, minor and patch of a vLLM release, or raise `UsageError`."""
    match = re.fullmatch(r"v?(\d+)\.(\d+)(?:\.(\d+))?(?:\.\d+)?(?:\.?post\d+)?", version.strip())
    if match is None:
        raise UsageError(
            f"{version!r} is not a vLLM version; write it like --engine-version {NEWEST}"
        )
    return tuple(int(part or 0) for part in match.groups())
