"""The logs that benchmarks read: made traffic, as bodies of OpenAI chat requests.

Without tools: the two programs that are compared put them at different places.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from kvaudit.core.requests import Request
from kvaudit.traffic.generate import TrafficPlan, generate

CHAT = ("support", "retrieval", "labelling", "extraction")


def body(request: Request, number: int) -> str:
    """Return one line of a log of request bodies."""
    return json.dumps(
        {
            "request_id": f"r{number:07d}",
            "session_id": request.session,
            "timestamp": request.arrived_s,
            "model": request.model,
            "messages": request.messages,
        },
        ensure_ascii=False,
    )


def mixed(requests: int) -> Iterator[Request]:
    """Four applications of forty tenants: some 2,000 tokens a request, and shared prefixes."""
    return generate(TrafficPlan(seed=7, requests=requests, workloads=CHAT, tenants=40))


def chat(requests: int) -> Iterator[Request]:
    """Multi-turn conversations only."""
    return generate(TrafficPlan(seed=7, requests=requests, workloads=("support",), tenants=40))


def write(path: Path, requests: Iterator[Request], *, max_bytes: float = float("inf")) -> Path:
    """Write a log of at most ``max_bytes``, unless it is there."""
    if not path.exists():
        place = path.with_suffix(".part")
        with place.open("wb") as file:
            size = 0
            for number, request in enumerate(requests):
                size += file.write(f"{body(request, number)}\n".encode())
                if size >= max_bytes:
                    break
        place.rename(path)
    return path


def repeated(requests: int, times: int) -> Iterator[Request]:
    """The same requests of the mixed load over and over, as if each day were like the first."""
    for day in range(times):
        for request in mixed(requests):
            assert request.arrived_s is not None
            yield replace(request, arrived_s=request.arrived_s + day * 86_400)
