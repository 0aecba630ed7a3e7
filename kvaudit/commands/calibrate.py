"""`kvaudit calibrate`: a semantic cache's threshold with a guarantee, or its policy on pairs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kvaudit.commands import inputs
from kvaudit.commands.groups import grouped
from kvaudit.commands.options import LogOptions, PrintOptions, RunOptions
from kvaudit.core.errors import Exit, UsageError
from kvaudit.core.progress import progress

if TYPE_CHECKING:
    from kvaudit.core.calibration import CalibrationReport, PairsReport
    from kvaudit.core.settings import Settings
    from kvaudit.replay.semantic.policy import SemanticPolicy

DEFAULT_LIMIT, DEFAULT_DELTA = 0.02, 0.10


@grouped
def calibrate(
    logs: Annotated[
        list[Path] | None, typer.Argument(metavar="[LOG...]", help="Request logs with labels.")
    ] = None,
    *,
    semantic: Annotated[
        Path, typer.Option(metavar="POLICY.toml", help="The policy of the semantic cache.")
    ],
    max_false_hit_rate: Annotated[
        float,
        typer.Option(min=0.0001, max=0.9999, help="The share of hits that may be wrong."),
    ] = DEFAULT_LIMIT,
    delta: Annotated[
        float,
        typer.Option(min=0.0001, max=0.9999, help="How often the guarantee may fail."),
    ] = DEFAULT_DELTA,
    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.jsonl", help="Try the policy on labelled pairs: a, b, same_answer."
        ),
    ] = None,
    max_wrong: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Exit 1 if a larger share of the different pairs is served."
        ),
    ] = None,
    log: LogOptions,
    printed: PrintOptions,
    run: RunOptions,
) -> None:
    """Choose a threshold that a log's labels prove, or try a policy on labelled pairs."""
    from kvaudit.replay.semantic.policy import load_policy
    from kvaudit.report.render import format_names, render_calibration

    settings = run.start()
    printout = printed.printout(format_names("pairs"))
    printout.check_apart([*(logs or ()), semantic, *([] if pairs is None else [pairs])])
    policy = load_policy(semantic)
    if (pairs is None) == (not logs):
        raise UsageError("give a LOG to calibrate on, or --pairs FILE.jsonl to try the policy on")
    if max_wrong is not None and pairs is None:
        raise UsageError("--max-wrong holds --pairs against a limit; name the file")
    report: PairsReport | CalibrationReport
    if pairs is not None:
        report = _tried(pairs, policy, max_wrong)
        code = _pairs_code(report)
    else:
        report = _calibrated(
            logs or [], log, settings, policy, limit=max_false_hit_rate, delta=delta
        )
        code = Exit.OK if report.requests else Exit.NOTHING_CHECKED
    printout.show(partial(render_calibration, report))
    raise typer.Exit(code)


def _pairs_code(report: PairsReport) -> Exit:
    if not report.same + report.traps:
        return Exit.NOTHING_CHECKED
    return Exit.OK if report.passed else Exit.FINDINGS


def _tried(path: Path, policy: SemanticPolicy, max_wrong: float | None) -> PairsReport:
    from kvaudit.core.calibration import PairsReport
    from kvaudit.replay.semantic.pairs import count, count_by, read_pairs, try_pairs

    pairs = read_pairs(path)
    tried = try_pairs(pairs, policy)
    both = list(zip(pairs, tried.served, strict=True))
    whole = count(both)
    rate = whole.wrong / whole.traps if whole.traps else None
    return PairsReport(
        same=whole.same,
        served=whole.served,
        traps=whole.traps,
        wrong=whole.wrong,
        wrong_rate=rate,
        by_kind=count_by(pairs, tried.served, lambda pair: pair.kind),
        by_language=count_by(pairs, tried.served, lambda pair: pair.language),
        wrong_ids=[pair.id for pair, hit in both if hit and not pair.same],
        refused_ids=[pair.id for pair, hit in both if not hit and pair.same],
        policy=_policy(tried.run.encoder, policy),
        max_wrong=max_wrong,
        # Without a trap nothing was served wrong, and nothing was tried either.
        passed=max_wrong is None or (rate is not None and rate <= max_wrong),
        notes=[note.text for note in tried.run.notes],
    )


def _calibrated(
    logs: list[Path],
    log: LogOptions,
    settings: Settings,
    policy: SemanticPolicy,
    *,
    limit: float,
    delta: float,
) -> CalibrationReport:
    from kvaudit.core.calibration import CalibrationReport
    from kvaudit.replay.semantic.calibration import calibrate as choose
    from kvaudit.replay.semantic.gather import gather
    from kvaudit.replay.semantic.scales import in_scale
    from kvaudit.replay.semantic.truth import Basis

    source = inputs.open_log(logs, log, settings, columns=policy.columns)
    with progress("calibrating", source.reader.size_bytes) as bar:
        gathered = gather(source.watched(bar), policy)
        found = choose(gathered, policy, limit=limit, delta=delta)
    chosen, run = found.chosen, found.run
    lookups = sum(one.looked_up for one in run.asked)
    proven = f"at most {100 * limit:g} % of hits are wrong, but for a chance of {100 * delta:g} %"
    if chosen is not None:
        verdict = f"cosine {chosen.threshold:g}: {proven}"
    elif run.verdicts.basis is not Basis.LABELS:
        verdict = (
            "no threshold: the log has no labels; add answer_group to requests, the same value "
            "where one answer serves both"
        )
    else:
        verdict = f"no threshold: these labels do not support that {proven}"
    return CalibrationReport(
        threshold=None if chosen is None else chosen.threshold,
        threshold_in_scale=None if chosen is None else in_scale(chosen.threshold, policy.scale),
        scale=policy.scale,
        max_false_hit_rate=limit,
        delta=delta,
        requests=lookups,
        hits=0 if chosen is None else chosen.hits,
        labelled=0 if chosen is None else chosen.labelled,
        false_hits=0 if chosen is None else chosen.false_hits,
        hit_rate=None if chosen is None or not lookups else chosen.hits / lookups,
        curve=found.curve,
        verdict=verdict,
        guarantee=(
            "Learn-then-Test over a fixed grid of cosines (arXiv 2110.01052), on this log's "
            "labelled hits where every request becomes an entry, taken as independent; not for "
            "hits on entries that only misses leave, nor for traffic unlike this log"
        ),
        policy=_policy(run.encoder, policy),
        notes=[note.text for note in (*source.reader.notes, *run.notes)],
    )


def _policy(encoder: str, policy: SemanticPolicy) -> str:
    check = ", entity check" if policy.entity_check else ""
    return f"{encoder}, threshold {policy.threshold:g} {policy.scale}{check}"
