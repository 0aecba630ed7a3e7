"""Routers that send a conversation to whichever replica, and not to the one that has its KV."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from kvaudit.analyzers.engine.faults import seen
from kvaudit.analyzers.engine.invocation import Deployment, Invocation, Setting
from kvaudit.analyzers.engine.programs import all_programs
from kvaudit.analyzers.engine.stores import shares_store
from kvaudit.core.document import Observation

_ENGINES = ("vllm", "sglang", "trtllm", "tgi", "llama-cpp")


def look(deployment: Deployment) -> Iterator[Observation]:
    """Yield routers that do not look at prefixes in front of several replicas."""
    if shares_store(deployment):
        return
    for run in deployment.invocations:
        facts = all_programs()[run.program].facts.get("routing")
        if facts is None:
            continue
        given = _policy(run, facts)
        count = _backends(run, facts) or _replicas(deployment)
        if given is None or not given.known or count == 1:
            continue
        session = facts.get("session")
        if given.value in facts["blind"]:
            kind = "router-not-cache-affine" if count else "router-perhaps-not-affine"
            among = f"among {count} replicas" if count else "whatever the number of replicas"
            detail = f"{given.written} is {given.value}, {among}"
            yield seen(deployment, kind, given.span, detail)
        elif session and given.value == session["value"]:
            key = run.get(session["flag"])
            if key is None or not (key.value or "").strip():
                detail = f"{given.written} is {given.value}, and no {session['flag']} is named"
                yield seen(deployment, "router-not-cache-affine", given.span, detail)


def _policy(run: Invocation, facts: Mapping[str, Any]) -> Setting | None:
    given = run.get(facts["flag"])
    if given is None and "variable" in facts:
        given = run.variable(facts["variable"])
    return given


def _backends(run: Invocation, facts: Mapping[str, Any]) -> int | None:
    """Return how many replicas the router itself is told of."""
    listed = run.get(*facts.get("backends", ()))
    if listed is None or not listed.known or not listed.value:
        return None
    return len([part for part in listed.value.replace(",", " ").split() if part])


def _replicas(deployment: Deployment) -> int | None:
    """Return how many replicas of one model and role there are; None where that is not said."""
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for run in deployment.running(*_ENGINES):
        if run.replicas is None:
            if run.settings_only:
                continue
            return None
        counts[run.model or run.group, _role(run)] += run.replicas
    return max(counts.values(), default=None)


def _role(run: Invocation) -> str:
    named = f"{run.group} {' '.join(setting.written for setting in run.settings)}".lower()
    mode = run.get("disaggregation-mode")
    if mode is not None:
        return mode.value or ""
    return (
        "prefill"
        if "prefill-worker" in named or "prefill" in run.group.lower()
        else ("decode" if "decode" in run.group.lower() else "")
    )
