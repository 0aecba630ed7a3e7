"""What a run on a device found, in the words of the report."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.device import Execution, MeasuredTtft
from kvaudit.core.savings import Percentiles
from kvaudit.cost.accelerators import accelerator_named
from kvaudit.cost.fit import fit_line
from kvaudit.cost.measured import Fit, measured_text
from kvaudit.cost.savings import Costing
from kvaudit.replay.device.assembly import Assembly
from kvaudit.replay.device.cache import DeviceCache
from kvaudit.replay.device.checks import Checked, summarize_checks
from kvaudit.replay.device.choice import device_facts
from kvaudit.replay.device.files import FileTier
from kvaudit.replay.device.room import memory_bytes, memory_bytes_per_s

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
    costing: Costing | None,
    first: int,
) -> Execution:
    """Sum up a run; arrays have one entry a request of the log.

    Times are those of requests from number ``first`` on; before it the cache warms up.
    """
    done, model = run.executed, assembly.model
    executed = np.array([number for number, _ in done.pool_bytes], np.int64)
    hits = int(hit_tokens[executed].sum())
    places = run.executor.places
    return Execution(
        model=model.name,
        weights=model.weights,
        requests=done.requests,
        not_admitted=done.not_admitted,
        left_out=len(prompt_tokens) - done.requests - done.not_admitted,
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
        ttft_s=_ttft(
            {number: one for number, one in done.checked.items() if number >= first},
            prompt_tokens,
            hit_tokens,
            costing,
        ),
        accelerator=_accelerator(run, assembly, prompt_tokens, hit_tokens, costing),
    )


def _ttft(
    checked: Mapping[int, Checked],
    prompt_tokens: NDArray[np.int64],
    hit_tokens: NDArray[np.int64],
    costing: Costing | None,
) -> MeasuredTtft | None:
    if not checked:
        return None
    numbers = np.array(sorted(checked))
    off = np.array([checked[n].off_s for n in numbers])
    on = np.array([checked[n].on_s for n in numbers])
    modelled_off = modelled_on = error = None
    roofline = None if costing is None else costing.roofline
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


def _accelerator(
    run: DeviceCache,
    assembly: Assembly,
    prompt_tokens: NDArray[np.int64],
    hit_tokens: NDArray[np.int64],
    costing: Costing | None,
) -> str | None:
    """Return the device as the run measured it; None where that was not asked, or times do not
    grow with FLOPs."""
    if not assembly.plan.fits or costing is None or not run.executed.checked:
        return None
    numbers = np.array(sorted(run.executed.checked))
    checked = [run.executed.checked[n] for n in numbers]
    prompts, hits = prompt_tokens[numbers], hit_tokens[numbers]
    flops = np.concatenate(
        [
            costing.work.prefill_flops_each(prompts, np.zeros_like(hits)),
            costing.work.prefill_flops_each(prompts - hits, hits),
        ]
    )
    seconds = np.array([c.off_s for c in checked] + [c.on_s for c in checked])
    line = fit_line(flops, seconds)
    if line is None:
        return None
    device = assembly.model.device
    facts = device_facts(device, dtype=assembly.model.dtype_name)
    host = [p.totals() for p in run.executor.places[1:2]]
    fit = Fit(
        title=facts.name,
        flops_per_s=1 / line.s_per_flop,
        constant_s=line.constant_s,
        prefills=len(seconds),
        memory_bytes=memory_bytes(device),
        memory_bytes_per_s=memory_bytes_per_s(device),
        host_bytes_per_s=next((t.read_bytes / t.read_s for t in host if t.read_bytes), None),
        known=accelerator_named(facts.name) if device.type == "cuda" else None,
    )
    return measured_text(fit, f"torch {facts.torch}, {facts.dtype}")


def _percentiles(seconds: NDArray[np.float64]) -> Percentiles:
    return Percentiles(p50=float(np.percentile(seconds, 50)), p99=float(np.percentile(seconds, 99)))


def _thinned(points: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return no more than `POINTS` of them, the last one included."""
    step = max(1, -(-len(points) // POINTS))
    return [*points[:-1:step], *points[-1:]]
