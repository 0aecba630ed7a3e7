"""A step of a batch in seconds, for schedulers: plain numbers that compiled code can add up.

The roofline of `kvaudit.cost.roofline`, taken apart: what each request's part of a step adds to
the seconds of computing, and what the step as a whole reads from memory.

    cost = step_cost(roofline)
    compute_s = sum(prefill_part_s(cost, new, before, ends) ...) + sum(decode_part_s(cost, n) ...)
    seconds = step_s(cost, compute_s, tokens, in_view)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.cost.reach import Reach, ReachKind
from kvaudit.cost.roofline import Roofline
from kvaudit.cost.work import LinearForm


class StepCost(NamedTuple):
    """A step's seconds as plain numbers and arrays, so that compiled code can add them up.

    Prefill and decode differ only for latent attention.
    """

    token_s: float
    """Compute seconds a prefilled token."""
    view_s: float
    """Compute seconds a token in view of a prefill (latent attention)."""
    row_s: float
    """Compute seconds a row of logits: one for each request that ends its prefill or decodes."""
    decode_token_s: float
    reach_kinds: NDArray[np.int64]
    """0 full, 1 window, 2 chunk; of the same length as the three arrays that follow."""
    reach_tokens: NDArray[np.int64]
    pair_s: NDArray[np.float64]
    """Compute seconds a pair of a prefill."""
    decode_pair_s: NDArray[np.float64]
    """Compute seconds a pair of a decode."""
    weights_s: float
    """Memory seconds of the weights that every step reads."""
    experts_s: float
    """Memory seconds of all routed experts."""
    expert_missed: float
    """Chance that one token leaves one expert unused."""
    kv_s: float
    """Memory seconds a token in view."""
    constant_s: float


_KINDS = {ReachKind.FULL: 0, ReachKind.WINDOW: 1, ReachKind.TOP: 1, ReachKind.CHUNK: 2}


def step_cost(roofline: Roofline) -> StepCost:
    """Return what a step costs on these accelerators; see `StepCost`."""
    prefill, decode = roofline.work.linear, roofline.work.decoding
    rate, moved = roofline.flops_per_s, roofline.bytes_per_s
    reaches = sorted({*prefill.pairs, *decode.pairs})
    work = roofline.work
    return StepCost(
        token_s=prefill.token / rate,
        view_s=prefill.view / rate,
        row_s=work.logit_flops / rate,
        decode_token_s=decode.token / rate,
        reach_kinds=np.array([_KINDS[r.kind] for r in reaches], np.int64),
        reach_tokens=np.array([r.tokens for r in reaches], np.int64),
        pair_s=_per_pair(prefill, reaches) / rate,
        decode_pair_s=_per_pair(decode, reaches) / rate,
        weights_s=roofline.weights.step_bytes(work) / moved,
        experts_s=roofline.weights.expert_bytes(work) / moved,
        expert_missed=1 - work.active_experts / max(work.experts, 1),
        kv_s=roofline.kv_bytes_in_view / moved,
        constant_s=roofline.assumptions.constant_s,
    )


def _per_pair(form: LinearForm, reaches: list[Reach]) -> NDArray[np.float64]:
    return np.array([form.pairs.get(reach, 0) for reach in reaches], np.float64)


def pairs_of(kind: int, tokens: int, new: int, reused: int) -> int:
    """Return the causal pairs of ``new`` tokens after ``reused`` ones; kinds as in `StepCost`.

    Plain arithmetic, so that a kernel can be compiled from it.
    """
    return _up_to(kind, tokens, reused + new) - _up_to(kind, tokens, reused)


def _up_to(kind: int, tokens: int, n: int) -> int:
    if kind == 0:
        return n * (n + 1) // 2
    if kind == 2:
        rest = n % tokens
        return n // tokens * (tokens * (tokens + 1) // 2) + rest * (rest + 1) // 2
    growing = min(n, tokens)
    return growing * (growing + 1) // 2 + (n - growing) * tokens


def prefill_part_s(cost: StepCost, new: int, reused: int, ends: bool) -> float:
    """Return the compute seconds of one request's part of a step: a (chunk of a) prefill.

    ``reused`` counts all tokens before the chunk, hit or computed in earlier steps; ``ends``
    says that the chunk ends the prompt, which makes a row of logits.
    """
    seconds = new * cost.token_s + (reused + new) * cost.view_s
    for i in range(len(cost.reach_kinds)):
        pairs = pairs_of(cost.reach_kinds[i], cost.reach_tokens[i], new, reused)
        seconds += pairs * cost.pair_s[i]
    return seconds + (cost.row_s if ends else 0.0)


def decode_part_s(cost: StepCost, before: int) -> float:
    """Return the compute seconds of generating one token after ``before`` others."""
    seconds = cost.decode_token_s + cost.row_s
    for i in range(len(cost.reach_kinds)):
        pairs = pairs_of(cost.reach_kinds[i], cost.reach_tokens[i], 1, before)
        seconds += pairs * cost.decode_pair_s[i]
    return seconds


def step_s(cost: StepCost, compute_s: float, tokens: int, in_view: int) -> float:
    """Return the seconds of a step.

    ``compute_s`` sums the parts of its requests, ``tokens`` the new tokens of all of them
    (one for each that decodes), ``in_view`` the tokens whose KV they read: all before and with
    the new ones.
    """
    if tokens == 0:
        return 0.0
    experts = cost.experts_s * (1.0 - cost.expert_missed**tokens)
    memory_s = cost.weights_s + experts + in_view * cost.kv_s
    return max(compute_s, memory_s) + cost.constant_s
