"""LiteLLM's own cache of answers, as its proxy's file sets it up: one store for all that ask.

Read from LiteLLM 1.110.2 (caching/caching.py, base_cache.py, s3_cache.py): the key holds the
request and no key, team or user; ``namespace`` stands before it; without ``ttl`` an answer lives
60 seconds in Redis, 600 in memory, and for ever in an object store; ``mode: default_off`` leaves
the cache to requests that ask for it. Its semantic types are the business of the rules of those.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvaudit.analyzers.engine.invocation import Invocation, Setting
from kvaudit.analyzers.template.structure.node import Kind, Node
from kvaudit.core.sources import Span

_CACHES = ("type", "namespace", "ttl", "mode", "default_in_redis_ttl", "default_in_memory_ttl")


def response_cache_runs(node: Node) -> Iterator[Invocation]:
    """Yield LiteLLM's cache of answers where a map is its configuration and turns it on."""
    settings = node.get("litellm_settings")
    if settings is None or settings.kind is not Kind.MAP:
        return
    on = settings.get("cache")
    if on is None or on.value is not True:
        return
    given = settings.get("cache_params")
    told = given if given is not None and given.kind is Kind.MAP else None
    found = [
        Setting(
            name=f"cache-{key.value}", value=str(value.value), span=key.span, written=str(key.value)
        )
        for key, value in (zip(told.keys, told.items, strict=True) if told is not None else ())
        if key.value in _CACHES and value.kind in (Kind.TEXT, Kind.FLAG, Kind.NUMBER)
    ]
    key = next(key.span for key in settings.keys if key.value == "cache")
    place = Span(key.start, max(key.end, on.span.end))
    switch = Setting(name="response-cache", value="true", span=place, written="cache")
    yield Invocation(program="litellm", span=node.span, settings=[switch, *found])
