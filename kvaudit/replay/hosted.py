"""Engines that are a provider's cache: what they have in common, made from dated facts."""

from __future__ import annotations

from kvaudit.core.errors import UsageError
from kvaudit.core.nearest import did_you_mean
from kvaudit.cost.providers.facts import Provider, all_providers
from kvaudit.replay.engine import CacheSettings, Engine
from kvaudit.replay.outcomes import CacheModel

BLOCKS, SYSTEM_FIRST = "blocks", "system_first"
"""Chat templates that keep content blocks apart, by where the tools stand."""
KEEPALIVE, AUTOMATIC = "keepalive", "automatic"
"""Choices of ``--ttl`` beside the provider's lifetimes."""


def hosted_engine(name: str, title: str, definition: str) -> Engine:
    """Return the engine of a provider; ``definition`` says what counts as a hit, as a clause."""
    provider = all_providers()[name]

    def build(settings: CacheSettings) -> CacheModel:
        from kvaudit.replay.models.provider import HostedCache

        _check(settings, provider)
        return HostedCache(
            provider,
            model=settings.model,
            lifetime_s=lifetime_of(provider, settings.lifetime),
        )

    return Engine(
        name=name,
        title=title,
        newest_version=None,
        block_size=1,
        policies=("lifetime",),
        clairvoyant_policies=frozenset(),
        schedules=("sequential",),
        eagle=False,
        partial_blocks=False,
        needs_tokens=True,
        definition=definition,
        exactness=lambda settings: _exactness(settings, provider),
        build=build,
        provider=name,
        chat_template=SYSTEM_FIRST if provider.cache.order[0] == "system" else BLOCKS,
    )


def choices_of(provider: Provider) -> list[str]:
    """Return what ``--ttl`` can name at a provider."""
    marked = [AUTOMATIC] if provider.cache.needs_marker else []
    return [*provider.lifetimes, KEEPALIVE, *marked]


def lifetime_of(provider: Provider, name: str | None) -> float | None:
    """Return the seconds of a lifetime by its name; None for None. Raises `UsageError`."""
    if name is None:
        return None
    found = provider.lifetimes.get(name.replace("-", "_"))
    if found is None:
        raise UsageError(
            f"--ttl {name}: {provider.name} has no such lifetime"
            f"{did_you_mean(name, choices_of(provider))}"
        )
    return float(found)


def rules_read(engine: Engine) -> str | None:
    """Return when the rules of a provider's cache were read; None for any other engine."""
    if engine.provider is None:
        return None
    return f"rules read {all_providers()[engine.provider].read}"


def _check(settings: CacheSettings, provider: Provider) -> None:
    if settings.capacity_blocks is not None:
        raise UsageError(
            f"--capacity means nothing to --engine {provider.name}, which forgets by time; "
            "leave it out"
        )
    if settings.block_size != 1:
        raise UsageError(
            f"--block-size means nothing to --engine {provider.name}, whose steps are the "
            "provider's; leave it out"
        )


def _exactness(settings: CacheSettings, provider: Provider) -> str:
    kept = f"; every entry kept for {settings.lifetime}, by --ttl" if settings.lifetime else ""
    return (
        f"an upper bound by the rules that {provider.source} documents, read {provider.read}: "
        f"what the provider drops early or serves from another machine is not known{kept}"
    )
