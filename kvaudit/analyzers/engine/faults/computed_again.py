"""Settings under which a cached prefix is computed again all the same."""

from __future__ import annotations

from collections.abc import Iterator

from kvaudit.analyzers.engine.faults import seen
from kvaudit.analyzers.engine.invocation import Deployment, Invocation
from kvaudit.analyzers.engine.models import is_hybrid
from kvaudit.core.document import Observation

_LARGEST_STATE_BLOCK = 2096
"""Tokens; hybrid models align their blocks to 528 to 2,096 tokens in vLLM."""


def look(deployment: Deployment) -> Iterator[Observation]:
    """Yield step budgets and switches that keep states or chunks from being kept."""
    for run in deployment.invocations:
        if run.program == "vllm" and is_hybrid(run.model):
            yield from _states(deployment, run)
        if run.program == "sglang":
            yield from _chunks(deployment, run)


def _states(deployment: Deployment, run: Invocation) -> Iterator[Observation]:
    """A state is kept only where a step ends on a block's boundary (vLLM #45238)."""
    budget = run.get("max-num-batched-tokens")
    if budget is not None and budget.number and budget.number < _LARGEST_STATE_BLOCK:
        detail = (
            f"{budget.written} is {budget.value}, and {run.model} keeps a state only where a step "
            f"ends on a block of up to {_LARGEST_STATE_BLOCK:,} tokens"
        )
        yield seen(deployment, "prefix-computed-again", budget.span, detail)
    chunked = run.get("enable-chunked-prefill")
    if chunked is not None and chunked.on is False:
        detail = f"{chunked.written}, and {run.model} keeps states only at the ends of chunks"
        yield seen(deployment, "prefix-computed-again", chunked.span, detail)


def _chunks(deployment: Deployment, run: Invocation) -> Iterator[Observation]:
    """Without chunks nothing of a long prompt can be shared before all of it was computed."""
    size = run.get("chunked-prefill-size")
    if size is not None and size.number is not None and size.number < 0:
        detail = f"{size.written} is {size.value}: a prompt is shared only once all of it ran"
        yield seen(deployment, "prefix-shared-late", size.span, detail)
