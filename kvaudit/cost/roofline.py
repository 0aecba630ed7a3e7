"""How long a step takes, by a roofline: the slower of computing and of moving memory.

    compute   FLOPs of the batch / (peak x MFU x accelerators)
    memory    weights, read once, and KV of all tokens in view
              / (bandwidth x efficiency x accelerators)
    step      the larger of the two, plus a constant

A model, not a measurement: MFU and efficiencies are assumptions that stand beside every result,
and can be fitted to measured times (`fit`). Left out: communication between accelerators (so many
of them look better than they are), kernels that overlap, and everything a server does before the
first step and after the last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.errors import UsageError
from kvaudit.cost.accelerators import Accelerator
from kvaudit.cost.shapes import ModelShape
from kvaudit.cost.weights import WeightFormat
from kvaudit.cost.work import ModelWork

MFU = 0.5
"""Share of the peak that prefill reaches; served models measure 0.3 to 0.7."""
BANDWIDTH_EFFICIENCY = 0.8
"""Share of a datasheet's bandwidth that copies reach."""
MEMORY_SHARE = 0.9
"""Share of the memory an engine may take (vLLM's ``gpu_memory_utilization`` to 0.1x: 0.9)."""


class Assumptions(NamedTuple):
    """What the roofline takes for granted; printed beside every result."""

    mfu: float = MFU
    bandwidth_efficiency: float = BANDWIDTH_EFFICIENCY
    constant_s: float = 0.0
    """Added to every step."""


ASSUMED = Assumptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class Roofline:
    """A model on some accelerators of one kind, which share its weights and its work evenly."""

    shape: ModelShape
    work: ModelWork
    accelerator: Accelerator
    count: int
    weights: WeightFormat
    assumptions: Assumptions = ASSUMED

    @property
    def flops_per_s(self) -> float:
        """FLOPs a second that are reached."""
        peak = self.accelerator.peak_flops(in_8_bits=self.weights.computes_in_8_bits)
        return peak * self.assumptions.mfu * self.count

    @property
    def bytes_per_s(self) -> float:
        """Bytes of the accelerators' memory that are read in a second."""
        rate = self.accelerator.memory_bandwidth * self.assumptions.bandwidth_efficiency
        return rate * self.count

    @property
    def host_bytes_per_s(self) -> float:
        """Bytes a second from the host's memory, all accelerators together."""
        rate = self.accelerator.host_bandwidth * self.assumptions.bandwidth_efficiency
        return rate * self.count

    @property
    def kv_bytes_in_view(self) -> int:
        """Bytes read for each token that a layer of full attention looks at."""
        return self.shape.kv_bytes_per_token

    def weight_bytes_read(self, tokens: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the bytes of weights that steps of so many tokens each read.

        Of routed experts, those that at least one token uses, if tokens choose independently.
        """
        missed = 1 - self.work.active_experts / max(self.work.experts, 1)
        read: NDArray[np.float64] = self.weights.step_bytes(self.work) + self.weights.expert_bytes(
            self.work
        ) * (1 - missed ** tokens.astype(np.float64))
        return read

    def prefill_s(self, new: NDArray[np.int64], reused: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the seconds of each request's prefill, alone on the accelerators, in one step.

        A request with nothing new takes no time.
        """
        compute = self.work.prefill_flops_each(new, reused) / self.flops_per_s
        read = self.weight_bytes_read(new) + (new + reused) * float(self.kv_bytes_in_view)
        seconds = np.maximum(compute, read / self.bytes_per_s) + self.assumptions.constant_s
        timed: NDArray[np.float64] = np.where(new > 0, seconds, 0.0)
        return timed

    def load_s(
        self, tokens: NDArray[np.int64], bytes_per_s: float | None = None
    ) -> NDArray[np.float64]:
        """Return the seconds of loading the KV of so many tokens.

        From the host's memory, over all accelerators' links, or at ``bytes_per_s``, which is
        taken as it is: a network or a disk has a rate of its own.
        """
        rate = self.host_bytes_per_s if bytes_per_s is None else bytes_per_s
        seconds: NDArray[np.float64] = tokens.astype(np.float64) * self.kv_bytes_in_view / rate
        return seconds

    def kv_room_bytes(self) -> int:
        """Return what is left for KV after the weights; negative where they do not fit."""
        memory = int(self.accelerator.memory_bytes * MEMORY_SHARE) * self.count
        return memory - self.weights.bytes_of(self.work)


def make_roofline(
    shape: ModelShape,
    accelerator: Accelerator,
    *,
    count: int = 1,
    weights: str | None = None,
    assumptions: Assumptions = ASSUMED,
) -> Roofline:
    """Return the model on ``count`` accelerators.

    Raises `UsageError` where the model's FLOPs are not known, or its weights do not fit.
    """
    roofline = Roofline(
        shape=shape,
        work=shape.work(),
        accelerator=accelerator,
        count=count,
        weights=shape.weight_format(weights),
        assumptions=assumptions,
    )
    if roofline.kv_room_bytes() <= 0:
        size = roofline.weights.bytes_of(roofline.work) / 1e9
        each = accelerator.memory_bytes * MEMORY_SHARE / 1e9
        raise UsageError(
            f"--model {shape.name}: its weights take {size:,.0f} GB ({roofline.weights.name}), "
            f"and {count} x {accelerator.title} has {count * each:,.0f} GB for them; "
            "say --accelerators N, or --weights fp8"
        )
    return roofline
