"""More cached tokens than prompt tokens: a row that cannot be."""

from __future__ import annotations

from kvaudit.analyzers.log_checks.facts import UNKNOWN, LogFacts, Modelled
from kvaudit.core.why import LogCheck


def check(log: LogFacts, modelled: Modelled | None) -> LogCheck | None:
    """Count requests that report more cached tokens than they had prompt tokens."""
    known = (log.prompt_tokens != UNKNOWN) & (log.cached_tokens != UNKNOWN)
    count = int((known & (log.cached_tokens > log.prompt_tokens)).sum())
    if not count:
        return None
    return LogCheck(
        check="cached-over-prompt",
        count=count,
        message=(
            "more cached tokens than prompt tokens: the prompt is logged without its cached part, "
            "as Anthropic counts, or the engine counts a request twice, as SGLang did with prefill "
            "and decode on different machines (sgl-project/sglang#25972); the log's own hit rate "
            "is not to be trusted"
        ),
    )
