"""Facts of a log and an engine, as the plain lines of all commands that read a log say them."""

from __future__ import annotations

from collections.abc import Iterator

from kvaudit.core.summaries import EngineSummary, LogSummary
from kvaudit.report.wording import left_out


def log_facts(log: LogSummary) -> Iterator[tuple[str, object]]:
    """Yield what was read of a log."""
    yield "format", log.format
    yield "records", log.records
    yield "left out", log.skipped
    yield "requests", log.requests
    if log.tokenizer is not None:
        yield "tokenizer", log.tokenizer
    if log.chat_template is not None:
        yield "chat template", log.chat_template
    yield from ((f"left out, {reason}", count) for count, reason in left_out(log))


def engine_facts(engine: EngineSummary) -> Iterator[tuple[str, object]]:
    """Yield the engine and its settings."""
    yield "engine", f"{engine.name} {engine.version or ''}".strip()
    yield "block size", engine.block_size
    yield "capacity blocks", "inf" if engine.capacity_blocks is None else engine.capacity_blocks
    yield "policy", engine.policy
    yield "schedule", engine.schedule
