"""`kvaudit sweep --semantic`: the threshold of semantic caches, from strict to loose."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kvaudit.commands import inputs
from kvaudit.commands.semantic_front import log_of
from kvaudit.core.progress import progress

if TYPE_CHECKING:
    from kvaudit.core.curve import SweepReport
    from kvaudit.core.semantic import SemanticCurve
    from kvaudit.replay.semantic.policy import SemanticPolicy
    from kvaudit.replay.semantic.run import Prepared


def swept_thresholds(
    source: inputs.OpenLog,
    policies: Sequence[tuple[Path, SemanticPolicy]],
    thresholds: list[float] | None,
    warmup: float,
) -> SweepReport:
    """Replay each policy at each threshold."""
    from kvaudit.core.curve import SweepReport
    from kvaudit.core.summaries import Note
    from kvaudit.replay.plan import first_counted

    curves, notes, log = [], list[Note](), None
    for path, policy in policies:
        prepared, skipped = _prepared(source, policy)
        log = log or log_of(source, prepared.asked, skipped)
        first = first_counted(warmup, len(prepared.asked))
        if prepared.asked:
            curves.append(_curve(prepared, thresholds, str(path), first))
        notes += [note for note in prepared.notes if note not in notes]
    assert log is not None
    first = first_counted(warmup, log.requests)
    return SweepReport(
        log=log,
        engine=None,
        requests=log.requests - first,
        prompt_tokens=0,
        semantic=curves,
        notes=[*source.reader.notes, *notes],
    )


def _prepared(source: inputs.OpenLog, policy: SemanticPolicy) -> tuple[Prepared, dict[str, int]]:
    from kvaudit.replay.semantic.gather import gather
    from kvaudit.replay.semantic.run import prepare

    with progress("reading", source.reader.size_bytes) as bar:
        gathered = gather(source.watched(bar), policy)
    with progress("encoding", len({asked.text for asked in gathered.asked})) as bar:
        return prepare(gathered, policy, bar.update), dict(gathered.skipped)


def _curve(
    prepared: Prepared, thresholds: list[float] | None, name: str, first: int
) -> SemanticCurve:
    from kvaudit.replay.semantic.thresholds import default_thresholds, sweep_thresholds

    chosen = thresholds if thresholds is not None else default_thresholds(prepared.policy)
    with progress("sweeping", len(chosen)) as bar:
        return sweep_thresholds(prepared, chosen, name=name, first=first, tell=bar.update)
