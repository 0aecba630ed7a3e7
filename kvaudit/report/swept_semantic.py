"""A sweep of a semantic cache's threshold as a person reads it: hits, and how many are wrong.

Rows are thresholds from strict to loose. A bar is the share of requests that are served; its dark
end the share that is served wrong, where every hit has a verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from kvaudit.core.redact import one_line
from kvaudit.core.semantic import SemanticCurve, ThresholdPoint
from kvaudit.report.figures import NONE, percent
from kvaudit.report.linted import hanging
from kvaudit.report.semantic import policy_sentence

RIGHT, WRONG = "█", "▒"
CHART_WIDTH = 132


def threshold_lines(curves: Sequence[SemanticCurve], screen_width: int) -> Iterator[Text]:
    """Yield each policy's rows."""
    for number, curve in enumerate(curves):
        if number:
            yield Text("")
        sentence = policy_sentence(curve.policy)
        yield from hanging(f"  {one_line(curve.name)}: ", sentence, min(screen_width, 100))
        yield from _rows(curve, min(screen_width, CHART_WIDTH))
        if any(point.method == "replayed" for point in curve.points):
            text = (
                f"thresholds below a cosine of {curve.graph_floor:g} have too many near pairs to "
                "keep, and were replayed one by one"
            )
            yield from hanging("    ", text, min(screen_width, 100))


def _rows(curve: SemanticCurve, width: int) -> Iterator[Text]:
    exact = any(point.exact_hits for point in curve.points)
    heads = ["threshold", "hit rate", "wrong", "at most", *(["exact"] if exact else [])]
    head = "".join(f"{name:>11}" for name in heads)
    with_errors = any(point.errors_per_request for point in curve.points)
    bars = f"  bars: {RIGHT} served" + (f" {WRONG} served wrong" if with_errors else "")
    yield Text.assemble((head, "dim"), (bars, "dim"))
    for point in curve.points:
        cells = [
            f"{point.threshold:.6g}",
            percent(point.hit_rate),
            percent(point.false_hit_rate),
            percent(point.false_hit_rate_upper95),
            *([_exact(point)] if exact else []),
        ]
        row = Text("".join(f"{cell:>11}" for cell in cells) + "  ")
        row.append_text(_bar(point, width - len(head) - 2))
        row.rstrip()
        yield row


def _exact(point: ThresholdPoint) -> str:
    return percent(point.exact_hits / point.lookups) if point.lookups else NONE


def _bar(point: ThresholdPoint, width: int) -> Text:
    served = round((point.hit_rate or 0) * width)
    wrong = min(served, round((point.errors_per_request or 0) * width))
    return Text.assemble((RIGHT * (served - wrong), "cyan"), (WRONG * wrong, "red"))


def threshold_facts(curves: Sequence[SemanticCurve]) -> Iterator[tuple[str, object]]:
    """Yield every point by name."""
    for curve in curves:
        name = one_line(curve.name)
        yield "policy", f"{name}: {policy_sentence(curve.policy)}"
        for point in curve.points:
            at = f"{name}, {point.threshold:.6g}"
            yield f"semantic hit rate, {at}", _share(point.hit_rate)
            yield f"false-hit rate, {at}", _share(point.false_hit_rate)
            yield f"false-hit rate, upper 95 %, {at}", _share(point.false_hit_rate_upper95)


def threshold_definitions(curves: Sequence[SemanticCurve]) -> Iterator[tuple[str, str]]:
    """Yield (name, definition) of what is shown, each once."""
    yield from dict.fromkeys(("semantic", curve.definition) for curve in curves)
    yield from dict.fromkeys(("wrong hits", curve.basis_definition) for curve in curves)


def threshold_sentence(curves: Sequence[SemanticCurve]) -> str:
    """Return the ends of the curves in one sentence."""
    ends = []
    for curve in curves:
        strict, loose = curve.points[0], curve.points[-1]
        ends.append(
            f"{one_line(curve.name)}: {percent(strict.hit_rate)} served at "
            f"{strict.threshold:.6g}, {percent(loose.hit_rate)} at {loose.threshold:.6g}"
        )
    return "; ".join(ends)


def _share(value: float | None) -> str:
    return NONE if value is None else f"{value:.4f}"
