"""Whether reused KV gives the same logits, and what reuse saved, for one request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch

from kvaudit.core.device import LogitsCheck
from kvaudit.replay.device.prefill import Prefill
from kvaudit.replay.device.provenance import Recompute, Span

TOLERANCE = {"fp32": 1e-4, "bf16": 3e-2}
"""Largest difference to logits of other pieces, as a share of the largest logit. Other pieces are
other matrix shapes, so the last bits differ; measured on CPU models of 14 and 60 million
parameters: up to 3.5e-6 and 2.7e-2 absolute, at logits up to 2.7."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One request that was computed with and without reuse."""

    on_s: float
    """Seconds from the first copy to the last logits, with reuse."""
    off_s: float
    reused_tokens: int
    same_split_equal: bool | None
    """KV and logits equal, bit for bit, those of a recompute in the same pieces; None where
    nobody knows the pieces."""
    difference: float
    """Of the logits without reuse, as a share of the largest."""
    margin: float
    """Between the two most likely tokens, as a share of the largest."""
    same_first_token: bool


@torch.no_grad()
def check(
    prefill: Prefill,
    past: torch.Tensor,
    spans: Sequence[Span] | None,
    tail: Sequence[int],
    logits: torch.Tensor,
    plain: torch.Tensor,
    *,
    on_s: float,
    off_s: float,
) -> Checked:
    """Hold a request's reused KV ``past``, and its logits, against those computed anew.

    ``spans`` say how the past was computed, ``tail`` are the tokens after it, ``plain`` the
    logits without reuse.
    """
    equal = None
    if spans is not None:
        anew = Recompute(prefill).past(spans)
        equal = torch.equal(anew, past) and torch.equal(prefill(anew, tail).logits, logits)
    scale = float(plain.abs().max()) or 1.0
    best = torch.topk(logits, 2).values
    return Checked(
        on_s=on_s,
        off_s=off_s,
        reused_tokens=past.shape[3],
        same_split_equal=equal,
        difference=float((logits - plain).abs().max()) / scale,
        margin=float(best[0] - best[1]) / scale,
        same_first_token=bool(logits.argmax() == plain.argmax()),
    )


def summarize_checks(checks: Iterable[Checked], dtype: str) -> LogitsCheck | None:
    """Return the sums, or None where nothing was checked."""
    checks = list(checks)
    if not checks:
        return None
    tolerance = TOLERANCE[dtype]
    return LogitsCheck(
        requests=len(checks),
        with_reuse=sum(c.reused_tokens > 0 for c in checks),
        same_split_equal=sum(c.same_split_equal is True for c in checks),
        same_split_unknown=sum(c.same_split_equal is None for c in checks),
        within_tolerance=sum(c.difference <= tolerance for c in checks),
        tolerance=tolerance,
        largest_difference=max(c.difference for c in checks),
        same_first_token=sum(c.same_first_token for c in checks),
        smallest_margin=min(c.margin for c in checks),
    )
