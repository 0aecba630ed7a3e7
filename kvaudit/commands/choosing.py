"""A threshold that a log's labels prove: `kvaudit calibrate LOG`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kvaudit.commands import inputs, pair_trial
from kvaudit.core.progress import progress

if TYPE_CHECKING:
    from kvaudit.commands.options import LogOptions
    from kvaudit.core.calibration import CalibrationReport
    from kvaudit.core.settings import Settings
    from kvaudit.replay.semantic.calibration import Calibrated
    from kvaudit.replay.semantic.policy import SemanticPolicy

GUARANTEE = (
    "Learn-then-Test over a fixed grid of cosines (arXiv 2110.01052), on this log's labelled hits "
    "where every request becomes an entry, taken as independent; not for hits on entries that only "
    "misses leave, nor for traffic unlike this log"
)


class Promise(NamedTuple):
    """What a threshold has to hold."""

    limit: float
    """The share of hits that may be wrong."""
    delta: float
    """How often what is proven may be wrong."""
    hold_out: float
    """Share of the log, its end, that has no say in the threshold."""


def chosen(
    logs: list[Path],
    log: LogOptions,
    settings: Settings,
    policy: SemanticPolicy,
    promise: Promise,
) -> CalibrationReport:
    """Choose the policy's threshold on the labels of a log, and say what they prove of it."""
    from kvaudit.core.calibration import CalibrationReport
    from kvaudit.core.scales import in_scale
    from kvaudit.replay.semantic.calibration import calibrate, precision_area
    from kvaudit.replay.semantic.gather import gather

    source = inputs.open_log(logs, log, settings, columns=policy.columns)
    with progress("calibrating", source.reader.size_bytes) as bar:
        gathered = gather(source.watched(bar), policy)
        found = calibrate(gathered, policy, **promise._asdict())
    point, run = found.chosen, found.run
    heard = run.asked[: round(len(run.asked) * (1 - promise.hold_out))]
    lookups = sum(one.looked_up for one in heard)
    return CalibrationReport(
        threshold=None if point is None else point.threshold,
        threshold_in_scale=None if point is None else in_scale(point.threshold, policy.scale),
        scale=policy.scale,
        max_false_hit_rate=promise.limit,
        delta=promise.delta,
        requests=lookups,
        hits=0 if point is None else point.hits,
        labelled=0 if point is None else point.labelled,
        false_hits=0 if point is None else point.false_hits,
        hit_rate=None if point is None or not lookups else point.hits / lookups,
        curve=found.curve,
        precision_area=precision_area(found.curve),
        again=found.again,
        verdict=_verdict(found, promise),
        guarantee=GUARANTEE,
        policy=pair_trial.described(run.encoder, policy),
        notes=[note.text for note in (*source.reader.notes, *run.notes)],
    )


def _verdict(found: Calibrated, promise: Promise) -> str:
    from kvaudit.replay.semantic.truth import Basis

    proven = (
        f"at most {100 * promise.limit:g} % of hits are wrong, but for a chance of "
        f"{100 * promise.delta:g} %"
    )
    if found.chosen is not None:
        return f"cosine {found.chosen.threshold:g}: {proven}"
    if found.run.verdicts.basis is not Basis.LABELS:
        return (
            "no threshold: the log has no labels; add answer_group to requests, the same value "
            "where one answer serves both"
        )
    return f"no threshold: these labels do not support that {proven}"
