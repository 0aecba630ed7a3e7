"""The report on a labelling sheet, in lines."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from kvaudit.core.calibration import LabelReport, MonitorReport
from kvaudit.core.redact import one_line
from kvaudit.report.figures import NONE, percent, plural
from kvaudit.report.linted import hanging

SHOWN_FAULTS = 5
_COLORS = {"pass": "green", "fail": "bold red"}


def label_parts(report: LabelReport, width: int) -> Iterator[Iterator[Text]]:
    """Yield the screen of a labelling sheet, part by part."""
    yield hanging("  ", verdict_of(report), width, _COLORS.get(report.verdict, "bold"))
    yield _figures(report, width)
    yield _remarks(report, width)


def verdict_of(report: LabelReport) -> str:
    """Say what is proven, or what is missing."""
    limit, sure = percent(report.limit), percent(1 - report.alpha)
    if report.verdict == "pass":
        return f"pass: at most {limit} of the hits are wrong, at {sure} confidence"
    if report.verdict == "fail":
        return f"fail: more than {limit} of the hits are wrong, at {sure} confidence"
    if report.labels_still_needed is None:
        return f"undecided: these labels prove the rate neither under nor over {limit}"
    more = plural(report.labels_still_needed, "more label")
    return f"undecided: {more} without a wrong one would prove {limit}"


def label_facts(report: LabelReport) -> Iterator[tuple[str, object]]:
    """Yield the figures by name."""
    yield "verdict", verdict_of(report)
    yield "hits", report.population
    yield from (("labelled", report.labelled), ("wrong", report.wrong), ("donors", report.donors))
    yield "false-hit rate", _share(report.false_hit_rate)
    yield "upper bound", _share(report.upper)
    yield "upper bound at any time of stopping", _share(report.anytime_upper)
    yield "upper bound by donor", _share(report.upper_by_donor)
    yield "extra sample", f"{report.extra_wrong} of {report.extra_labelled} wrong, counted apart"


def _share(value: float | None) -> str:
    return NONE if value is None else f"{value:.4f}"


def _figures(report: LabelReport, width: int) -> Iterator[Text]:
    rate = NONE if report.false_hit_rate is None else percent(report.false_hit_rate)
    yield from hanging(
        "  labels  ",
        f"{report.labelled:,} of a random {report.sample:,} of {report.population:,} hits; "
        f"{report.wrong:,} wrong: {rate}",
        width,
    )
    if report.upper is not None and report.upper_by_donor is not None:
        yield from hanging(
            "  bound   ",
            f"at most {percent(report.upper)} of this log's hits; {percent(report.upper_by_donor)} "
            f"of traffic to come, as if all hits of one of the {report.donors:,} donors were right "
            "or wrong together",
            width,
        )
    yield from hanging(
        "  so far  ",
        f"at most {percent(report.anytime_upper)}, whenever one stops labelling",
        width,
    )


def _remarks(report: LabelReport, width: int) -> Iterator[Text]:
    if report.extra_labelled:
        yield from hanging(
            "  risky   ",
            f"{report.extra_wrong:,} of {report.extra_labelled:,} wrong where faults were likely; "
            "in no figure above",
            width,
        )
    if report.behind_a_gap:
        more = plural(report.behind_a_gap, "label")
        yield from hanging(
            "  note    ", f"{more} behind a row without one are left out: fill the gap", width
        )
    if report.agreement is not None:
        agree, both = report.agreement
        yield from hanging("  raters  ", f"agree on {agree:,} of {both:,} rows", width)
    for donor, request, before, asked in report.faults[:SHOWN_FAULTS]:
        texts = f"{one_line(before)} | {one_line(asked)}"
        yield from hanging(
            "  wrong   ", f"{one_line(donor)} for {one_line(request)}: {texts}", width
        )


def monitor_parts(report: MonitorReport, width: int) -> Iterator[Iterator[Text]]:
    """Yield the screen of watched production, part by part."""
    yield hanging("  ", watched_sentence(report), width, _COLORS.get(report.verdict, "bold"))


def watched_sentence(report: MonitorReport) -> str:
    """Say where production stands."""
    limit, so_far = percent(report.limit), f"{report.wrong:,} of {report.labelled:,} wrong"
    if report.verdict == "fail":
        return f"alarm: proven over {limit} after {report.over_after:,} labels; {so_far}"
    upper = percent(report.anytime_upper)
    if report.verdict == "pass":
        return (
            f"proven under {limit} after {report.proven_after:,} labels; {so_far}: at most {upper}"
        )
    return f"undecided against {limit}: {so_far}, at most {upper} so far"


def monitor_facts(report: MonitorReport) -> Iterator[tuple[str, object]]:
    """Yield the figures by name."""
    yield "verdict", watched_sentence(report)
    yield from (("labelled", report.labelled), ("wrong", report.wrong))
    yield "upper bound at any time of stopping", _share(report.anytime_upper)
