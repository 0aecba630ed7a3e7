"""How long an engine's steps take in a timed replay, and what that rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kvaudit.core.errors import UsageError
from kvaudit.cost.accelerators import find_accelerator
from kvaudit.cost.catalogue import load_model_shape
from kvaudit.cost.roofline import MEMORY_SHARE, Roofline, make_roofline
from kvaudit.cost.steps import StepCost, step_cost

if TYPE_CHECKING:
    from kvaudit.replay.plan import Plan

DEFAULT_MODEL = "llama-3.1-8b"
DEFAULT_ACCELERATOR = "h100"


class StepClock(NamedTuple):
    """What a step costs, and the parameters in words."""

    cost: StepCost
    words: str


def step_clock(plan: Plan) -> StepClock:
    """Return the clock for what the plan runs on; what it leaves open is taken, and said.

    Raises `UsageError` where the work of the model that is named is not known, if times were
    asked for.
    """
    roofline = plan.costing.roofline if plan.costing is not None else None
    assumed = "" if roofline is not None else " (assumed)"
    if roofline is None:
        try:
            roofline = _assumed(plan.model or DEFAULT_MODEL)
        except UsageError:
            if plan.schedule is not None:
                raise
            # Nobody asked for times: better those of another model than none.
            roofline = _assumed(DEFAULT_MODEL)
    taken = roofline.assumptions
    count = f"{roofline.count} x " if roofline.count > 1 else ""
    words = (
        f"{roofline.shape.name} on {count}{roofline.accelerator.title}{assumed}, "
        f"MFU {taken.mfu:g}, bandwidth x {taken.bandwidth_efficiency:g}"
    )
    return StepClock(step_cost(roofline), words)


def _assumed(model: str) -> Roofline:
    """Return the model on as few accelerators, a power of two, as hold its weights."""
    shape, accelerator = load_model_shape(model), find_accelerator(DEFAULT_ACCELERATOR)
    weights = shape.weight_format(None).bytes_of(shape.work())
    count = 1
    while weights >= int(accelerator.memory_bytes * MEMORY_SHARE) * count:
        count *= 2
    return make_roofline(shape, accelerator, count=count)
