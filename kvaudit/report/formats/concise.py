"""The report as plain ``name: value`` lines, for pipes: one fact a line, found with grep."""

from collections.abc import Iterable, Iterator, Sequence

from kvaudit.core.calibration import CalibrationReport, LabelReport, MonitorReport, PairsReport
from kvaudit.core.console import Screen
from kvaudit.core.curve import SweepReport
from kvaudit.core.engine_metrics import MetricsReport
from kvaudit.core.findings import LintResult
from kvaudit.core.fleet import FleetSummary
from kvaudit.core.gate import GateReport
from kvaudit.core.keys import KeysReport
from kvaudit.core.lint_report import ReportedFinding
from kvaudit.core.redact import one_line
from kvaudit.core.results import EngineSummary, LengthSummary, LogSummary, ReplayReport
from kvaudit.core.story import StoryReport
from kvaudit.core.tiers import TierSummary
from kvaudit.core.why import WhyReport
from kvaudit.report.billed import hosted_facts
from kvaudit.report.calibrated import calibration_facts, pairs_facts
from kvaudit.report.device import device_rows
from kvaudit.report.divergences import (
    group_facts,
    lost_sentence,
    why_definitions,
)
from kvaudit.report.figures import NONE, plural
from kvaudit.report.fleet import fleet_sentences
from kvaudit.report.gated import gate_facts
from kvaudit.report.isolation import isolation_sentences
from kvaudit.report.keyed import keys_facts
from kvaudit.report.labels import label_facts, monitor_facts
from kvaudit.report.lint_wording import closing, lost, remarks
from kvaudit.report.linting import lint_report
from kvaudit.report.metered import metrics_facts
from kvaudit.report.savings import saved_facts
from kvaudit.report.scheduled import schedule_facts
from kvaudit.report.semantic import semantic_facts
from kvaudit.report.story import story_facts
from kvaudit.report.sweep_wording import blocks, curve_facts, share, sweep_definitions
from kvaudit.report.swept_semantic import threshold_facts
from kvaudit.report.tiers import tier_sentences
from kvaudit.report.wording import budget_text, columns, definitions, heading, left_out, note_text


def replay(report: ReplayReport, screen: Screen) -> str:
    """Return the lines; numbers are plain digits, rates shares from 0 to 1."""
    return _lines(_facts(report))


def pairs(report: PairsReport, screen: Screen) -> str:
    """Return the lines."""
    return _lines(pairs_facts(report))


def calibration(report: CalibrationReport, screen: Screen) -> str:
    """Return the lines."""
    return _lines(calibration_facts(report))


def labels(report: LabelReport, screen: Screen) -> str:
    """Return the lines."""
    return _lines(label_facts(report))


def monitor(report: MonitorReport, screen: Screen) -> str:
    """Return the lines."""
    return _lines(monitor_facts(report))


def sweep(report: SweepReport, screen: Screen) -> str:
    """Return the lines; a capacity is a number of blocks."""
    return _lines(_sweep_facts(report))


def story(report: StoryReport, screen: Screen) -> str:
    """Return one fact of a request's story a line."""
    facts = [
        ("run", heading(report.log, "why")),
        *_engine_facts(report.engine),
        ("request", report.request),
        ("prompt tokens", report.prompt_tokens),
        *((f"{part.what} tokens", part.tokens) for part in report.parts),
        *((name, one_line(text)) for name, text in story_facts(report)),
        *(("note", note_text(note)) for note in report.notes),
    ]
    return _lines(facts)


def why(report: WhyReport, screen: Screen) -> str:
    """Return the lines; a group is one line, its example the next."""
    return _lines(_why_facts(report))


def keys(report: KeysReport, screen: Screen) -> str:
    """Return the lines; a key is a few lines, each named by it."""
    return _lines(keys_facts(report))


def gate(report: GateReport, screen: Screen) -> str:
    """Return the lines; the verdict is the last."""
    return _lines(gate_facts(report))


def doctor(report: MetricsReport, screen: Screen) -> str:
    """Return what the metrics of engines say, one fact a line."""
    return _lines(metrics_facts(report))


def lint(result: LintResult, screen: Screen) -> str:
    """Return one line a finding, as ``path:line:column: severity[rule] message``."""
    report = lint_report(result)
    lines = [_finding(finding) for finding in report.findings]
    lines += [f"{one_line(file.path)}: skipped: {file.reason}" for file in report.skipped]
    lines += [f"note: {one_line(remark)}" for remark in remarks(report)]
    return "".join(f"{line}\n" for line in [*lines, f"summary: {closing(report)}"])


def _lines(facts: Iterable[tuple[str, object]]) -> str:
    return "".join(f"{name}: {value}\n" for name, value in facts)


def _finding(finding: ReportedFinding) -> str:
    cost = lost(finding)
    where = f"{one_line(finding.path)}:{finding.line}:{finding.column}"
    price = f" ({cost})" if cost else ""
    return f"{where}: {finding.severity}[{finding.rule}] {finding.message}{price}"


def _facts(report: ReplayReport) -> Iterator[tuple[str, object]]:
    yield "run", heading(report.log, "replay")
    yield from _log_facts(report.log)
    yield from ((f"left out, {reason}", count) for count, reason in left_out(report.log))
    if report.engine is not None:
        yield from _engine_facts(report.engine)
    if report.semantic is not None:
        yield from semantic_facts(report.semantic)
    if report.prefix is None and report.semantic is None:
        yield from _length_facts("prompt tokens", report.log.prompt_lengths)
        yield from _length_facts("output tokens", report.log.output_lengths)
    yield from _rate_facts(report)
    if report.lost is not None:
        yield "first seen tokens", report.lost.first_seen
        if report.fleet is not None:
            yield "other replica tokens", report.lost.other_replica
            yield "invalidated tokens", report.lost.invalidated
        yield "evicted tokens", report.lost.evicted
        if report.schedule is not None:
            yield "not computed yet tokens", report.lost.not_ready
        if report.hosted is None:
            yield "last block tokens", report.lost.last_block
    if report.isolation is not None:
        yield f"hit tokens, of another {report.isolation.field}", report.isolation.cross_hit_tokens
        yield from (("isolation", text) for text in isolation_sentences(report.isolation))
    if report.fleet is not None:
        yield from _fleet_facts(report.fleet)
    if report.tiers is not None:
        yield from _tier_facts(report.tiers)
    if report.device is not None:
        yield from ((label or "executed", text) for label, text in device_rows(report.device))
    if report.schedule is not None:
        yield from schedule_facts(report)
    if report.hosted is not None:
        yield from hosted_facts(report)
    if report.savings is not None and report.hosted is None:  # its bill says it already
        yield from saved_facts(report.savings)
    if report.invoice is not None:
        yield from (("invoice", one_line(finding)) for finding in report.invoice.findings)
    yield from definitions(report)
    yield from (("note", note_text(note)) for note in report.notes)
    yield from (("budget", budget_text(budget)) for budget in report.budgets)


def _sweep_facts(report: SweepReport) -> Iterator[tuple[str, object]]:
    yield "run", heading(report.log, "sweep")
    yield from _log_facts(report.log)
    yield from ((f"left out, {reason}", count) for count, reason in left_out(report.log))
    if report.engine is not None:
        yield "engine", f"{report.engine.name} {report.engine.version or ''}".strip()
        yield "block size", report.engine.block_size
        yield "policy", report.engine.policy
        yield "schedule", report.engine.schedule
        yield "prompt tokens", report.prompt_tokens
        yield "exactness", f"{report.exactness}; {report.method}"
    yield from threshold_facts(report.semantic)
    yield from curve_facts("hit rate", report.curve)
    yield from curve_facts("optimal hit rate", report.optimal)
    for variant in report.policies:
        yield from curve_facts(f"{variant.policy} hit rate", variant.curve)
    for tier in report.tiers:
        yield from curve_facts(f"hit rate, with {tier.name}", tier.curve)
    for variant in report.instances:
        named = plural(variant.instances, "replica")
        yield from curve_facts(f"{named} {variant.router} hit rate", variant.curve)
    for variant in report.block_sizes:
        named = f"block {variant.block_size}"
        yield from curve_facts(f"{named} hit rate", variant.curve)
        yield f"{named} partial block tokens", variant.partial_block_tokens
    for group in report.groups:
        for at in group.curve:
            yield f"{one_line(group.group)} hit rate, {blocks(at)}", share(at.hit_rate)
    if report.engine is not None:
        yield "possible hit rate", share(report.possible_hit_rate)
    yield from (
        (name, f"{choice.capacity_blocks} blocks")
        for name, choice in (("knee", report.knee), ("recommended", report.recommended))
        if choice is not None
    )
    yield from sweep_definitions(report)
    yield from (("note", note_text(note)) for note in report.notes)


def _why_facts(report: WhyReport) -> Iterator[tuple[str, object]]:
    yield "run", heading(report.log, "why")
    yield from _log_facts(report.log)
    yield from ((f"left out, {reason}", count) for count, reason in left_out(report.log))
    if report.engine is not None:
        yield from _engine_facts(report.engine)
        yield "prompt tokens", report.prompt_tokens
        yield "hit tokens", report.hit_tokens
        yield "hit rate", share(report.hit_rate)
        yield "lost tokens", report.lost_tokens
    for total in report.causes:
        yield f"{total.cause} tokens", total.tokens
    for group in report.groups:
        yield f"{group.id}, {group.cause}", lost_sentence(group, report)
        yield f"{group.id}, template", one_line(group.template)
        yield from ((f"{group.id}, {name}", one_line(text)) for name, text in group_facts(group))
    for check in report.log_checks:
        yield f"log check, {check.check}", f"{check.count}: {check.message}"
    for each in report.variables:
        met = f"{each.values} values in {plural(each.requests, 'request')}"
        yield f"variable, {one_line(each.name)}", f"{each.level} ({met})"
    yield from why_definitions(report)
    yield from (("note", note_text(note)) for note in report.notes)


def _log_facts(log: LogSummary) -> Iterator[tuple[str, object]]:
    yield "format", log.format
    yield "records", log.records
    yield "left out", log.skipped
    yield "requests", log.requests
    if log.tokenizer is not None:
        yield "tokenizer", log.tokenizer
    if log.chat_template is not None:
        yield "chat template", log.chat_template


def _engine_facts(engine: EngineSummary) -> Iterator[tuple[str, object]]:
    yield "engine", f"{engine.name} {engine.version or ''}".strip()
    yield "block size", engine.block_size
    yield "capacity blocks", "inf" if engine.capacity_blocks is None else engine.capacity_blocks
    yield "policy", engine.policy
    yield "schedule", engine.schedule


def _rate_facts(report: ReplayReport) -> Iterator[tuple[str, object]]:
    compared = columns(report)
    if not any(compared.values()):
        return
    if report.prefix is not None:
        yield "prompt tokens", report.prefix.prompt_tokens
    for name, summary in compared.items():
        rate = None if summary is None else summary.hit_rate
        yield f"hit rate, {name}", NONE if rate is None else f"{rate:.4f}"
        if summary is not None and summary.bounds is not None:
            low, high = summary.bounds.low, summary.bounds.high
            yield f"hit rate, {name}, range", f"{low:.4f} to {high:.4f}"
    for name, summary in compared.items():
        yield f"hit tokens, {name}", NONE if summary is None else summary.hit_tokens


def _fleet_facts(fleet: FleetSummary) -> Iterator[tuple[str, object]]:
    yield "replicas", fleet.instances
    yield "router", fleet.router
    yield "sharing", fleet.sharing
    for i in fleet.per_instance:
        rate = NONE if i.hit_rate is None else f"{i.hit_rate:.4f}"
        yield f"hit rate, {one_line(i.instance)}", rate
        yield f"prompt tokens, {one_line(i.instance)}", i.prompt_tokens
    if fleet.one_cache is not None and fleet.one_cache.hit_rate is not None:
        yield "hit rate, one cache", f"{fleet.one_cache.hit_rate:.4f}"
    yield "moved tokens", fleet.moved_tokens
    for sentence in fleet_sentences(fleet):
        yield "fleet", sentence


def _tier_facts(tiers: Sequence[TierSummary]) -> Iterator[tuple[str, object]]:
    for tier in tiers if len(tiers) > 1 else ():
        yield f"hit tokens, {tier.name}", tier.hit_tokens
        if tier.hit_rate is not None:
            yield f"hit rate, {tier.name} adds", f"{tier.hit_rate:.4f}"
    for sentence in tier_sentences(tiers):
        yield "tier", sentence


def _length_facts(name: str, lengths: LengthSummary | None) -> Iterator[tuple[str, object]]:
    if lengths is None:
        yield name, NONE
        return
    yield name, lengths.total
    yield f"{name}, mean", f"{lengths.mean:.1f}"
    yield f"{name}, median", lengths.p50
    yield f"{name}, P99", lengths.p99
    yield f"{name}, max", lengths.max
