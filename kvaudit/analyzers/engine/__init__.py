"""Configuration of engines, routers and gateways, read into what is started and with what.

Readers of Kubernetes, Helm, compose, shell, Dockerfile, systemd and Triton files all end in the
same thing: an `Invocation`, with the place of every flag. Each module of ``faults`` looks at those
for one kind of fault. What an engine's flags and defaults are stands in ``data``, dated and with
its source. Nothing is executed, and values that a template fills in are taken as unknown.
"""

from __future__ import annotations

_ROUTES = (
    "affinit", "sticky", "cache_salt", "session_key", "sessionkey", "route_key", "routekey",
    "routing_key", "routingkey", "base_url",
)  # fmt: skip


def may_route(text: str) -> bool:
    """Whether a Python file may choose replicas or salts of a cache."""
    lower = text.lower()
    return any(word in lower for word in _ROUTES)
