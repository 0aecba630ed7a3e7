"""The groups of a model's layers as kernels have them, and what their blocks look at."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch, known_full_blocks
from kvaudit.replay.kernels.compiled import compiled
from kvaudit.replay.models.kv_groups import GroupKind, StateMode
from kvaudit.replay.models.layout import Layout
from kvaudit.replay.models.vllm_releases import FreeOrder, Rules

_KINDS = (GroupKind.FULL, GroupKind.SLIDING, GroupKind.CHUNKED, GroupKind.MAMBA)
FULL, SLIDING, CHUNKED, MAMBA = range(4)
DENSE = -1
_ANY_NUMBER = -1


class Layers(NamedTuple):
    """The groups of a model, and the rules of a release that concern them."""

    block_size: int
    eagle: bool
    retention_tokens: int
    """`DENSE` keeps all that a hit could use."""
    kind: NDArray[np.int64]
    """By group."""
    tokens: NDArray[np.int64]
    """By group: size of its window or chunk."""
    most_blocks: NDArray[np.int64]
    """By group: what a prompt reserves at most."""
    unkeyed_first: NDArray[np.bool_]
    """By group: whether freed blocks without a key go to the head of the queue."""
    spec_of: NDArray[np.int64]
    """By group: its place among the different kinds, full attention first."""
    members: NDArray[np.int64]
    """The groups of each kind, one kind after the other."""
    member_starts: NDArray[np.int64]
    sparse: bool
    """Whether the release leaves out keys that no hit could use."""
    junctions: bool
    eagle_junctions: bool
    both_replays: bool
    eagle_to_last_block: bool
    eagle_drops_once: bool
    shortens_again: bool
    takes_skipped_hits: bool
    chunks_kept_longer: bool
    aligns: NDArray[np.bool_]
    """By group: whether it keeps states where chunks of a prefill end."""
    states_wait: bool
    states_wait_again: bool
    states_pass_nulls: bool
    sparse_states: bool
    eagle_spares_states: bool
    hits_stay_in_full: bool


class Work(NamedTuple):
    """What is asked, by request, and what it has come to."""

    keys: NDArray[np.int32]
    starts: NDArray[np.int64]
    known: NDArray[np.int64]
    prompt_tokens: NDArray[np.int64]
    tokens: NDArray[np.int64]
    computed: NDArray[np.int64]
    junction: NDArray[np.int64]
    slot: NDArray[np.int64]
    evicted: NDArray[np.int64]
    tables: NDArray[np.int32]
    """By slot and group: the blocks, in order."""
    used: NDArray[np.int64]
    """By slot and group: the length of the table."""
    keyed: NDArray[np.int64]
    """By slot and group: how many blocks were looked at for a key."""
    hit_start: NDArray[np.int64]
    """By kind: where the blocks of the last hit begin; those before are null."""
    hit_end: NDArray[np.int64]
    """By kind: where they end."""
    last_state: NDArray[np.int64]
    """By slot: the last block of a table before it grew last; -1 where it did not."""
    retired: NDArray[np.int64]
    """By slot: how many blocks of state layers were given up or passed over."""
    step: NDArray[np.int64]
    """The number of the step, alone."""
    state_step: NDArray[np.int64]
    """By key: the last step that computed such a state; empty without state layers."""


def layers_of(layout: Layout, rules: Rules) -> Layers:
    """Return the layout as the kernel reads it."""
    different = list(dict.fromkeys(layout.groups))
    different.sort(key=lambda group: group.kind is not GroupKind.FULL)
    members = [[i for i, g in enumerate(layout.groups) if g == kind] for kind in different]
    budget = layout.budget if rules.reserves_by_kind else None
    most = [
        None if budget is None else g.most_blocks(layout.block_size, budget) for g in layout.groups
    ]
    order = rules.free_order
    retention = layout.retention_tokens
    return Layers(
        block_size=layout.block_size,
        eagle=layout.eagle,
        retention_tokens=DENSE if retention is None else retention,
        kind=np.array([_KINDS.index(g.kind) for g in layout.groups], np.int64),
        tokens=np.array([g.tokens for g in layout.groups], np.int64),
        most_blocks=np.array([_ANY_NUMBER if m is None else m for m in most], np.int64),
        unkeyed_first=np.array(
            [
                order is FreeOrder.UNKEYED_TO_HEAD
                or (rules.unkeyed_windows_first and g.kind is GroupKind.SLIDING)
                for g in layout.groups
            ],
            np.bool_,
        ),
        spec_of=np.array([different.index(g) for g in layout.groups], np.int64),
        members=np.array([i for group in members for i in group], np.int64),
        member_starts=np.cumsum([0, *map(len, members)], dtype=np.int64),
        sparse=rules.retention,
        junctions=rules.junctions,
        eagle_junctions=rules.eagle_junctions,
        both_replays=rules.both_replays,
        eagle_to_last_block=rules.eagle_to_last_block,
        eagle_drops_once=rules.eagle_drops_once,
        shortens_again=rules.shortens_again,
        takes_skipped_hits=rules.takes_skipped_hits,
        chunks_kept_longer=rules.chunks_kept_longer,
        aligns=np.array([g.mode is StateMode.ALIGN for g in layout.groups], np.bool_),
        states_wait=rules.states_wait,
        states_wait_again=rules.states_wait_again,
        states_pass_nulls=rules.states_pass_nulls,
        sparse_states=rules.sparse_states,
        eagle_spares_states=rules.eagle_spares_states,
        hits_stay_in_full=rules.hits_stay_in_full,
    )


def work_of(prompts: PromptBatch, blocks: BlockBatch, layers: Layers, seqs: int) -> Work:
    """Return the requests of a log, none of them begun, and room for the tables of ``seqs``."""
    requests, groups = len(prompts.prompt_tokens), len(layers.kind)
    longest = int((prompts.prompt_tokens + prompts.output_tokens).max(initial=0)) + 1
    states = (int(blocks.keys.max(initial=-1)) + 1) * groups if MAMBA in layers.kind else 0
    return Work(
        keys=blocks.keys,
        starts=blocks.key_offsets,
        known=known_full_blocks(prompts, blocks, layers.block_size),
        prompt_tokens=prompts.prompt_tokens,
        tokens=prompts.prompt_tokens.copy(),
        computed=np.zeros(requests, np.int64),
        junction=np.zeros(requests, np.int64),
        slot=np.full(requests, -1, np.int64),
        evicted=np.zeros(requests, np.int64),
        tables=np.zeros((seqs, groups, -(-longest // layers.block_size)), np.int32),
        used=np.zeros((seqs, groups), np.int64),
        keyed=np.zeros((seqs, groups), np.int64),
        hit_start=np.zeros(len(layers.member_starts) - 1, np.int64),
        hit_end=np.zeros(len(layers.member_starts) - 1, np.int64),
        last_state=np.full(seqs, -1, np.int64),
        retired=np.zeros(seqs, np.int64),
        step=np.zeros(1, np.int64),
        state_step=np.zeros(states, np.int64),
    )


@compiled
def skipped_blocks(layers: Layers, group: int, computed: int) -> int:
    """Return how many blocks the next token of a group does not look at."""
    kind, tokens = layers.kind[group], layers.tokens[group]
    skipped: int = 0
    if kind == SLIDING:
        skipped = max(0, computed - tokens + 1)
    elif kind == CHUNKED:
        skipped = computed // tokens * tokens
    elif kind == MAMBA:
        skipped = max(0, computed - 1)
    return skipped // layers.block_size


@compiled
def keeps_all(layers: Layers, computed: int) -> bool:
    """Whether the next token looks at every block that the one before it looked at."""
    if layers.chunks_kept_longer:
        return False
    for group in range(len(layers.kind)):
        kind, tokens = layers.kind[group], layers.tokens[group]
        if kind == SLIDING and (computed - tokens + 1) % layers.block_size == 0:
            return False
        if kind == CHUNKED and computed % tokens == 0:
            return False
        if kind == MAMBA and (computed - 1) % layers.block_size == 0:
            return False
    return True


@compiled
def reserved_blocks(layers: Layers, group: int, tokens: int) -> int:
    """Return how many blocks of a group so many tokens take before any is hit."""
    blocks = -(-tokens // layers.block_size)
    if layers.aligns[group]:
        return min(blocks, 1)
    most = layers.most_blocks[group]
    return blocks if most == _ANY_NUMBER else min(blocks, most)


@compiled
def could_fit(layers: Layers, capacity: int, tokens: int) -> bool:
    """Whether so many tokens can be admitted at all, all but the last block being hits."""
    needed = 0
    hit = max(0, tokens - 1) // layers.block_size * layers.block_size
    for group in range(len(layers.kind)):
        own = reserved_blocks(layers, group, tokens) - skipped_blocks(layers, group, hit)
        needed += max(own, 1 if tokens else 0)
    return needed <= capacity
