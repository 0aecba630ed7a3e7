"""What of a finished run is easier to see than to read: curves, as data.

A plot knows nothing of how it is drawn, so a test can hold its points against the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kvaudit.core.redact import one_line
from kvaudit.core.runs import Kind, Run

Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Curves over one axis, in the order in which they are to be named."""

    title: str
    x_title: str
    y_title: str
    curves: Mapping[str, Sequence[Point]]
    marks: Mapping[str, float] = field(default_factory=dict)
    """Places on the x axis that the run recommends, by name."""
    logarithmic: bool = False
    """The x axis; its values are positive then."""
    shares: bool = False
    """The y axis is a share from 0 to 1."""
    steps: bool = False
    """A value holds until the next point."""


def plots_of(run: Run) -> list[Plot]:
    """Return a run's plots; none where it holds no curve of two points or more."""
    makers: Mapping[Kind, Callable[[Run], Iterator[Plot]]] = {
        Kind.SWEEP: _sweep,
        Kind.REPLAY: _occupancy,
    }
    maker = makers.get(run.kind)
    return [] if maker is None else [plot for plot in maker(run) if plot.curves]


def _sweep(run: Run) -> Iterator[Plot]:
    named = [("this cache", run), *_variants(run)]
    curves = {name: _rates(part.rows("curve")) for name, part in named}
    curves["eviction that knows the future"] = _rates(run.rows("optimal"))
    marks = {
        name: blocks
        for name in ("knee", "recommended")
        if (blocks := run.number(name, "capacity_blocks")) is not None
    }
    yield Plot(
        title="hit rate by capacity",
        x_title="capacity, blocks",
        y_title="hit rate",
        curves=_drawable(curves),
        marks=marks,
        logarithmic=True,
        shares=True,
    )


def _variants(run: Run) -> Iterator[tuple[str, Run]]:
    for each in run.rows("policies"):
        yield each.text("policy") or "", each
    for each in run.rows("tiers"):
        yield f"with {one_line(each.text('name') or 'a tier')}", each
    for each in run.rows("instances"):
        yield f"{int(each.number('instances') or 0)} replicas, {each.text('router')}", each


def _rates(points: Sequence[Run]) -> list[Point]:
    """Return the points of a curve that have a place on the axis: a limit of blocks, and a rate."""
    found = []
    for point in points:
        blocks, rate = point.number("capacity_blocks"), point.number("hit_rate")
        if blocks is not None and blocks > 0 and rate is not None:
            found.append((blocks, rate))
    return found


def _occupancy(run: Run) -> Iterator[Plot]:
    points = [
        (float(each[0]), float(each[1]))
        for each in run.at("prefix", "occupancy") or ()
        if isinstance(each, list) and len(each) == 2 and None not in each
    ]
    start = points[0][0] if points else 0.0
    yield Plot(
        title="blocks that the cache holds",
        x_title="seconds since the first request",
        y_title="blocks",
        curves=_drawable({"blocks held": [(at - start, blocks) for at, blocks in points]}),
        steps=True,
    )


def _drawable(curves: Mapping[str, Sequence[Point]]) -> dict[str, Sequence[Point]]:
    return {name: points for name, points in curves.items() if len(points) > 1}
