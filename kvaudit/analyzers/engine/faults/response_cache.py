"""A gateway's cache of answers that all share, or that keeps them without end."""

from __future__ import annotations

from collections.abc import Iterator

from kvaudit.analyzers.engine.faults import seen
from kvaudit.analyzers.engine.invocation import Deployment, Invocation
from kvaudit.core.document import Observation

_LIVES = {"redis": "60 seconds", "local": "10 minutes"}
"""How long an answer stays that is given no life: ``BaseCache`` and ``InMemoryCache``, 1.110.2."""
_ENDLESS = ("s3", "gcs", "azure-blob", "disk")


def look(deployment: Deployment) -> Iterator[Observation]:
    """Yield caches of answers that are on for every request and say not for whom or how long."""
    for run in deployment.running("litellm"):
        switch = run.get("response-cache")
        kind = _said(run, "cache-type") or "redis"
        if switch is None or "semantic" in kind or _said(run, "cache-mode") == "default_off":
            continue
        life = any(_said(run, f"cache-{name}") for name in ("ttl", "default_in_redis_ttl"))
        life = life or bool(_said(run, "cache-default_in_memory_ttl"))
        if kind in _ENDLESS and not life:
            detail = f"answers stay in {kind} for ever, as no ttl is given"
            yield seen(deployment, "response-cache-endless", switch.span, detail)
        elif not _said(run, "cache-namespace"):
            stay = "" if life else f", for {_LIVES.get(kind, 'as long as the store likes')}"
            detail = f"one store answers all keys and teams{stay}: no namespace is given"
            told = "response-cache-shared" if life else "response-cache-open"
            yield seen(deployment, told, switch.span, detail)


def _said(run: Invocation, name: str) -> str:
    given = run.get(name)
    return "" if given is None or given.value is None else given.value
