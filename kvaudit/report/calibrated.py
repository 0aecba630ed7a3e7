"""The reports of `kvaudit calibrate`, in lines."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from kvaudit.core.calibration import Again, CalibrationReport, PairCounts, PairsReport
from kvaudit.core.redact import one_line
from kvaudit.report.figures import NONE, percent
from kvaudit.report.linted import hanging

SHOWN_IDS = 8


def pairs_parts(report: PairsReport, width: int) -> Iterator[Iterator[Text]]:
    """Yield the screen of a policy on labelled pairs, part by part."""
    yield hanging("", one_line(report.policy), width)
    yield _pairs_table(report)
    yield _pairs_remarks(report, width)


def _pairs_table(report: PairsReport) -> Iterator[Text]:
    yield Text(f"  {'':24}{'same answer':>12}{'served':>12}{'traps':>8}{'wrong':>12}", "dim")
    whole = PairCounts(
        same=report.same, served=report.served, traps=report.traps, wrong=report.wrong
    )
    for name, counts in (("all", whole), *report.by_kind.items()):
        served, wrong = _of(counts.served, counts.same), _of(counts.wrong, counts.traps)
        row = f"{counts.same:>12,}{served:>12}{counts.traps:>8,}{wrong:>12}"
        yield Text(f"  {one_line(name)[:23]:24}{row}")


def _of(part: int, whole: int) -> str:
    return f"{part:,} {percent(part / whole):>7}" if whole else NONE


def _pairs_remarks(report: PairsReport, width: int) -> Iterator[Text]:
    for label, ids in (("wrong", report.wrong_ids), ("not served", report.refused_ids)):
        if ids:
            more = f" and {len(ids) - SHOWN_IDS:,} more" if len(ids) > SHOWN_IDS else ""
            named = ", ".join(one_line(name) for name in ids[:SHOWN_IDS])
            yield from hanging(f"  {label}  ", named + more, width)
    for note in report.notes:
        yield from hanging("  note  ", one_line(note), width)
    verdict = pairs_verdict(report)
    if verdict is not None:
        yield from hanging("  budget  ", verdict, width, "green" if report.passed else "bold red")


def pairs_verdict(report: PairsReport) -> str | None:
    """Say whether --max-wrong was kept; None where it was not asked for."""
    if report.max_wrong is None:
        return None
    verdict = "met" if report.passed else "missed"
    served = percent(report.wrong_rate) if report.wrong_rate is not None else "no share"
    return f"{served} of the traps served, at most {percent(report.max_wrong)}: {verdict}"


def pairs_facts(report: PairsReport) -> Iterator[tuple[str, object]]:
    """Yield the counts by name."""
    yield "policy", one_line(report.policy)
    yield from (("same", report.same), ("served", report.served))
    yield from (("traps", report.traps), ("wrong", report.wrong))
    for kind, counts in report.by_kind.items():
        yield (
            f"kind {one_line(kind)}",
            f"{counts.served} of {counts.same} served, {counts.wrong} of {counts.traps} wrong",
        )
    yield from (("note", one_line(note)) for note in report.notes)
    verdict = pairs_verdict(report)
    if verdict is not None:
        yield "budget", verdict


def calibration_parts(report: CalibrationReport, width: int) -> Iterator[Iterator[Text]]:
    """Yield the screen of a calibration, part by part."""
    yield hanging("", one_line(report.policy), width)
    yield hanging("  ", one_line(report.verdict), width, "bold")
    yield _curve(report)
    yield _calibration_remarks(report, width)


def _curve(report: CalibrationReport) -> Iterator[Text]:
    tested = [point for point in report.curve if point.p_value is not None]
    if tested:
        yield Text(f"  {'cosine':>8}{'hits':>10}{'labelled':>10}{'wrong':>8}{'p':>10}", "dim")
    for point in tested:
        mark = "  <- chosen" if point.threshold == report.threshold else ""
        yield Text(
            f"  {point.threshold:>8.3f}{point.hits:>10,}{point.labelled:>10,}"
            f"{point.false_hits:>8,}{point.p_value:>10.4f}{mark}"
        )


def _again(again: Again) -> str:
    """Say what the chosen threshold did once more, as the cache runs."""
    whose = "fresh requests" if again.fresh else "the same requests, which proves nothing more"
    if again.upper is None or again.upper_by_donor is None:
        return f"{whose}: none of {again.hits:,} hits has a label"
    return (
        f"{whose}, entries from misses only: {again.false_hits:,} of {again.labelled:,} "
        f"labelled hits wrong, at most {percent(again.upper)}; {percent(again.upper_by_donor)} as "
        f"if all hits of one of {again.donors:,} donors were right or wrong together"
    )


def _calibration_remarks(report: CalibrationReport, width: int) -> Iterator[Text]:
    if report.again is not None:
        yield from hanging("  again  ", _again(report.again), width)
    if report.precision_area is not None:
        area = f"{report.precision_area:.3f} of at most {report.curve[-1].hit_ratio or 0:.3f}"
        yield from hanging("  curve  ", f"area under precision over hit ratio {area}", width)
    for note in report.notes:
        yield from hanging("  note  ", one_line(note), width)
    yield from hanging("  guarantee = ", report.guarantee, width, "dim")


def calibration_facts(report: CalibrationReport) -> Iterator[tuple[str, object]]:
    """Yield the figures by name."""
    yield "policy", one_line(report.policy)
    yield "verdict", one_line(report.verdict)
    yield "threshold", NONE if report.threshold is None else report.threshold
    yield "requests", report.requests
    yield from (("hits", report.hits), ("labelled", report.labelled))
    yield "false hits", report.false_hits
    if report.again is not None:
        yield "again", _again(report.again)
    if report.precision_area is not None:
        yield "area under precision over hit ratio", f"{report.precision_area:.4f}"
    yield from (("note", one_line(note)) for note in report.notes)
    yield "guarantee", report.guarantee
