"""A semantic cache in front of the other caches of `kvaudit replay`: it takes its hits away."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvaudit.commands import inputs
from kvaudit.core.progress import progress

if TYPE_CHECKING:
    from kvaudit.core.requests import Request
    from kvaudit.core.results import ReplayReport
    from kvaudit.core.savings import Savings
    from kvaudit.core.semantic import LayerFlops, PrefixLayer, SavedFlops
    from kvaudit.core.summaries import LogSummary
    from kvaudit.replay.device.plan import DevicePlan
    from kvaudit.replay.plan import Plan
    from kvaudit.replay.semantic.gather import Asked
    from kvaudit.replay.semantic.policy import SemanticPolicy
    from kvaudit.replay.semantic.run import SemanticRun


@dataclass(frozen=True, slots=True)
class SemanticFront:
    """A semantic replay of a log, and what is left for the cache behind it."""

    run: SemanticRun
    skipped: dict[str, int]
    answered: frozenset[int]
    """Numbers of the requests, in the order of the file, that it answers."""

    def misses(self, requests: Any) -> Misses:
        """Return the requests that reach the model."""
        return Misses(requests, self.answered)

    def rows(self, path: Path | None) -> AbstractContextManager[Any]:
        """Return a writer of one row a request, or nothing where none is asked for."""
        from kvaudit.replay.semantic.rows import SemanticRows
        from kvaudit.report.rows.writer import RowWriter

        return nullcontext() if path is None else SemanticRows(RowWriter(path), self.run)

    def counted_plan(self, plan: Plan) -> Plan:
        """Return the plan with its warm-up in requests that reach the prefix cache."""
        from kvaudit.replay.plan import first_counted

        first = first_counted(plan.warmup, len(self.run.asked))
        return replace(plan, warmup=float((~self.run.answered[:first]).sum()))


class Misses:
    """A log without the requests that a semantic cache answers; it can be read again."""

    def __init__(self, requests: Any, answered: frozenset[int]) -> None:
        """Take the log and the numbers of its requests that are answered."""
        self._requests, self._answered = requests, answered

    def __iter__(self) -> Iterator[Request]:
        """Yield the others."""
        return (r for number, r in enumerate(self._requests) if number not in self._answered)


def replay_front(
    source: inputs.OpenLog, policy: SemanticPolicy, device: DevicePlan | None
) -> SemanticFront:
    """Replay the semantic cache over the whole log, its search on the device that is named."""
    from kvaudit.replay.semantic.gather import gather
    from kvaudit.replay.semantic.run import replay_semantic

    with progress("reading", source.reader.size_bytes) as bar:
        gathered = gather(source.watched(bar), policy)
    texts = len({asked.text for asked in gathered.asked})
    with progress("encoding", texts) as bar:
        place = None if device is None else device.device
        run = replay_semantic(gathered, policy, bar.update, device=place)
    answered = (one.number for one, hit in zip(run.asked, run.answered, strict=True) if hit)
    return SemanticFront(run, dict(gathered.skipped), frozenset(answered))


def log_of(
    source: inputs.OpenLog, asked: Sequence[Asked], skipped: Mapping[str, int]
) -> LogSummary:
    """Return the account of a log of which a semantic cache alone was asked."""
    from kvaudit.core.summaries import LogSummary

    reader = source.reader
    reasons = reader.skipped.copy()
    reasons.update(skipped)
    if reader.broken:
        reasons["broken record"] = reader.broken
    arrived = [one.arrived_s for one in asked if one.arrived_s is not None]
    return LogSummary(
        files=[str(path) for path in source.paths],
        format=reader.format_name,
        records=reader.records,
        skipped=sum(reasons.values()),
        skipped_reasons=dict(sorted(reasons.items())),
        broken=reader.broken_examples,
        requests=len(asked),
        span_s=arrived[-1] - arrived[0] if len(arrived) > 1 else None,
        tokenizer=None,
        chat_template=None,
        prompt_lengths=None,
        output_lengths=None,
    )


def alone(source: inputs.OpenLog, front: SemanticFront, warmup: float) -> ReplayReport:
    """Return the report of a semantic cache without any other."""
    from kvaudit.core.results import ReplayReport
    from kvaudit.replay.plan import first_counted
    from kvaudit.replay.semantic.summary import summarize

    run = front.run
    log = log_of(source, run.asked, front.skipped)
    first = first_counted(warmup, len(run.asked))
    return ReplayReport(
        log=log,
        engine=None,
        prefix=None,
        ideal=None,
        reported=None,
        semantic=summarize(run, first=first) if run.asked else None,
        notes=[*source.reader.notes, *run.notes],
    )


def in_front(
    front: SemanticFront, behind: ReplayReport, without: ReplayReport, first: int
) -> ReplayReport:
    """Return the report of both layers; ``without`` is the prefix cache that sees all requests."""
    from kvaudit.replay.semantic.summary import summarize

    hits = int(front.run.answered.sum())
    log = replace(behind.log, requests=behind.log.requests + hits)
    return replace(
        behind,
        log=log,
        semantic=summarize(
            front.run,
            first=first,
            saved_flops=_saved(behind, without),
            prefix_layer=_layer(behind, without),
        ),
        notes=[*behind.notes, *front.run.notes],
    )


def _saved(behind: ReplayReport, without: ReplayReport) -> SavedFlops:
    from kvaudit.core.semantic import SavedFlops

    def less(of: Callable[[Any], int | None]) -> int | None:
        all_requests = of(without.savings) if without.savings is not None else None
        misses = of(behind.savings) if behind.savings is not None else 0
        return None if all_requests is None or misses is None else all_requests - misses

    return SavedFlops(
        prefill=less(lambda savings: savings.flops_with),
        decode=less(lambda savings: savings.decode_flops),
    )


def _layer(behind: ReplayReport, without: ReplayReport) -> PrefixLayer | None:
    from kvaudit.core.semantic import PrefixLayer

    if without.prefix is None:
        return None
    hit_tokens = behind.prefix.hit_tokens if behind.prefix is not None else 0
    return PrefixLayer(
        hit_tokens_alone=without.prefix.hit_tokens,
        hit_rate_alone=without.prefix.hit_rate,
        hit_tokens_behind=hit_tokens,
        hit_rate_behind=behind.prefix.hit_rate if behind.prefix is not None else None,
        hit_tokens_taken=without.prefix.hit_tokens - hit_tokens,
        prefill_flops=_left_to_do(behind.savings, without.savings),
    )


def _left_to_do(behind: Savings | None, without: Savings | None) -> LayerFlops | None:
    """Return the prefill of all requests, and of the misses, without and with the prefix cache."""
    from kvaudit.core.semantic import LayerFlops

    if without is None or without.flops_without is None or without.flops_with is None:
        return None
    return LayerFlops(
        no_cache=without.flops_without,
        prefix_alone=without.flops_with,
        semantic_alone=(behind.flops_without or 0) if behind is not None else 0,
        together=(behind.flops_with or 0) if behind is not None else 0,
    )
