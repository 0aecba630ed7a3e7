"""What a run on a device found, in the words of the report."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.device import Execution, MeasuredTtft
from kvaudit.core.savings import Percentiles
from kvaudit.cost.roofline import Roofline
from kvaudit.replay.device.assembly import Assembly
from kvaudit.replay.device.cache import DeviceCache, Executed
from kvaudit.replay.device.checks import summarize_checks
from kvaudit.replay.device.files import FileTier

SHOWN = 10
"""Ids of requests that differ."""
POINTS = 200
"""Of a memory curve, at most."""


def summarize_run(
    run: DeviceCache,
    assembly: Assembly,
    *,
    prompt_tokens: NDArray[np.int64],
    hit_tokens: NDArray[np.int64],
    roofline: Roofline | None,
) -> Execution:
    """Sum up a run; arrays have one entry a request of the log."""
    done, model = run.executed, assembly.model
    executed = np.array([number for number, _ in done.pool_bytes], np.int64)
    hits = int(hit_tokens[executed].sum())
    places = run.executor.places
    return Execution(
        model=model.name,
        weights=model.weights,
        requests=done.requests,
        left_out=len(prompt_tokens) - done.requests,
        reason=done.reason,
        computed_tokens=int(prompt_tokens[executed].sum()) - hits,
        hit_tokens=hits,
        differing=len(done.differing),
        differing_requests=done.differing[:SHOWN],
        damaged_blocks=sum(p.damaged_blocks for p in places if isinstance(p, FileTier)),
        leaked_blocks=done.leaked_blocks,
        pool_blocks=assembly.pool.capacity_blocks,
        shrunk_from_blocks=assembly.shrunk_from_blocks,
        memory=_thinned(done.pool_bytes),
        device_memory=_thinned(done.device_bytes),
        copies=[place.totals() for place in places],
        logits=summarize_checks(done.checked.values(), model.dtype_name),
        ttft_s=_ttft(done, prompt_tokens, hit_tokens, roofline),
    )


def _ttft(
    done: Executed,
    prompt_tokens: NDArray[np.int64],
    hit_tokens: NDArray[np.int64],
    roofline: Roofline | None,
) -> MeasuredTtft | None:
    if not done.checked:
        return None
    numbers = np.array(sorted(done.checked))
    off = np.array([done.checked[n].off_s for n in numbers])
    on = np.array([done.checked[n].on_s for n in numbers])
    modelled_off = modelled_on = error = None
    if roofline is not None:
        prompts, hits = prompt_tokens[numbers], hit_tokens[numbers]
        told_off = roofline.prefill_s(prompts, np.zeros_like(hits))
        told_on = roofline.prefill_s(prompts - hits, hits)
        modelled_off, modelled_on = _percentiles(told_off), _percentiles(told_on)
        told, measured = np.concatenate([told_off, told_on]), np.concatenate([off, on])
        error = float(np.median(np.abs(told - measured) / measured))
    return MeasuredTtft(
        requests=len(numbers),
        off=_percentiles(off),
        on=_percentiles(on),
        saved_share=float(1 - on.sum() / off.sum()),
        modelled_off=modelled_off,
        modelled_on=modelled_on,
        modelled_error=error,
    )


def _percentiles(seconds: NDArray[np.float64]) -> Percentiles:
    return Percentiles(p50=float(np.percentile(seconds, 50)), p99=float(np.percentile(seconds, 99)))


def _thinned(points: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return no more than `POINTS` of them, the last one included."""
    step = max(1, -(-len(points) // POINTS))
    return [*points[:-1:step], *points[-1:]]
