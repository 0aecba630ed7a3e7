"""From an open log and a plan to the report of a replay."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvaudit.commands import inputs
from kvaudit.commands.costing import cost_notes
from kvaudit.commands.semantic_front import in_front
from kvaudit.core.progress import progress

if TYPE_CHECKING:
    from kvaudit.commands.semantic_front import SemanticFront
    from kvaudit.core.requests import Request
    from kvaudit.core.results import ReplayReport
    from kvaudit.core.summaries import LogSummary, Note
    from kvaudit.cost.reconcile import InvoiceCheck
    from kvaudit.replay.plan import Plan
    from kvaudit.replay.prompts import Prompts
    from kvaudit.replay.result import ReplayResult

    OpenRows = Callable[[], AbstractContextManager[Any]]


def _needs_heads(plan: Plan) -> bool:
    return plan.isolation is not None and plan.isolation.public_heads


def rows_to(path: Path | None) -> OpenRows:
    """Return how a pass opens the file of rows; one that starts again opens it again."""
    from kvaudit.report.rows.writer import RowWriter

    return lambda: nullcontext() if path is None else RowWriter(path)


def replayed_behind(
    front: SemanticFront,
    source: inputs.OpenLog,
    plan: Plan,
    namespace: tuple[str, ...],
    per_request: Path | None,
) -> ReplayReport:
    """Replay the prefix cache on all requests, and on those that the semantic cache misses."""
    from kvaudit.replay.plan import first_counted

    without = replayed(source, plan, namespace, rows_to(None), None)
    behind = replayed(
        source,
        front.counted_plan(plan),
        namespace,
        lambda: front.rows(per_request),
        None,
        only=front.misses,
    )
    return in_front(front, behind, without, first_counted(plan.warmup, len(front.run.asked)))


def replayed(
    source: inputs.OpenLog,
    plan: Plan,
    namespace: tuple[str, ...],
    open_rows: OpenRows,
    invoice: InvoiceCheck | None,
    only: Callable[[Any], Iterable[Request]] | None = None,
) -> ReplayReport:
    """Replay the log and join what the reader, the tokenizer and the caches say."""
    from kvaudit.replay.engine import find_engine
    from kvaudit.replay.prompts import Prompts
    from kvaudit.replay.run import replay_log

    engine = find_engine(plan.engine) if plan.engine else None
    with progress("replaying", source.reader.size_bytes) as bar:
        watched: Any = source.watched(bar)
        if invoice is not None:
            watched = invoice.watch(watched)
        prompts = Prompts(
            watched if only is None else only(watched),
            encoder=source.encoder,
            namespace=namespace,
            shared_across=engine.shared_across if engine is not None else (),
            block_tokens=plan.block_size,
            outlined=engine is not None and engine.provider is not None,
            head_tokens=source.encoder.head_finder() if _needs_heads(plan) else None,
        )
        result = replay_log(prompts, plan, open_rows)
    report = _report(source, prompts, plan, result)
    return report if invoice is None else replace(report, invoice=invoice.result())


def _without_a_rate(log: LogSummary, prompts: Prompts, notes: list[Note]) -> ReplayReport:
    from kvaudit.core.results import ReplayReport
    from kvaudit.replay.tally import reported

    counts = prompts.counts()
    return ReplayReport(
        log=log,
        engine=None,
        prefix=None,
        ideal=None,
        reported=reported(counts.prompt_tokens, counts.reported_hits),
        notes=[*notes, inputs.no_rate_note(log)],
    )


def _report(
    source: inputs.OpenLog, prompts: Prompts, plan: Plan, result: ReplayResult | None
) -> ReplayReport:
    from kvaudit.commands.hosted_notes import as_estimate, hosted_notes
    from kvaudit.core.results import ReplayReport
    from kvaudit.core.savings import billed_savings
    from kvaudit.core.summaries import Note

    log = inputs.log_summary(source, prompts, result)
    notes = source.notes()
    if plan.model_note is not None:
        notes.append(Note(topic="model", text=plan.model_note))
    if plan.costing is not None:
        notes += cost_notes(plan, prompts.namespace_names, result)
    if result is None:
        return _without_a_rate(log, prompts, notes)
    notes += [Note(topic="engine", text=text) for text in result.remarks]
    notes += inputs.warmup_notes(plan.warmup, log.requests)
    savings = result.savings
    if result.hosted is not None:
        savings = billed_savings(result.hosted.usd_saved, result.hosted.definition)
        notes += hosted_notes(result.hosted, log)
        log = as_estimate(log, result.hosted.provider)
    return ReplayReport(
        log=log,
        engine=result.engine,
        prefix=result.prefix,
        ideal=result.ideal,
        reported=result.reported,
        lost=result.lost,
        sampling=result.sampling,
        namespaces=result.namespaces,
        sessions=result.sessions,
        fleet=result.fleet,
        tiers=result.tiers,
        hosted=result.hosted,
        savings=savings,
        isolation=result.isolation,
        schedule=result.schedule,
        device=result.device,
        notes=notes,
    )
