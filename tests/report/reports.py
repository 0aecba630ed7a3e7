"""Hand-made reports: figures invented, every part of a report in at least one of them."""

from dataclasses import replace

from kvaudit.core.results import (
    Budget,
    LostTokens,
    NamespaceSummary,
    PrefixSummary,
    ReplayReport,
    SessionsSummary,
    SessionSummary,
)
from kvaudit.core.savings import AcceleratorUse, Percentiles, Savings, TtftSavings
from kvaudit.core.summaries import Bounds, EngineSummary, LengthSummary, LogSummary, Note

DEFINITION = "hit tokens / prompt tokens, whole log, cold start, contiguous prefix"


def prefix(hit_tokens, prompt_tokens=144_800_000, requests=12_031, **changes):
    values = {
        "requests": requests,
        "prompt_tokens": prompt_tokens,
        "hit_tokens": hit_tokens,
        "hit_rate": hit_tokens / prompt_tokens if prompt_tokens else None,
        "block_hit_rate": 0.2,
        "mean_request_hit_rate": 0.3,
        "computed_tokens": prompt_tokens - hit_tokens,
        "evicted_blocks": None,
        "peak_blocks": None,
        "not_admitted": None,
        "occupancy": None,
        "definition": DEFINITION,
    }
    return PrefixSummary(**values | changes)


LENGTHS = LengthSummary(
    requests=12_031, total=144_800_000, mean=12_035.6, p50=10_120, p99=80_001, max=128_000
)
LOG = LogSummary(
    files=["chat.parquet"],
    format="openai-chat",
    records=12_068,
    skipped=37,
    skipped_reasons={"status is error": 30, "broken": 2, "truncated prompt": 5},
    broken=["chat.parquet:17: messages is not a list"],
    requests=12_031,
    span_s=3720.0,
    tokenizer="o200k_base (exact)",
    chat_template="chatml",
    prompt_lengths=LENGTHS,
    output_lengths=None,
)
ENGINE = EngineSummary(
    name="vllm",
    version="0.33.0",
    block_size=16,
    capacity_blocks=163_840,
    capacity_bytes=320 * 2**30,
    model="llama-3.1-8b",
    kv_bytes_per_token=131_072,
    policy="lru",
    schedule="sequential",
    exactness="simulated; an upper bound, since nothing is in flight between requests",
)
SHARE = {"requests": 100, "prompt_tokens": 70_000_000, "hit_tokens": 35_000_000, "hit_rate": 0.5}

ON_H100 = AcceleratorUse(
    name="H100 SXM",
    count=1,
    source="a table, read 2026-11-30",
    peak_flops_per_s=989e12,
    mfu=0.5,
    bandwidth_efficiency=0.8,
    weights="bf16",
    weight_bytes=16_059_990_016,
    kv_room_bytes=61_249_421_312,
    kv_room_blocks=29_206,
    break_even_bytes_per_s=4.6e9,
    hours_without=2.82,
    hours_with=2.21,
    hours_saved=0.61,
    hours_saved_per_day=14.2,
    usd_per_hour=2.5,
    usd_saved_per_day=35.4,
)
SAVINGS = Savings(
    flops_without=5_020_000_000_000_000_000,
    flops_with=3_930_000_000_000_000_000,
    saved_flops=1_090_000_000_000_000_000,
    share=0.2171,
    decode_flops=90_000_000_000_000_000,
    usd=1.53,
    ttft_s=TtftSavings(
        off=Percentiles(p50=0.41, p99=2.9),
        on=Percentiles(p50=0.322, p99=2.4),
        basis="modelled",
        definition="prefill alone on H100 SXM at MFU 0.5",
        measured=None,
        fit=None,
    ),
    accelerator=ON_H100,
    definition="prefill FLOPs of the prompts without reuse minus with reuse",
)

BOUNDED = ReplayReport(
    log=LOG,
    engine=ENGINE,
    prefix=prefix(
        31_600_000,
        evicted_blocks=1_406_250,
        peak_blocks=163_840,
        not_admitted=2,
        occupancy=[(0.0, 1), (1.5, 163_840)],
    ),
    ideal=prefix(54_100_000),
    reported=prefix(28_800_000, requests=12_000, definition="cached tokens / prompt tokens"),
    lost=LostTokens(first_seen=90_700_000, evicted=22_400_000, last_block=100_000),
    namespaces=[
        NamespaceSummary(namespace="tenant=b", **SHARE),
        NamespaceSummary(namespace="tenant=a", **SHARE | {"prompt_tokens": 74_800_000}),
    ],
    sessions=SessionsSummary(
        sessions=412,
        hit_rate_p10=0.0,
        hit_rate_p50=0.612,
        hit_rate_p90=0.88,
        most_computed=[SessionSummary(session=f"s-{n}", **SHARE) for n in range(5)],
    ),
    savings=SAVINGS,
    notes=[
        Note(topic="order", text="Requests were put in order of arrival.", count=1204),
        Note(
            topic="images",
            text="31 requests hold media that cannot be identified; their prompts were not "
            "replayed, because two images of one size would look the same.",
            count=31,
        ),
    ],
    budgets=[
        Budget(name="hit-rate", limit=0.2, value=0.2182, passed=True),
        Budget(name="hit-rate", limit=0.6, value=0.2182, passed=False),
    ],
)

UNBOUNDED = ReplayReport(
    log=replace(LOG, records=1, skipped=0, skipped_reasons={}, broken=[], requests=1, span_s=None),
    engine=replace(
        ENGINE, capacity_blocks=None, capacity_bytes=None, model=None, kv_bytes_per_token=None
    ),
    prefix=prefix(
        960,
        1_200,
        1,
        bounds=Bounds(
            low=0.8, high=0.925, definition="prompt only, to answers encoded as the next turn would"
        ),
    ),
    ideal=prefix(1_100, 1_200, 1),
    reported=None,
    lost=LostTokens(first_seen=100, evicted=0, last_block=140),
)

COUNTS_ONLY = ReplayReport(
    log=replace(LOG, files=[f"day-{n}.csv" for n in range(1, 6)], format="azure", tokenizer=None,
                chat_template=None, output_lengths=replace(LENGTHS, total=2_100_000)),
    engine=None,
    prefix=None,
    ideal=None,
    reported=None,
    notes=[
        Note(
            topic="no-prompts",
            text="This log counts tokens and does not say which; what a cache would have reused "
            "cannot be told from it.",
        )
    ],
)  # fmt: skip
