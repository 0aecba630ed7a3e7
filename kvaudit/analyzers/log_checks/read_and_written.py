"""Tokens that were read from the cache and written to it by the same request."""

from __future__ import annotations

from kvaudit.analyzers.log_checks.facts import UNKNOWN, LogFacts, Modelled
from kvaudit.core.why import LogCheck


def check(log: LogFacts, modelled: Modelled | None) -> LogCheck | None:
    """Count requests whose hits and writes exceed their prompt: some was computed again."""
    known = (log.prompt_tokens != UNKNOWN) & (log.cached_tokens > 0) & (log.written > 0)
    within = log.cached_tokens <= log.prompt_tokens  # beyond it another check has spoken
    count = int((known & within & (log.cached_tokens + log.written > log.prompt_tokens)).sum())
    if not count:
        return None
    return LogCheck(
        check="read-and-written",
        count=count,
        message=(
            "cached and written tokens together exceed the prompt: part of the prefix is billed as "
            "a hit and was computed and written again, or the prompt is logged without the written "
            "part"
        ),
    )
