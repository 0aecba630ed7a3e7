"""Facts of requests; of those in columns, made one by one only where one is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from kvaudit.core.hash_rows import HashRows
from kvaudit.core.prompts import Outline, RequestFacts
from kvaudit.core.requests import Request


def facts_of(
    request: Request,
    outline: Outline | None,
    head_units: int | None,
    group_by: str | None,
    number: int,
) -> RequestFacts:
    """Return what is still needed of a request once its text became units."""
    return RequestFacts(
        request.id,
        request.arrived_s,
        request.arrive_step,
        request.session,
        request.instance,
        request.salt,
        request.lora,
        request.cached_tokens,
        request.prompt_tokens,
        priority=request.priority,
        model=request.model,
        prompt_cache_key=request.prompt_cache_key,
        cache_options=request.cache_options,
        has_media=bool(request.media_hashes),
        ttft_s=request.ttft_s,
        reported_write_5m_tokens=request.cache_write_5m_tokens,
        reported_write_1h_tokens=request.cache_write_1h_tokens,
        reported_output_tokens=request.output_tokens,
        outline=outline,
        counted=request.token_ids is None,
        group=None if group_by is None else getattr(request, group_by),
        finished_s=request.finished_s,
        tenant=request.tenant,
        user=request.user,
        head_units=head_units,
        number=number,
        max_tokens=request.max_tokens,
    )


class RowFacts(Sequence[RequestFacts]):
    """The facts of `HashRows`; they know a time, their own counts and nothing else."""

    def __init__(self, rows: HashRows, number: int) -> None:
        """Take the place of the first one among the records that were read, from 0."""
        self.arrived_s = rows.arrived_s
        """The time of every request."""
        self._columns = {
            "id": range(rows.first, rows.first + rows.requests),
            "arrived_s": rows.arrived_s.tolist(),
            "reported_prompt_tokens": rows.prompt_tokens.tolist(),
            "reported_output_tokens": rows.output_tokens.tolist(),
            "number": range(number, number + rows.requests),
        }

    def __len__(self) -> int:
        """Return the number of requests."""
        return len(self._columns["id"])

    @overload
    def __getitem__(self, place: int) -> RequestFacts: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[RequestFacts]: ...
    def __getitem__(self, place: int | slice) -> RequestFacts | Sequence[RequestFacts]:
        """Return the facts of one request, or of some."""
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        known = {name: values[place] for name, values in self._columns.items()}
        return _NOTHING._replace(**known | {"id": str(known["id"])})

    def column(self, name: str) -> Sequence[Any]:
        """Return one fact of every request; ids are whole numbers."""
        nothing = getattr(_NOTHING, name)
        return self._columns.get(name) or [nothing] * len(self)


_NOTHING = facts_of(Request(id=""), None, None, None, 0)


def column(requests: Sequence[RequestFacts], name: str) -> Sequence[Any]:
    """Return one fact of every request, without a look at each where they lie in columns."""
    if isinstance(requests, RowFacts):
        return requests.column(name)
    return [getattr(facts, name) for facts in requests]
