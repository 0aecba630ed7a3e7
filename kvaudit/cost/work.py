"""What a model computes: FLOPs of prefill and decode, and how many weights it has.

A matrix product of m by k with k by n counts 2 m k n, as everywhere. Counted are matrix
products, convolutions and the products of a recurrence with its state; what is done element by
element (norms, activations, rotations, softmax, decay) is left out, as FLOP counters leave it
out. Attention counts causally, each token against those it may see; ``square`` counts the whole
rectangle under its own name. The tokens that a model processes appear in four ways only: each
new one, each one in view, each pair, each row of logits. So a layer is four numbers, and a
million requests are a few sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.cost.reach import Reach, Tokens


class PairWork(NamedTuple):
    """What each pair of tokens costs."""

    reach: Reach
    flops: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerWork:
    """One part of a layer, and how many layers have it. All figures are of one of them."""

    part: str
    """``full attention``, ``sliding attention``, ``experts``, ..., for a report by kind."""
    layers: int = 1
    token_flops: int
    """For each new token."""
    scan_flops: int = 0
    """Those of them that go into convolution and recurrence, which need no weights to be read."""
    view_flops: int = 0
    """For each token in view, reused ones among them: latent attention expands them all."""
    pairs: tuple[PairWork, ...] = ()
    decode_token_flops: int | None = None
    """For each generated token, where decoding goes another way than prefill."""
    decode_pairs: tuple[PairWork, ...] | None = None
    weights: int
    """Parameters."""
    expert_weights: int = 0
    """Those of them that are routed experts, of which a token uses a few."""
    active_weights: int | None = None
    """Parameters that one token uses, where that is not all of them."""
    state_bytes: int = 0
    """What a recurrence keeps of a sequence, whatever its length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelWork:
    """A model as what it computes."""

    layers: tuple[LayerWork, ...]
    hidden: int
    vocabulary: int
    tied: bool
    """Whether the head is the embedding once more."""
    head_bias: bool = False
    experts: int = 0
    active_experts: int = 0
    note: str | None = None
    """What a reader of the FLOPs must know."""

    @property
    def logit_flops(self) -> int:
        """FLOPs of one row of logits."""
        return 2 * self.hidden * self.vocabulary

    @property
    def embedding_weights(self) -> int:
        """Parameters of embedding and head."""
        bias = self.vocabulary if self.head_bias else 0
        return self.hidden * self.vocabulary * (1 if self.tied else 2) + bias

    @property
    def weights(self) -> int:
        """All parameters, but for those of norms and other vectors, which are under 0.1 %."""
        return self.embedding_weights + sum(w.layers * w.weights for w in self.layers)

    @property
    def expert_weights(self) -> int:
        """Parameters of routed experts."""
        return sum(w.layers * w.expert_weights for w in self.layers)

    @property
    def active_weights(self) -> int:
        """Parameters that one token uses, embedding and head included."""
        used = (
            w.layers * (w.weights if w.active_weights is None else w.active_weights)
            for w in self.layers
        )
        return self.embedding_weights + sum(used)

    @property
    def state_bytes(self) -> int:
        """Bytes that the recurrences keep of one sequence."""
        return sum(w.layers * w.state_bytes for w in self.layers)

    def prefill_flops(
        self, new: int, reused: int = 0, *, logit_rows: int = 1, square: bool = False
    ) -> int:
        """Return the FLOPs of computing ``new`` prompt tokens after ``reused`` ones, exactly.

        A server needs one row of logits, a plain forward pass ``new`` of them. Nothing new
        costs nothing.
        """
        parts = self.prefill_flops_by_part(new, reused, logit_rows=logit_rows, square=square)
        return sum(parts.values())

    def prefill_flops_by_part(
        self, new: int, reused: int = 0, *, logit_rows: int = 1, square: bool = False
    ) -> dict[str, int]:
        """Return the same by kind of layer, and the head under ``head``."""
        found: dict[str, int] = {}
        for work in self.layers:
            flops = new * work.token_flops + (reused + new if new else 0) * work.view_flops
            for pair in work.pairs:
                counted = pair.reach.square if square else pair.reach.pairs
                flops += pair.flops * counted(new, reused)
            found[work.part] = found.get(work.part, 0) + work.layers * flops
        return found | {"head": logit_rows * self.logit_flops if new else 0}

    def prefill_flops_each(
        self, new: NDArray[np.int64], reused: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return `prefill_flops` of every request, with one row of logits each, as floats."""
        form = self.linear
        flops: NDArray[np.float64] = (
            new * float(form.token)
            + (reused + new) * (new > 0) * float(form.view)
            + (new > 0) * float(self.logit_flops)
        )
        for reach, each in form.pairs.items():
            flops += reach.pairs(new, reused) * float(each)
        return flops

    def prefill_flops_total(self, new: NDArray[np.int64], reused: NDArray[np.int64]) -> int:
        """Return the sum of `prefill_flops` over the requests, exactly, however large."""
        form = self.linear
        some = new > 0
        flops = int(new.sum()) * form.token + int((reused + new)[some].sum()) * form.view
        flops += int(some.sum()) * self.logit_flops
        return flops + sum(
            each * _exact_sum(reach.pairs(new, reused)) for reach, each in form.pairs.items()
        )

    def decode_flops(self, prompt_tokens: Tokens, output_tokens: Tokens) -> Tokens:
        """Return the FLOPs of generating an answer after its prefill.

        The prefill gives the first token, so ``output_tokens`` - 1 passes follow, of one token
        and one row of logits each; what they generate is kept and seen by the next. Latent
        attention decodes on its latents, without expanding them. Arrays must be small enough
        for 64 bits; see `decode_flops_total` for a sum.
        """
        form = self.decoding
        steps = _at_least_0(output_tokens - 1)
        flops = steps * (form.token + self.logit_flops)
        for reach, each in form.pairs.items():
            flops = flops + each * reach.pairs(steps, prompt_tokens)
        return flops

    def decode_flops_total(
        self, prompt_tokens: NDArray[np.int64], output_tokens: NDArray[np.int64]
    ) -> int:
        """Return the sum of `decode_flops` over the requests, exactly, however large."""
        form = self.decoding
        steps = _at_least_0(output_tokens - 1)
        flops = int(steps.sum()) * (form.token + self.logit_flops)
        return flops + sum(
            each * _exact_sum(reach.pairs(steps, prompt_tokens))
            for reach, each in form.pairs.items()
        )

    @property
    def linear(self) -> LinearForm:
        """The prefill of the whole model as one layer."""
        return _summed((w.layers, w.token_flops, w.view_flops, w.pairs) for w in self.layers)

    @property
    def decoding(self) -> LinearForm:
        """The decode of the whole model as one layer; a view costs nothing."""
        return _summed(
            (
                w.layers,
                w.token_flops if w.decode_token_flops is None else w.decode_token_flops,
                0,
                w.pairs if w.decode_pairs is None else w.decode_pairs,
            )
            for w in self.layers
        )


class LinearForm(NamedTuple):
    """FLOPs of a pass: ``token`` a new token, ``view`` a token in view, and these a pair."""

    token: int
    view: int
    pairs: Mapping[Reach, int]


def _summed(
    layers: Iterable[tuple[int, int, int, Sequence[PairWork]]],
) -> LinearForm:
    token = view = 0
    pairs: dict[Reach, int] = {}
    for count, each_token, each_view, each_pair in layers:
        token += count * each_token
        view += count * each_view
        for pair in each_pair:
            pairs[pair.reach] = pairs.get(pair.reach, 0) + count * pair.flops
    return LinearForm(token, view, pairs)


def _exact_sum(values: NDArray[np.int64]) -> int:
    """Return the sum without running over 64 bits: two halves that cannot."""
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFF_FFFF).sum())


def _at_least_0(n: Tokens) -> Tokens:
    return max(n, 0) if isinstance(n, int) else np.maximum(n, 0)
