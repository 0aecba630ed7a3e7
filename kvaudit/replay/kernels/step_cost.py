"""The seconds of a step, compiled; `kvaudit.cost.steps` is what this must equal."""

from __future__ import annotations

from kvaudit.cost.steps import StepCost
from kvaudit.replay.kernels.compiled import compiled


@compiled
def _up_to(kind: int, tokens: int, n: int) -> int:
    if kind == 0:
        return n * (n + 1) // 2
    if kind == 2:
        rest = n % tokens
        return n // tokens * (tokens * (tokens + 1) // 2) + rest * (rest + 1) // 2
    growing = min(n, tokens)
    return growing * (growing + 1) // 2 + (n - growing) * tokens


@compiled
def prefill_part_s(cost: StepCost, new: int, reused: int, ends: bool) -> float:
    """Return the compute seconds of one request's part of a step: a chunk of a prefill."""
    seconds = new * cost.token_s + (reused + new) * cost.view_s
    for i in range(len(cost.reach_kinds)):
        kind, tokens = cost.reach_kinds[i], cost.reach_tokens[i]
        pairs = _up_to(kind, tokens, reused + new) - _up_to(kind, tokens, reused)
        seconds += pairs * cost.pair_s[i]
    return seconds + (cost.row_s if ends else 0.0)


@compiled
def decode_part_s(cost: StepCost, before: int) -> float:
    """Return the compute seconds of generating one token after ``before`` others."""
    seconds = cost.decode_token_s + cost.row_s
    for i in range(len(cost.reach_kinds)):
        kind, tokens = cost.reach_kinds[i], cost.reach_tokens[i]
        pairs = _up_to(kind, tokens, before + 1) - _up_to(kind, tokens, before)
        seconds += pairs * cost.decode_pair_s[i]
    return seconds


@compiled
def step_s(cost: StepCost, compute_s: float, tokens: int, in_view: int) -> float:
    """Return the seconds of a step."""
    if tokens == 0:
        return 0.0
    # A power of floats, as in Python: whole powers are multiplied out otherwise.
    experts = cost.experts_s * (1.0 - cost.expert_missed ** float(tokens))
    memory_s = cost.weights_s + experts + in_view * cost.kv_s
    seconds: float = max(compute_s, memory_s) + cost.constant_s
    return seconds
