"""What a reader of a provider's figures must know, as sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from kvaudit.core.summaries import Note
from kvaudit.cost.providers.facts import all_providers

if TYPE_CHECKING:
    from kvaudit.core.money import HostedSummary
    from kvaudit.core.summaries import LogSummary

_PUBLIC_TOKENIZERS = ("openai", "azure")


def hosted_notes(hosted: HostedSummary, log: LogSummary) -> Iterator[Note]:
    """Yield what limits the figures, and the mistakes that cost money without an error."""
    provider = hosted.provider
    if log.tokenizer is not None and provider not in _PUBLIC_TOKENIZERS:
        yield Note(
            topic="tokenizer",
            text=f"{provider}'s tokenizer is not public: lengths are estimated by "
            f"{log.tokenizer.partition(' (')[0]}, and billed as the log counts them where it does",
        )
    if log.span_s is None:
        yield Note(
            topic="no-times",
            text="the log has no times, so no entry expires and none is ever on the way: the "
            "figures are those of an endless cache; add arrived_s",
        )
    matching = all_providers()[provider].matching_of
    if hosted.without_messages and any(matching(m.model) == "message-end" for m in hosted.models):
        yield Note(
            topic="no-messages",
            text="some requests are one text or ids: where their messages end is not known, so "
            "every place is taken for an end at which the provider writes",
            count=hosted.without_messages,
        )
    if hosted.marked == 0:
        what_then = "--ttl automatic shows what one marker for the whole request would bring"
        if hosted.without_messages == hosted.requests:
            what_then = "whole texts and ids have no place for a mark: log messages"
        yield Note(
            topic="no-marker",
            text=f"no request marks a block, and {provider} caches nothing that is not marked; "
            f"{what_then}",
        )
    if hosted.refused:
        yield Note(
            topic="refused",
            text=f"{hosted.refused:,} requests set more breakpoints than {provider} takes, or a "
            "longer lifetime behind a shorter one: it answers with an error, bills nothing, and "
            "caches nothing",
            count=hosted.refused,
        )
    if hosted.below_minimum:
        yield Note(
            topic="below-minimum",
            text=f"{hosted.below_minimum:,} requests have nothing to cache that reaches the "
            "model's minimum: they pay the full price, and no error says so",
            count=hosted.below_minimum,
        )
    yield from _money_notes(hosted)


def as_estimate(log: LogSummary, provider: str) -> LogSummary:
    """Return the summary with no claim of exactness, where the provider counts otherwise."""
    if log.tokenizer is None or provider in _PUBLIC_TOKENIZERS:
        return log
    return replace(log, tokenizer=f"{log.tokenizer.partition(' (')[0]} (estimate)")


def _money_notes(hosted: HostedSummary) -> Iterator[Note]:
    for model in hosted.models:
        if model.note is not None:
            topic = "price" if model.source is not None else "no-price"
            yield Note(topic=topic, text=f"{model.model}: {model.note}", count=model.requests)
    if hosted.usd_saved is not None and hosted.usd_saved_per_day is None:
        yield Note(
            topic="no-projection",
            text="no figure a day: the log does not say how long it took",
        )
