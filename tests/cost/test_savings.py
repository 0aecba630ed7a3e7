"""What hits are worth, where a test through the command line would need too much around it."""

import numpy as np
import pytest

from kvaudit.cost.accelerators import find_accelerator
from kvaudit.cost.catalogue import load_model_shape
from kvaudit.cost.roofline import make_roofline
from kvaudit.cost.savings import (
    Costing,
    ScheduledTimes,
    ServedTokens,
    TimesToFirstToken,
    summarize_savings,
)

SHAPE = load_model_shape("llama-3.1-8b")
ROOFLINE = make_roofline(SHAPE, find_accelerator("h100"))


def served(prompts, hits, **changes):
    prompts, hits = np.array(prompts, np.int64), np.array(hits, np.int64)
    values = {
        "prompt_tokens": prompts,
        "hit_tokens": hits,
        "output_tokens": np.full_like(prompts, 10),
        "measured_ttft_s": np.full(len(prompts), np.nan),
        "reported_hits": np.full_like(prompts, -1),
        "span_s": 60.0,
        "block_size": 16,
    }
    return ServedTokens(**values | changes)


def summary(tokens, roofline=ROOFLINE):
    return summarize_savings(Costing(work=SHAPE.work(), roofline=roofline), tokens)


def test_where_a_schedule_has_time_its_waiting_is_in_it():
    times = ScheduledTimes(np.array([1.0, 2.0, np.nan]), np.array([0.5, 0.25, np.nan]))
    found = summary(
        served([900, 900, 900], [0, 800, 0], times=TimesToFirstToken(scheduled=times))
    ).ttft_s
    assert (found.off.p50, found.off.p99) == (1.0, 2.0)
    assert (found.on.p50, found.on.p99) == (0.25, 0.5)
    assert found.basis == "modelled"
    assert "with waiting" in found.definition


def test_hits_in_lower_tiers_are_loaded_first():
    tokens = served([900, 900], [800, 0])
    without = summary(tokens).ttft_s
    loaded = summary(
        served([900, 900], [800, 0], times=TimesToFirstToken(np.array([0.5, 0.0])))
    ).ttft_s
    assert loaded.on.p99 == pytest.approx(without.on.p50 + 0.5)
    assert loaded.off == without.off
    assert "loaded first" in loaded.definition


def test_a_schedule_that_admitted_nothing_has_no_times():
    none = np.array([np.nan])
    assert (
        summary(
            served([900], [0], times=TimesToFirstToken(scheduled=ScheduledTimes(none, none)))
        ).ttft_s
        is None
    )


def test_no_requests_save_nothing():
    found = summary(served([], []))
    assert (found.saved_flops, found.share, found.ttft_s) == (0, None, None)
    assert found.accelerator.hours_saved == 0


def test_a_whole_prompt_that_hits_costs_nothing():
    found = summary(served([500, 500], [0, 500]))
    assert found.share == 0.5
    assert found.ttft_s.on.p50 == 0


def test_measured_times_are_read_with_what_the_log_says_was_cached():
    """Half of the requests had all but 100 tokens cached, whatever the modelled cache hit."""
    prompts = np.arange(1000, 5000, 50)
    cached = np.where(np.arange(80) % 2, prompts - 100, 0)
    flops = SHAPE.work().prefill_flops_each(prompts - cached, cached)
    seconds = 0.02 + flops / 3e14
    tokens = served(prompts, np.zeros(80), measured_ttft_s=seconds, reported_hits=cached)
    fit = summary(tokens).ttft_s.fit
    assert fit.flops_per_s == pytest.approx(3e14)
    assert fit.constant_s == pytest.approx(0.02)
    assert fit.median_error < 1e-6


def test_answers_are_counted_apart():
    found = summary(served([100, 200], [0, 0]), roofline=None)
    work = SHAPE.work()
    assert found.decode_flops == work.decode_flops(100, 10) + work.decode_flops(200, 10)
    assert (found.accelerator, found.ttft_s) == (None, None)
