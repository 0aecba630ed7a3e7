"""Routing keys of a whole log: one for each request, or one for more than a machine takes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from kvaudit.analyzers.template.request_log.change import Change
from kvaudit.analyzers.template.request_log.parameters import UNIQUE
from kvaudit.analyzers.template.request_log.request import Record
from kvaudit.cost.providers.facts import provider_named

_KEYS = 4
_PREFIXES = 1_000
_OF_A_PREFIX = 200
_MINUTE_S = 60.0


@dataclass(slots=True)
class _Prefix:
    seen: list[tuple[str, Record]] = field(default_factory=list)
    recent: dict[str, deque[Record]] = field(default_factory=dict)
    """By key, the requests of the last minute."""


class RoutingKeys:
    """The keys with which the requests of each prefix were sent."""

    def __init__(self) -> None:
        """Hold none yet."""
        self._prefixes: dict[int, _Prefix] = {}
        self._told: set[str] = set()

    def add(self, record: Record) -> Iterator[Change]:
        """Take a request; yield a key that is used too often once that is seen."""
        key = record.body.get("prompt_cache_key")
        if not isinstance(key, str) or not record.system:
            return
        head = hash(tuple(text.text for text in record.system))
        if head not in self._prefixes and len(self._prefixes) >= _PREFIXES:
            return
        prefix = self._prefixes.setdefault(head, _Prefix())
        if len(prefix.seen) < _OF_A_PREFIX:
            prefix.seen.append((key, record))
            yield from self._too_often(prefix, key, record)

    def _too_often(self, prefix: _Prefix, key: str, record: Record) -> Iterator[Change]:
        provider = provider_named(None, record.model)
        most = provider.cache.keys_per_minute if provider is not None else None
        if most is None or record.time is None or key in self._told:
            return
        recent = prefix.recent.setdefault(key, deque())
        while recent and record.time - (recent[0].time or 0) >= _MINUTE_S:
            recent.popleft()
        recent.append(record)
        if len(recent) > most:
            self._told.add(key)
            yield Change(
                earlier=recent[0],
                later=record,
                path=(*record.path, "prompt_cache_key"),
                kind="routing-key-overflows",
                detail=f"it is that of {len(recent)} requests with one prefix in a minute, and "
                f"from about {most} on they spill to machines that have not seen it",
                was=key,
            )

    def spread(self) -> Iterator[Change]:
        """Yield the first key that shows it, where every request of a prefix has its own."""
        for prefix in self._prefixes.values():
            keys = [key for key, _ in prefix.seen]
            unique = all(UNIQUE.search(key) for key in keys)
            if len(keys) >= _KEYS and len(set(keys)) == len(keys) and unique:
                first = prefix.seen[1][1]
                yield Change(
                    earlier=prefix.seen[0][1],
                    later=first,
                    path=(*first.path, "prompt_cache_key"),
                    kind="bad-routing-key",
                    detail=f"{len(keys)} requests with one prefix have {len(keys)} keys",
                    was=keys[0],
                )
