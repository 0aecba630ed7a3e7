"""A sweep as facts with names, for pipes."""

from __future__ import annotations

from collections.abc import Iterator

from kvaudit.core.curve import SweepReport
from kvaudit.core.redact import one_line
from kvaudit.report.figures import plural
from kvaudit.report.log_facts import log_facts
from kvaudit.report.sweep_wording import blocks, curve_facts, share, sweep_definitions
from kvaudit.report.swept_semantic import threshold_facts
from kvaudit.report.wording import heading, note_text


def sweep_facts(report: SweepReport) -> Iterator[tuple[str, object]]:
    """Yield the lines; a capacity is a number of blocks."""
    yield "run", heading(report.log, "sweep")
    yield from log_facts(report.log)
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
