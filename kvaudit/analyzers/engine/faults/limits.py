"""Settings that leave a cache less room than it could have."""

from __future__ import annotations

from collections.abc import Iterator

from kvaudit.analyzers.engine.faults import seen
from kvaudit.analyzers.engine.invocation import Deployment, Invocation
from kvaudit.analyzers.engine.models import encodes_only
from kvaudit.analyzers.engine.stores import lmcache_setting
from kvaudit.core.document import Observation

_LEAST_SHARE = 0.5
_LEAST_CPU_GB = 5.0
"""LMCache's own default."""
_LEAST_SLOT_TOKENS = 4096.0


def look(deployment: Deployment) -> Iterator[Observation]:
    """Yield settings that shrink a cache."""
    for run in deployment.invocations:
        if encodes_only(run):
            continue
        yield from _memory(deployment, run)
        yield from _host(deployment, run)
        yield from _slots(deployment, run)
    for variable in deployment.variables:
        if variable.name == "OLLAMA_KEEP_ALIVE" and variable.value in ("0", "0s", "0m"):
            detail = f"{variable.written} is {variable.value}: the model and its cache go at once"
            yield seen(deployment, "engine-limits", variable.span, detail)


def _memory(deployment: Deployment, run: Invocation) -> Iterator[Observation]:
    share = run.get("gpu-memory-utilization", "mem-fraction-static")
    if share is not None and share.number is not None and 0 < share.number < _LEAST_SHARE:
        detail = f"{share.written} is {share.value}, so little of the memory holds KV"
        yield seen(deployment, "engine-limits", share.span, detail)


def _host(deployment: Deployment, run: Invocation) -> Iterator[Observation]:
    size = lmcache_setting(run, "max-local-cpu-size")
    if size is not None and size.number is not None and 0 < size.number < _LEAST_CPU_GB:
        detail = f"{size.written} is {size.value} GB; the default is {_LEAST_CPU_GB:g}"
        yield seen(deployment, "engine-limits", size.span, detail)
    ratio = run.get("hicache-ratio")
    if ratio is not None and ratio.number is not None and 0 < ratio.number <= 1:
        detail = f"{ratio.written} is {ratio.value}: the host holds no more than the device does"
        yield seen(deployment, "engine-limits", ratio.span, detail)


def _slots(deployment: Deployment, run: Invocation) -> Iterator[Observation]:
    if run.program != "llama-cpp" or run.get("kv-unified", "kvu") is not None:
        return
    slots, context = run.get("parallel", "np"), run.get("ctx-size", "c")
    if slots is None or context is None or not slots.number or not context.number:
        return
    share = context.number / slots.number
    if slots.number > 1 and share < _LEAST_SLOT_TOKENS:
        detail = f"{slots.written} {slots.value} leaves each slot {share:.0f} tokens"
        yield seen(deployment, "engine-limits", slots.span, detail)
