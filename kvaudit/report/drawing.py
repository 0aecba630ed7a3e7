"""A plot as a picture in SVG, which needs no script and no network to be seen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from kvaudit.core.extras import load
from kvaudit.report.plots import Plot, Point

WIDTH, HEIGHT = 860, 300
MOST_POINTS = 2_000
"""Of one curve: more than the picture has columns, and a long log has millions."""
# Greys and hues that are read on a white page and on a black one.
_INK, _GRID = "#7d8590", "#7d859040"
_HUES = ["#2f81f7", "#bf8700", "#2da44e", "#cf222e", "#8250df", "#1b7c83", "#bc4c00", "#6e7781"]


def svg(plot: Plot) -> str:
    """Return the picture. Raises `MissingExtra` where what draws it is not installed."""
    specification = chart(plot).to_dict()
    drawn: str = load("vl_convert", extra="report").vegalite_to_svg(specification)
    # Inside a page the name of SVG's own vocabulary is known, and a reader who looks for
    # addresses in the page finds none.
    return re.sub(r' xmlns(:xlink)?="[^"]*"', "", drawn)


def chart(plot: Plot) -> Any:
    """Return the plot as an `altair.Chart`."""
    alt = load("altair", extra="report")
    rows = [
        {"x": x, "y": y, "curve": name}
        for name, points in plot.curves.items()
        for x, y in _thinned(points)
    ]
    x = alt.X(
        "x:Q",
        title=plot.x_title,
        scale=alt.Scale(type="log" if plot.logarithmic else "linear", nice=False),
        axis=alt.Axis(format="~s" if plot.logarithmic else ",~r", labelOverlap=True),
    )
    y = alt.Y(
        "y:Q",
        title=plot.y_title,
        scale=alt.Scale(domainMin=0),
        axis=alt.Axis(format=".0%" if plot.shares else "~s"),
    )
    names = list(plot.curves)
    hue = alt.Color(
        "curve:N",
        title=None,
        scale=alt.Scale(domain=names, range=_HUES),
        legend=alt.Legend(orient="top", labelLimit=400) if len(names) > 1 else None,
    )
    line = alt.Chart(alt.Data(values=rows)).mark_line(
        interpolate="step-after" if plot.steps else "linear"
    )
    layers = [line.encode(x=x, y=y, color=hue), *_marks(alt, plot)]
    return (
        alt.layer(*layers)
        .properties(width=WIDTH, height=HEIGHT, background="transparent")
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=_INK, titleColor=_INK, gridColor=_GRID, domainColor=_INK, tickColor=_INK
        )
        .configure_legend(labelColor=_INK)
    )


def _thinned(points: Sequence[Point]) -> Sequence[Point]:
    """Return what can be seen of many points: the highest of neighbours, and where they end."""
    neighbours = 1 + len(points) // (MOST_POINTS - 1)
    if neighbours == 1:
        return points
    runs = (points[start : start + neighbours] for start in range(0, len(points), neighbours))
    highest = [max(run, key=lambda point: point[1]) for run in runs]
    return highest if highest[-1] == points[-1] else [*highest, points[-1]]


def _marks(alt: Any, plot: Plot) -> list[Any]:
    if not plot.marks:
        return []
    # Two that stand on one place are one line with both names.
    places: dict[float, list[str]] = {}
    for name, at in plot.marks.items():
        places.setdefault(at, []).append(name)
    rows = [
        # Neighbours stand one above the other.
        {"x": at, "y": HEIGHT - 4 - 14 * level, "name": ", ".join(names)}
        for level, (at, names) in enumerate(sorted(places.items()))
    ]
    data = alt.Data(values=rows)
    rule = alt.Chart(data).mark_rule(strokeDash=[4, 4], color=_INK).encode(x="x:Q")
    label = (
        alt.Chart(data)
        .mark_text(align="left", baseline="bottom", dx=4, color=_INK)
        .encode(x="x:Q", y=alt.Y("y:Q", scale=None), text="name:N")
    )
    return [rule, label]
