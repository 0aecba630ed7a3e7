"""Sentences and headings that the text formats share."""

from collections.abc import Iterator, Sequence

from kvaudit.core.quantities import format_bytes
from kvaudit.core.redact import one_line
from kvaudit.core.results import Budget, LostTokens, PrefixSummary, ReplayReport
from kvaudit.core.summaries import EngineSummary, LogSummary, Note
from kvaudit.report.figures import compact, percent, plural, span
from kvaudit.report.savings import saved_definitions

ENGINE_NAMES = {
    "vllm": "vLLM",
    "sglang": "SGLang",
    "lmcache": "LMCache",
    "trtllm": "TensorRT-LLM",
    "ideal": "ideal cache",
    "openai": "OpenAI",
    "azure": "Azure OpenAI",
    "anthropic": "Anthropic",
    "bedrock": "Amazon Bedrock",
    "gemini": "Gemini",
    "deepseek": "DeepSeek",
    "mistral": "Mistral",
}
FILES_NAMED = 3


def heading(log: LogSummary, command: str) -> str:
    """Return what was done to which files."""
    files = [one_line(name) for name in log.files]
    named = ", ".join(files[:FILES_NAMED])
    more = f" and {len(files) - FILES_NAMED} more" if len(files) > FILES_NAMED else ""
    return f"kvaudit {command} {named}{more}"


def engine_title(engine: EngineSummary) -> list[str]:
    """Return the engine and its blocks, piece by piece."""
    name = ENGINE_NAMES.get(engine.name, engine.name)
    return [f"{name} {engine.version}" if engine.version else name, f"block {engine.block_size}"]


def engine_pieces(engine: EngineSummary) -> list[str]:
    """Return the engine line, piece by piece."""
    if engine.rules is not None:
        return [
            ENGINE_NAMES[engine.name],
            engine.rules,
            *([one_line(engine.model)] if engine.model else ()),
        ]
    pieces = engine_title(engine)
    if engine.capacity_blocks is None:
        pieces.append("unbounded KV")
    else:
        room = engine.capacity_blocks * engine.block_size
        size = f" ({format_bytes(engine.capacity_bytes)})" if engine.capacity_bytes else ""
        pieces += [f"{plural(room, 'token')} of KV{size}", engine.policy]
    if engine.model:
        pieces.append(one_line(engine.model))
    return [*pieces, engine.schedule]


def log_pieces(report: ReplayReport) -> list[str]:
    """Return the log line, piece by piece."""
    log, prefix = report.log, report.prefix
    requests = plural(log.requests, "request")
    if prefix is not None and prefix.requests != log.requests:
        requests += f" ({prefix.requests:,} counted)"
    return [requests, *token_pieces(log, prefix.prompt_tokens if prefix is not None else None)]


def token_pieces(log: LogSummary, tokens: int | None) -> list[str]:
    """Return what is said of a log behind its number of requests, piece by piece.

    ``tokens`` are those that count; None for all of the log.
    """
    if tokens is None and log.prompt_lengths is not None:
        tokens = log.prompt_lengths.total
    pieces = []
    if tokens is not None:
        pieces.append(f"{compact(tokens)} prompt tokens")
    if log.span_s is not None:
        pieces.append(span(log.span_s))
    pieces += [piece for piece in (log.format, log.tokenizer, log.chat_template) if piece]
    return [one_line(piece) for piece in pieces]


def lost_rows(lost: LostTokens, *, hosted: bool) -> dict[str, int]:
    """Return where the tokens went that did not hit, by label; they sum to the computed ones."""
    return {
        "first seen": lost.first_seen,
        "other replica": lost.other_replica,
        "invalidated": lost.invalidated,
        "evicted": lost.evicted,
        "not computed yet": lost.not_ready,
        "expired": lost.expired,
        "not ready, or dispersed": lost.dispersed,
        "parameter changed": lost.parameter_change,
        "refused": lost.refused,
        "below the minimum": lost.below_minimum,
        "not marked": lost.not_marked,
        "end of a step" if hosted else "last block": lost.last_block,
    }


def columns(report: ReplayReport) -> dict[str, PrefixSummary | None]:
    """Return the three caches that are compared, in the order that never changes."""
    return {"possible": report.ideal, "this cache": report.prefix, "the log says": report.reported}


def definitions(report: ReplayReport) -> Iterator[tuple[str, str]]:
    """Yield (name, definition) of every rate that is shown; columns that share one, together."""
    names: dict[str, list[str]] = {}
    for name, summary in columns(report).items():
        if summary is not None:
            names.setdefault(summary.definition, []).append(name)
    for definition, sharing in names.items():
        yield "hit rate" if len(sharing) > 1 else sharing[0], definition
    ranges = [s.bounds for s in (report.prefix, report.ideal) if s is not None and s.bounds]
    if any(percent(bounds.low) != percent(bounds.high) for bounds in ranges):
        yield "range", ranges[0].definition
    if report.savings is not None:
        yield from saved_definitions(report.savings)
    if report.semantic is not None:
        yield "semantic", report.semantic.definition
        yield "wrong hits", report.semantic.basis_definition
    if report.engine is not None:
        yield "exactness", report.engine.exactness


def note_text(note: Note) -> str:
    """Return a note, with the number of requests it concerns if it does not say so itself."""
    text = one_line(note.text)
    if note.count is None or f"{note.count:,}" in text:
        return text
    return f"{text} ({plural(note.count, 'request')})"


def left_out(log: LogSummary) -> list[tuple[int, str]]:
    """Return (records, reason), the most frequent first."""
    reasons = log.skipped_reasons.items()
    return [(n, one_line(why)) for why, n in sorted(reasons, key=lambda item: (-item[1], item[0]))]


def held(report: ReplayReport) -> str | None:
    """Say how full the cache became, and what that cost."""
    engine, prefix = report.engine, report.prefix
    if engine is None or prefix is None or prefix.peak_blocks is None:
        return None
    parts = [f"at most {plural(prefix.peak_blocks, 'block')} at once"]
    if engine.capacity_blocks:
        replicas = report.fleet.instances if report.fleet is not None else 1
        room = engine.capacity_blocks * replicas
        parts[0] += f" ({percent(prefix.peak_blocks / room)})"
    if prefix.evicted_blocks:
        parts.append(f"{prefix.evicted_blocks:,} evicted")
    if prefix.not_admitted:
        parts.append(f"{plural(prefix.not_admitted, 'request')} did not fit")
    return "; ".join(parts)


def budget_text(budget: Budget) -> str:
    """Say whether a budget was met."""
    verdict = "met" if budget.passed else "missed"
    value = "has no value here" if budget.value is None else percent(budget.value)
    bound = "at most" if budget.at_most else "at least"
    return f"{budget.name} {value}, {bound} {percent(budget.limit)}: {verdict}"


def joined(pieces: Sequence[str], width: int) -> Iterator[str]:
    """Yield lines of pieces with dots between them; only between two pieces a line ends."""
    line = ""
    for piece in pieces:
        longer = f"{line} · {piece}" if line else piece
        if line and len(longer) > width:
            yield line
            longer = piece
        line = longer
    if line:
        yield line
