"""A replay as facts with names, for pipes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvaudit.core.fleet import FleetSummary
from kvaudit.core.redact import one_line
from kvaudit.core.results import ReplayReport
from kvaudit.core.summaries import LengthSummary
from kvaudit.core.tiers import TierSummary
from kvaudit.report.billed import hosted_facts
from kvaudit.report.device import device_rows
from kvaudit.report.figures import NONE
from kvaudit.report.fleet import fleet_sentences
from kvaudit.report.isolation import isolation_sentences
from kvaudit.report.log_facts import engine_facts, log_facts
from kvaudit.report.savings import saved_facts
from kvaudit.report.scheduled import schedule_facts
from kvaudit.report.semantic import semantic_facts
from kvaudit.report.tiers import tier_sentences
from kvaudit.report.wording import budget_text, columns, definitions, heading, note_text


def replay_facts(report: ReplayReport) -> Iterator[tuple[str, object]]:
    """Yield the lines; numbers are plain digits, rates shares from 0 to 1."""
    yield "run", heading(report.log, "replay")
    yield from log_facts(report.log)
    if report.engine is not None:
        yield from engine_facts(report.engine)
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
