"""Which requests may share: the namespace of each, by the fields that separate requests."""

from __future__ import annotations

from collections.abc import Container, Sequence

from kvaudit.core.requests import Request

ENGINE_NAMESPACE = ("model", "lora", "salt")
"""Fields that no engine shares KV across: other weights, another adapter, another salt."""
NOT_IN_LMCACHE = frozenset(("lora", "salt"))
"""Of these, what LMCache's in-process keys leave out: they have tokens and model (issue 2961)."""

_Values = tuple[str | None, ...]


class Namespaces:
    """Numbers the namespaces of a log as they are met."""

    def __init__(self, fields: Sequence[str], shared_across: Container[str]) -> None:
        """Separate by ``fields``, beside `ENGINE_NAMESPACE` less ``shared_across``."""
        kept = [field for field in ENGINE_NAMESPACE if field not in shared_across]
        self._fields = (*kept, *(field for field in fields if field not in kept))
        self._in_lmcache = [f for f in self._fields if f in fields or f not in NOT_IN_LMCACHE]
        self._numbers: dict[_Values, int] = {}
        self._lmcache_numbers: dict[_Values, int] = {}
        self.names: list[str] = []
        """By number."""
        self.to_lmcache: list[int] = []
        """For each the first one that differs from it in adapter or salt at most."""

    def number(self, request: Request) -> int:
        """Return the dense number of a request's namespace; block ids of another scope differ."""
        # Not by its name: a value may hold what looks like the next field.
        key = (*(getattr(request, f) for f in self._fields), request.block_scope)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._numbers)
            parts = zip(self._fields, key, strict=False)
            self.names.append(", ".join(f"{f}={v}" for f, v in parts if v is not None) or "all")
            values = (*(getattr(request, f) for f in self._in_lmcache), request.block_scope)
            self.to_lmcache.append(self._lmcache_numbers.setdefault(values, number))
        return number
