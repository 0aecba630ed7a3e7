"""Which metric of an engine means what: one data file an engine, in ``engines/``.

A metric is named as it stands on ``/metrics``, with labels in braces where only some of its series
count: ``nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=used}``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict

from kvaudit.analyzers.metrics.exposition import Labels
from kvaudit.core.engine_metrics import Basis
from kvaudit.core.findings import Severity

_REF = re.compile(r"([A-Za-z_:][\w:]*)(?:\{([^{}]*)\})?")


class Ref(NamedTuple):
    """A metric, or those of its series that have some labels."""

    name: str
    where: Labels

    @classmethod
    def parse(cls, text: object) -> Ref:
        """Read ``name`` or ``name{label=value,...}``."""
        match = _REF.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            raise ValueError(f"{text!r} names no metric")
        pairs = (part.split("=", 1) for part in (match[2] or "").split(",") if part)
        return cls(match[1], tuple(sorted((name, value) for name, value in pairs)))


Metric = Annotated[Ref, BeforeValidator(Ref.parse)]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RateEntry(_Entry):
    """A rate: ``hits`` over the sum of ``of``, or the one gauge in ``hits``."""

    name: str
    basis: Basis = Basis.COUNTED
    hits: Sequence[Metric]
    of: Sequence[Metric] = ()
    unit: str = "tokens"
    definition: str
    fallback: Labels = ()
    """A label of series that say the same as all others together; passed over beside them."""


class FigureEntry(_Entry):
    """A figure to show."""

    name: str
    metric: Metric
    kind: Literal["gauge", "counter", "mean", "label"] = "gauge"
    """``mean``: of a histogram; ``label``: of the series' label ``label``."""
    label: str = ""
    combine: Literal["sum", "max"] = "sum"
    unit: str
    meaning: str


class OccupancyEntry(_Entry):
    """KV in use, and what tells whether anybody could be using it."""

    name: str
    metric: Metric
    unit: str
    holds: Literal["requests", "all"]
    tolerance: float
    """What an idle engine may show."""
    busy: Sequence[Metric] = ()
    """Gauges of requests; with all at 0 nobody holds KV."""
    traffic: Sequence[Metric] = ()
    """Counters; without growth nothing was served."""


class CheckEntry(_Entry):
    """Something that looks wrong if one of its conditions holds."""

    check: str
    severity: Severity
    says: str
    """``{value}`` stands for what was found, ``{more}`` and ``{than}`` for what is compared."""
    more: Sequence[Metric] = ()
    than: Sequence[Metric] = ()
    by: float = 0.0
    """As a share of ``than``."""
    grows: Metric | None = None
    """A counter, or a gauge, above 0."""
    zero: Metric | None = None
    """A gauge at 0."""
    labelled: Metric | None = None
    """A series with these labels."""


class MissingEntry(_Entry):
    """What cannot be said where none of these metrics is known."""

    none_of: Sequence[Metric]
    says: str


class Sheet(_Entry):
    """All that is read of one engine."""

    title: str
    names_from: str
    prefixes: Sequence[str]
    """A metric that starts so is this engine's."""
    rates: Sequence[RateEntry] = ()
    figures: Sequence[FigureEntry] = ()
    occupancy: Sequence[OccupancyEntry] = ()
    checks: Sequence[CheckEntry] = ()
    missing: Sequence[MissingEntry] = ()
    always_missing: Sequence[str] = ()
    """What no release of the engine says."""


@cache
def sheets() -> dict[str, Sheet]:
    """Return the sheets by engine, in alphabetical order."""
    folder = resources.files("kvaudit.analyzers.metrics").joinpath("engines")
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".toml")), key=lambda f: f.name)
    return {
        file.name.removesuffix(".toml"): Sheet.model_validate(
            tomllib.loads(file.read_text("utf-8"))
        )
        for file in files
    }
