"""From logged requests to the lookups of a policy: which texts, under which key, at what times.

Holds the whole log's texts, since an entry may be served at any later time: about the texts' own
size, and four bytes a dimension for each different one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from kvaudit.core.errors import UsageError
from kvaudit.core.requests import Request, Status
from kvaudit.replay.semantic.policy import AUTO, COLUMN, SemanticPolicy
from kvaudit.replay.semantic.texts import embedded_text, folded, system_texts

Row = Mapping[str, Any]
PARAMETERS = (
    *("model", "lora", "temperature", "top_p", "seed", "max_tokens", "response_format"),
    *("tools", "system_prompt"),
)
"""Fields that decide an answer; see ``key`` for what keeps entries apart by them."""
Parameters = tuple[bytes | None, ...]
NO_TEXT = "no text that a semantic cache could compare"


@dataclass(slots=True)
class Asked:
    """What is kept of a request."""

    number: int
    """Its number in the order of the file, counted over all requests."""
    id: str
    text: str
    key: tuple[str | None, ...]
    arrived_s: float | None
    finished_s: float | None
    storable: bool
    tenant: str | None
    answer_group: str | None
    response: str | None
    looked_up: bool
    """Whether the policy lets it in; its scenario may be kept out."""
    cosine: float
    vector: Sequence[float] | None = None
    scenario: str | None = None
    parameters: Parameters = ()
    """What an answer depends on beside its text: values of `PARAMETERS`."""
    ttl_s: float | None = None
    """How long its answer lives, where its scenario has a life of its own."""


@dataclass(slots=True)
class Gathered:
    """The log's requests in the order of their arrival, and those that no cache could serve."""

    asked: list[Asked] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    timed: bool = False
    """Whether the log says when requests arrived."""


def gather(requests: Iterable[Request], policy: SemanticPolicy) -> Gathered:
    """Read the log, whose requests carry the columns that the policy names.

    Raises `UsageError` where the log lacks what the policy needs.
    """
    found = Gathered()
    kept: dict[Parameters, Parameters] = {}
    for number, request in enumerate(requests):
        text = embedded_text(request, policy.context)
        reason = request.unfit or (None if text is not None else NO_TEXT)
        if reason is not None or text is None:
            found.skipped[reason or NO_TEXT] += 1
            continue
        columns = request.columns
        scenario = _scenario(policy, columns)
        parameters = parameters_of(request)
        found.asked.append(
            Asked(
                number=number,
                id=request.id,
                text=text,
                key=tuple(_part(request, name) for name in policy.parts),
                arrived_s=_arrival(request),
                finished_s=request.finished_s,
                storable=request.status is not Status.CANCELLED,
                tenant=request.tenant,
                answer_group=request.answer_group,
                response=request.response,
                looked_up=admits(policy, request, text),
                cosine=policy.cosine,
                vector=_vector(policy, columns, request.id),
                scenario=scenario,
                parameters=kept.setdefault(parameters, parameters),  # a few, over and over
            )
        )
    _settle_scenarios(found.asked, policy)
    found.timed = any(asked.arrived_s is not None for asked in found.asked)
    timing = [name for name in ("ttl", "ttls", "stale_after") if getattr(policy, name)]
    if timing and not found.timed and found.asked:
        raise UsageError(
            f"the policy's {timing[0]} needs the time of each request: add arrived_s to the log, "
            f"or leave {timing[0]} out"
        )
    _sort(found.asked)
    return found


def _arrival(request: Request) -> float | None:
    if request.arrived_s is None and request.arrive_step is not None:
        return float(request.arrive_step)
    return request.arrived_s


def _sort(asked: list[Asked]) -> None:
    """Sort by arrival; one without a time counts as arriving with its predecessor in the file."""
    latest = -np.inf
    times = []
    for one in asked:
        latest = one.arrived_s if one.arrived_s is not None else latest
        times.append(latest)
    order = sorted(range(len(asked)), key=times.__getitem__)
    asked[:] = [asked[i] for i in order]


def _part(request: Request, name: str) -> str | None:
    """Return a field of the key as text: what was left out is no value, and equals only itself."""
    if name == "system_prompt":
        return "\n".join(system_texts(request)) or None
    value = getattr(request, name)
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def parameters_of(request: Request) -> Parameters:
    """Return the values of `PARAMETERS`, of which each different one is kept once."""
    values = (
        system_texts(request) if name == "system_prompt" else getattr(request, name)
        for name in PARAMETERS
    )
    return tuple(
        None if value in (None, []) else orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        for value in values
    )


def admits(policy: SemanticPolicy, request: Request, text: str) -> bool:
    """Return whether a request may use the cache by its shape."""
    rule = policy.admission
    if rule.max_chars is not None and len(text) > rule.max_chars:
        return False
    if rule.max_messages is not None and len(request.messages or ()) > rule.max_messages:
        return False
    temperature = 1.0 if request.temperature is None else request.temperature
    return rule.max_temperature is None or temperature <= rule.max_temperature


def _scenario(policy: SemanticPolicy, columns: Row | None) -> str | None:
    if policy.scenario in (None, AUTO):
        return None
    name = (policy.scenario or "").removeprefix(COLUMN)
    value = (columns or {}).get(name)
    return None if value is None else str(value)


def _settle_scenarios(asked: Sequence[Asked], policy: SemanticPolicy) -> None:
    """Let each request's scenario decide whether it is let in, how near is enough, and for long."""
    if policy.scenario is None:
        return
    if policy.scenario == AUTO:
        from kvaudit.replay.semantic.guards.scenarios import classify

        texts = list(dict.fromkeys(one.text for one in asked))
        scenario_of = dict(zip(texts, classify(texts), strict=True))
        for one in asked:
            one.scenario = scenario_of[one.text]
    elif asked and all(one.scenario is None for one in asked):
        raise UsageError(
            f'scenario = "{policy.scenario}": no request has that column, so what the policy says '
            "of scenarios holds for none"
        )
    cosines = policy.cosines
    for one in asked:
        one.looked_up = one.looked_up and _is_let_in(policy, one.scenario)
        if one.scenario is not None:
            one.cosine = cosines.get(one.scenario, one.cosine)
            one.ttl_s = policy.ttls.get(one.scenario)


def _is_let_in(policy: SemanticPolicy, scenario: str | None) -> bool:
    if scenario in policy.deny:
        return False
    return policy.allow is None or scenario in policy.allow


def _vector(policy: SemanticPolicy, columns: Row | None, request_id: str) -> Any:
    if not policy.encoder.startswith(COLUMN):
        return None
    name = policy.encoder.removeprefix(COLUMN)
    value = (columns or {}).get(name)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            value = None
    if not isinstance(value, (list, tuple)) or not value:
        raise UsageError(
            f'encoder = "{policy.encoder}": request {request_id} has no list of numbers in the '
            f"column {name}; every request that is replayed needs one"
        )
    return value


def numbered(values: Iterable[Any]) -> tuple[NDArray[np.int64], list[Any]]:
    """Return a dense number for each value, by first appearance, and the different values."""
    numbers: dict[Any, int] = {}
    dense = [numbers.setdefault(value, len(numbers)) for value in values]
    return np.array(dense, np.int64), list(numbers)


def folded_numbers(texts: Sequence[str], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a dense number for what an exact tier takes as each request's text."""
    by_text, _ = numbered(folded(text) for text in texts)
    return by_text[rows]
