"""What hits are worth, in words: every case of what is known of them."""

from dataclasses import replace

import pytest

from kvaudit.core.savings import TtftFit
from kvaudit.report.savings import saved_facts, saved_rows

from .reports import ON_H100, SAVINGS

FIT = TtftFit(
    requests=300,
    flops_per_s=1.7e14,
    mfu=0.17,
    constant_s=0.08,
    median_error=0.04,
    p90_error=0.11,
    assumed_median_error=0.62,
    assumed_p90_error=0.8,
)


def rows(**changes):
    return dict(saved_rows(replace(SAVINGS, **changes)))


def use(**changes):
    return rows(accelerator=replace(ON_H100, **changes))


def test_of_a_model_alone_only_work_is_known():
    assert rows(usd=None, ttft_s=None, accelerator=None) == {
        "saved": "1.09e18 of 5.02e18 prefill FLOPs (21.7 %)"
    }


def test_of_a_provider_only_money_is_known():
    found = rows(flops_without=None, saved_flops=None, ttft_s=None, accelerator=None)
    assert found == {"money": "1.53 USD saved over the log"}


def test_fitted_times_say_how_far_they_are_off():
    fitted = replace(SAVINGS.ttft_s, basis="measured", fit=FIT)
    found = rows(ttft_s=fitted)
    assert found["TTFT"].endswith("(fitted to measured times)")
    assert found[""] == (
        "off by 4.0 %, P90 11.0 %; with MFU 0.5 and no constant by 62.0 %, P90 80.0 %"
    )
    waiting = rows(ttft_s=replace(SAVINGS.ttft_s, fit=FIT))
    assert waiting[""].startswith("a line through the measured times is off by 4.0 %")
    assert rows(ttft_s=fitted, accelerator=None)[""] == "off by 4.0 %, P90 11.0 %"


def test_without_times_in_the_log_nothing_is_projected():
    found = use(hours_saved_per_day=None, usd_saved_per_day=None)
    assert found["time"].endswith("saves 0.61 h, 1.53 USD; no times in the log to project it a day")


@pytest.mark.parametrize(
    ("hours", "shown"),
    [(0.0, "0 h"), (0.00001, "0.036 s"), (0.02, "72.0 s"), (0.5, "0.5 h"), (1234.5, "1,234 h")],
)
def test_hours_have_a_unit_that_can_be_read(hours, shown):
    assert use(hours_without=hours)["time"].startswith(f"{shown} → 2.2 h of prefill")


def test_several_accelerators_are_counted():
    assert "prefill on 8 x H100 SXM at" in use(count=8)["time"]


def test_a_model_without_kv_has_no_room_to_speak_of():
    found = use(kv_room_blocks=None, break_even_bytes_per_s=None)
    assert found.keys() == {"saved", "TTFT", "time"}


def test_facts_are_plain_numbers():
    facts = dict(saved_facts(SAVINGS))
    assert facts["prefill FLOPs saved"] == 1_090_000_000_000_000_000
    assert facts["prefill FLOPs saved, share"] == "0.2171"
    assert facts["TTFT, cache on, seconds"] == "P50 0.322, P99 2.4"
    assert facts["accelerator"] == "1 x H100 SXM, MFU 0.5"
    assert facts["USD saved"] == "1.53"
