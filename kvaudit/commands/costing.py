"""From the options that name a model and what it runs on to what a replay is priced with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kvaudit.commands.cost_options import CostOptions
from kvaudit.core.errors import UsageError
from kvaudit.core.summaries import Note

if TYPE_CHECKING:
    from kvaudit.core.settings import Settings
    from kvaudit.cost.savings import Costing
    from kvaudit.cost.shapes import ModelShape
    from kvaudit.replay.plan import Plan
    from kvaudit.replay.result import ReplayResult


class Priced(NamedTuple):
    """What the tokens of a replay are priced with, and what must be said of it."""

    costing: Costing | None
    notes: tuple[Note, ...] = ()


def costing_of(
    options: CostOptions, shape: ModelShape | None, settings: Settings, *, hosted: bool = False
) -> Priced:
    """Return what the command line and the settings say of a model's cost.

    Without a model there is none. A model whose FLOPs are not known still has a KV size, so
    that is a note, unless an accelerator was asked for.
    """
    accelerator = options.accelerator or settings.accelerator
    if hosted and options.accelerator is not None:
        raise UsageError(
            f"--accelerator {options.accelerator}: nobody knows what a provider's models run on; "
            "leave it out, money is counted by the provider's prices"
        )
    if shape is None:
        _need_model(options)
        return Priced(None)
    if accelerator is None:
        _need_accelerator(options)
    from kvaudit.cost.savings import Costing

    try:
        work = shape.work()
    except UsageError as error:
        if accelerator is not None:
            raise
        return Priced(None, (Note(topic="flops", text=f"no FLOPs: {error}"),))
    notes = () if work.note is None else (Note(topic="flops", text=work.note),)
    if accelerator is None:
        return Priced(Costing(work=work), notes)
    return Priced(_on(accelerator, options, shape), notes)


def cost_notes(
    plan: Plan, namespaces: Iterable[str], result: ReplayResult | None
) -> Iterator[Note]:
    """Yield what must be said of a priced replay: models that differ, a capacity too large."""
    parts = (part for name in namespaces for part in name.split(", "))
    models = {part for part in parts if part.startswith("model=")}
    if len(models) > 1:
        text = f"the log names {len(models)} models, and all are priced as {plan.model}"
        yield Note(topic="model", text=text)
    use = result.savings.accelerator if result is not None and result.savings else None
    if result is None or use is None or use.kv_room_blocks is None:
        return
    capacity = result.engine.capacity_blocks
    if capacity is not None and capacity > use.kv_room_blocks:
        yield Note(
            topic="capacity",
            text=f"the capacity of {capacity:,} blocks is more than the {use.kv_room_blocks:,} "
            f"for which {use.count} x {use.name} has room beside the weights",
        )


def _on(accelerator: str, options: CostOptions, shape: ModelShape) -> Costing:
    from kvaudit.cost.accelerators import find_accelerator
    from kvaudit.cost.measured import SUFFIX, read_measured
    from kvaudit.cost.roofline import ASSUMED, make_roofline
    from kvaudit.cost.savings import Costing

    if accelerator.endswith(SUFFIX):
        kind, assumptions = read_measured(Path(accelerator))
    else:
        kind, assumptions = find_accelerator(accelerator), ASSUMED
    if options.mfu is not None:
        assumptions = assumptions._replace(mfu=options.mfu)
    roofline = make_roofline(
        shape,
        kind,
        count=options.accelerators or 1,
        weights=options.weights,
        assumptions=assumptions,
    )
    return Costing(work=roofline.work, roofline=roofline, usd_per_hour=options.price_per_hour)


def _need_model(options: CostOptions) -> None:
    if options.accelerator is not None:
        raise UsageError(
            f"--accelerator {options.accelerator} needs --model: what runs on it says how long "
            "it takes"
        )
    _need_accelerator(options)


def _need_accelerator(options: CostOptions) -> None:
    given = {
        "--accelerators": options.accelerators,
        "--weights": options.weights,
        "--mfu": options.mfu,
        "--price-per-hour": options.price_per_hour,
    }
    for name, value in given.items():
        if value is not None:
            raise UsageError(f"{name} needs --model and --accelerator, which it says more of")
