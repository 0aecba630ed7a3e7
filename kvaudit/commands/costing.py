"""From the options that name a model and what it runs on to what a replay is priced with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from kvaudit.commands.cost_options import CostOptions
from kvaudit.core.errors import UsageError
from kvaudit.core.results import Note

if TYPE_CHECKING:
    from kvaudit.core.settings import Settings
    from kvaudit.cost.savings import Costing
    from kvaudit.cost.shapes import ModelShape


class Priced(NamedTuple):
    """What the tokens of a replay are priced with, and what must be said of it."""

    costing: Costing | None
    notes: tuple[Note, ...] = ()


def costing_of(options: CostOptions, shape: ModelShape | None, settings: Settings) -> Priced:
    """Return what the command line and the settings say of a model's cost.

    Without a model there is none. A model whose FLOPs are not known still has a KV size, so
    that is a note, unless an accelerator was asked for.
    """
    accelerator = options.accelerator or settings.accelerator
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


def models_of(namespaces: Iterable[str]) -> set[str]:
    """Return the models that a log names, from the names of its namespaces."""
    parts = (part for name in namespaces for part in name.split(", "))
    return {part for part in parts if part.startswith("model=")}


def _on(accelerator: str, options: CostOptions, shape: ModelShape) -> Costing:
    from kvaudit.cost.accelerators import find_accelerator
    from kvaudit.cost.roofline import ASSUMED, make_roofline
    from kvaudit.cost.savings import Costing

    assumptions = ASSUMED if options.mfu is None else ASSUMED._replace(mfu=options.mfu)
    roofline = make_roofline(
        shape,
        find_accelerator(accelerator),
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
