"""Makes a log: sessions of several applications and tenants, in order of arrival.

The same plan gives the same bytes. Every source of chance has its own random numbers, named
by what it is for, so that a planted fault changes the prompts it concerns and nothing else:
not who asks, not when, not what is answered.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random

from kvaudit.core.requests import Request, Status
from kvaudit.traffic.draft import Draft
from kvaudit.traffic.fault import Fault, Occasion, Planted
from kvaudit.traffic.registry import fault, workload
from kvaudit.traffic.serving import Service, estimated_tokens
from kvaudit.traffic.workload import Sessions, Tenant, Turn, Workload, tenants

START_S = 1_772_438_400.0
"""2026-03-02, 8:00 UTC: an ordinary Monday."""
ANSWER_S = 3.0
"""Longest time to the first token; a session's next request never comes before its answer."""
USERS = ("Ada", "Bilal", "Chen", "Dora", "Emil", "Fatma", "Gustav", "Hiro", "Ivana", "Jamal")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficPlan:
    """What a log holds."""

    seed: int = 0
    requests: int = 1000
    workloads: tuple[str, ...] = ("support", "retrieval", "labelling", "extraction", "agent")
    tenants: int = 4
    faults: tuple[Planted, ...] = ()
    session_gap_s: float = 6.0
    """Mean seconds between the starts of two sessions."""


@dataclass(slots=True, order=True)
class _Session:
    """One session under way, ordered by when its next request arrives."""

    next_s: float
    number: int
    workload: Workload = field(compare=False)
    tenant: Tenant = field(compare=False)
    turns: Iterator[Turn] = field(compare=False)
    parent: str | None = field(compare=False, default=None)

    @property
    def name(self) -> str:
        return f"s{self.number:06d}"


@dataclass(slots=True)
class _PlantedFault:
    """A fault with its share and its own random numbers."""

    fault: Fault
    planted: Planted
    rng: Random

    def apply(self, draft: Draft, occasion: Occasion, workload: str) -> Draft:
        # Both draws are made for every request, so that shares do not shift each other.
        hit, own = self.rng.random() < self.planted.share, Random(self.rng.getrandbits(64))
        if not hit or self.planted.workload not in (None, workload):
            return draft
        return self.fault.plant(draft, occasion, own)


def generate(
    plan: TrafficPlan, *, count_tokens: Callable[[str], int] = estimated_tokens
) -> Iterator[Request]:
    """Make the requests of a plan, in order of arrival.

    ``count_tokens`` is the service's tokenizer: it decides the counts and times in the log.
    """
    service = Service(count_tokens)
    faults = [
        _PlantedFault(fault(p.fault), p, _stream(plan.seed, "fault", p.fault)) for p in plan.faults
    ]
    for number, (session, turn) in zip(range(plan.requests), _turns(plan), strict=False):
        occasion = Occasion(
            number=number,
            arrived_s=session.next_s,
            tenant=session.tenant.name,
            user=USERS[session.number % len(USERS)],
            session=session.name,
        )
        draft = turn.draft
        for planted in faults:
            draft = planted.apply(draft, occasion, session.workload.name)
        yield _request(occasion, session, draft, turn.answer, service)


def _turns(plan: TrafficPlan) -> Iterator[tuple[_Session, Turn]]:
    """Yield turns in order of arrival, without end; a session moves on after its turn."""
    starts = _starts(plan)
    upcoming = next(starts)
    live: list[_Session] = []
    while True:
        while not live or upcoming.next_s <= live[0].next_s:
            heapq.heappush(live, upcoming)
            upcoming = next(starts)
        session = heapq.heappop(live)
        turn = next(session.turns, None)
        if turn is None:
            continue
        yield session, turn
        answer_s = ANSWER_S + len(turn.answer) / 100
        session.next_s = round(session.next_s + answer_s + turn.pause_s, 3)
        heapq.heappush(live, session)


def _starts(plan: TrafficPlan) -> Iterator[_Session]:
    """Yield new sessions in order of arrival, without end."""
    deployed: dict[tuple[str, str], Sessions] = {}
    rng = _stream(plan.seed, "arrivals")
    everyone = tenants(plan.tenants)
    kinds = [workload(name) for name in plan.workloads]
    now_s, number = START_S, 0
    while True:
        kind = kinds[int(rng.random() * len(kinds))]
        # Squaring makes the first tenants the large ones.
        tenant = everyone[int(rng.random() ** 2 * len(everyone))]
        key = kind.name, tenant.name
        if key not in deployed:
            deployed[key] = kind.deploy(tenant, _stream(plan.seed, "deploy", *key))
        turns = deployed[key](Random(rng.getrandbits(64)))
        yield _Session(round(now_s, 3), number, kind, tenant, turns)
        now_s += rng.expovariate(1 / plan.session_gap_s)
        number += 1


def _request(
    occasion: Occasion, session: _Session, draft: Draft, answer: str, service: Service
) -> Request:
    messages = draft.messages()
    usage = service.answer(
        messages, draft.tools, answer, session=occasion.session, now_s=occasion.arrived_s
    )
    name = f"r{occasion.number:07d}"
    parent, session.parent = session.parent, name
    return Request(
        id=name,
        arrived_s=occasion.arrived_s,
        finished_s=round(occasion.arrived_s + usage.ttft_s + usage.decode_s, 3),
        status=Status.OK,
        model=session.workload.model,
        tenant=occasion.tenant,
        user=occasion.user,
        session=occasion.session,
        parent=parent,
        messages=messages,
        tools=draft.tools or None,
        response=answer,
        prompt_tokens=usage.prompt_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cached_tokens,
        ttft_s=usage.ttft_s,
        temperature=session.workload.temperature,
        max_tokens=session.workload.max_tokens,
        instance=usage.instance,
    )


def _stream(seed: int, *purpose: str) -> Random:
    """Return the random numbers for one purpose."""
    return Random("/".join([str(seed), *purpose]))
