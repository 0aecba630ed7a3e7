"""What is read in the metrics of engines: windows, rates, leaks, and texts that are none."""

import csv
from pathlib import Path

import pytest

from kvaudit.analyzers.metrics.exposition import read_exposition
from kvaudit.analyzers.metrics.run import examine
from kvaudit.analyzers.metrics.sheets import sheets
from kvaudit.core.engine_metrics import Basis
from kvaudit.core.errors import InputError

SHARED = Path(__file__).parents[4] / "shared/data/metrics"


def vllm(usage, running, *, prompt=0, waiting=0, queries=0, hits=0):
    """One exposition of a vLLM engine."""
    rows = {
        "kv_cache_usage_perc": usage,
        "num_requests_running": running,
        "num_requests_waiting": waiting,
        "prompt_tokens_total": prompt,
        "prefix_cache_queries_total": queries,
        "prefix_cache_hits_total": hits,
    }
    return "".join(f'vllm:{name}{{engine="0"}} {value}\n' for name, value in rows.items())


def only(texts, engine="vllm"):
    report = examine([(f"sample-{n}", text) for n, text in enumerate(texts)])
    assert [e.engine for e in report.engines] == [engine]
    return report.engines[0]


def found(texts):
    return [(f.check, str(f.severity)) for f in only(texts).findings]


def test_labels_escapes_time_stamps_and_exemplars_are_read():
    text = (
        "# HELP a_total What.\n"
        '  a_total{x="say \\"}{\\" = \\\\",y="\\n"} 3e2 1700000000000\n'
        'b_bucket{le="+Inf"} 4 # {trace_id="1"} 0.5\n'
        "c NaN\nc2 +Inf\n<html>\n# EOF\n"
    )
    read = read_exposition(text)
    assert read.unread_lines == 1
    assert [sample.series for sample in read.samples] == [
        {
            "a_total": {(("x", 'say "}{" = \\'), ("y", "\n")): 300.0},
            "b_bucket": {(("le", "+Inf"),): 4.0},
        }
    ]


def test_a_file_of_several_expositions_is_several_samples():
    read = read_exposition(vllm(0.1, 1) + vllm(0.2, 1) + "# EOF\n" + vllm(0.3, 1))
    usage = [next(iter(s.series["vllm:kv_cache_usage_perc"].values())) for s in read.samples]
    assert usage == [0.1, 0.2, 0.3]


def test_counters_are_of_the_time_between_samples():
    # From 100 of 1,000 to 700 of 2,000: 600 of 1,000 were hit meanwhile.
    texts = [vllm(0, 0, queries=1000, hits=100), vllm(0, 0, queries=2000, hits=700)]
    assert only(texts).hit_rate == 0.6
    assert only(texts[1:]).hit_rate == 0.35


def test_a_counter_that_falls_counts_from_nothing_again():
    texts = [vllm(0, 0, queries=1000, hits=100), vllm(0, 0, queries=500, hits=25)]
    assert only(texts).hit_rate == 0.05
    assert ("counters-reset", "warning") in found(texts)


def test_a_rise_without_requests_is_a_leak_and_blocks_of_running_ones_are_none():
    rise = ("occupancy-rises-without-traffic", "error")
    assert rise in found([vllm(0, 0), vllm(0.5, 3, prompt=9), vllm(0.02, 0, prompt=9)])
    assert rise in found([vllm(0.02, 0), vllm(0.03, 0)])
    assert found([vllm(0, 0), vllm(0.5, 3, prompt=9), vllm(0.9, 4, prompt=30)]) == []
    assert found([vllm(0, 0), vllm(0.5, 3, prompt=9), vllm(0, 0, prompt=9)]) == []
    # A request that waits may have its KV loaded already.
    assert found([vllm(0.1, 0, waiting=2), vllm(0.2, 0, waiting=2)]) == []
    held = ("kv-held-without-requests", "warning")
    assert found([vllm(0.5, 3), vllm(0.02, 0, prompt=9)]) == [held]


def test_engines_that_share_a_page_are_looked_at_one_by_one():
    busy = vllm(0.5, 1, prompt=9)
    leaking = vllm(0.1, 0).replace('engine="0"', 'engine="1"')
    more = vllm(0.2, 0).replace('engine="0"', 'engine="1"')
    reading = only([busy + leaking, busy + more])
    assert [f.message.split(" rose")[0] for f in reading.findings] == ["KV in use (engine=1)"]
    assert [o.series for o in reading.occupancy] == [
        ((1, 0.5, 1.0), (2, 0.5, 1.0)),
        ((1, 0.1, 0.0), (2, 0.2, 0.0)),
    ]


def test_cached_chunks_may_stay_but_not_grow_by_themselves():
    def lmcache(held, stored):
        return f"lmcache:local_cache_usage {held}\nlmcache:num_stored_tokens_total {stored}\n"

    assert only([lmcache(100, 1), lmcache(200, 2), lmcache(200, 2)], "lmcache").findings == []
    leak = only([lmcache(100, 1), lmcache(200, 1)], "lmcache").findings
    assert [f.check for f in leak] == ["occupancy-rises-without-traffic"]


def test_lookups_that_are_tries_and_rates_that_cannot_be_are_named():
    assert found([vllm(0, 0, queries=150, hits=10, prompt=100)]) == [
        ("lookups-counted-twice", "warning")
    ]
    assert found([vllm(0, 0, queries=100, hits=101, prompt=100)]) == [
        ("hits-above-queries", "error")
    ]


def test_a_split_by_source_is_not_added_to_its_own_total():
    rows = {"device": 10, "host": 5, "total": 15}
    text = "sglang:prompt_tokens_total 100\n" + "".join(
        f'sglang:cached_tokens_total{{cache_source="{k}"}} {v}\n' for k, v in rows.items()
    )
    assert only([text], "sglang").hit_rate == 0.15
    total = 'sglang:prompt_tokens_total 100\nsglang:cached_tokens_total{cache_source="total"} 15\n'
    assert only([total], "sglang").hit_rate == 0.15


def test_a_counter_that_is_declared_and_has_no_series_yet_is_zero():
    text = "# TYPE sglang:cached_tokens_total counter\nsglang:prompt_tokens_total 100\n"
    assert only([text], "sglang").hit_rate == 0
    assert only([text.splitlines()[1]], "sglang").hit_rate is None


def test_a_gauge_is_no_hit_rate_of_a_span():
    reading = only(["sglang:cache_hit_rate 0.9\nsglang:prompt_tokens_total 5\n"], "sglang")
    assert reading.hit_rate is None
    assert [(r.name, r.hit_rate, r.basis) for r in reading.rates] == [
        ("last batch", 0.9, Basis.GAUGE)
    ]


def test_a_page_that_is_no_metrics_says_what_to_name():
    with pytest.raises(InputError, match="no metrics in Prometheus's text format"):
        examine([("page", "<html><body>404</body></html>")])


@pytest.mark.parametrize("engine", sheets())
def test_every_sheet_says_what_it_is_of(engine):
    sheet = sheets()[engine]
    assert sheet.rates or sheet.always_missing
    refs = [r for rate in sheet.rates for r in (*rate.hits, *rate.of)]
    refs += [figure.metric for figure in sheet.figures]
    assert all(ref.name.startswith(tuple(sheet.prefixes)) for ref in refs)
    assert all(len(rate.hits) == 1 for rate in sheet.rates if not rate.of)


LISTS = {
    "vllm": "vllm-0.33.0.tsv",
    "sglang": "sglang-0.5.23.tsv",
    "lmcache": "lmcache-0.5.6.tsv",
    "llamacpp": "llamacpp.tsv",
    "tgi": "tgi.tsv",
    "trtllm": "tensorrt-llm.tsv",
}


@pytest.mark.parametrize(("engine", "name"), LISTS.items())
def test_every_metric_named_is_one_that_the_engine_exports(engine, name):
    path = SHARED / name
    if not path.exists():
        pytest.skip("the shared data is not here")
    rows = csv.reader(path.read_text().splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    known = {row[0] for row in rows if row}
    sheet = sheets()[engine]
    refs = [r for rate in sheet.rates for r in (*rate.hits, *rate.of)]
    refs += [figure.metric for figure in sheet.figures]
    refs += [r for o in sheet.occupancy for r in (o.metric, *o.busy, *o.traffic)]
    refs += [r for c in sheet.checks for r in (c.grows, c.zero, c.labelled, *c.more) if r]
    assert {ref.name for ref in refs} - known == set()


@pytest.mark.parametrize(
    ("name", "engine", "rate"),
    [
        ("sample_vllm_made_here.prom", "vllm", 152864 / 419783),
        ("sample_sglang_cached_tokens.prom", "sglang", 1240 / 4000),
        ("sample_sglang_docs.prom", "sglang", None),
        ("sample_lmcache.prom", "lmcache", 1529 / 36089),
        ("sample_llamacpp.prom", "llamacpp", 129725 / (129725 + 77454)),
        ("sample_triton_trtllm_backend.prom", "triton", None),
    ],
)
def test_shared_samples(name, engine, rate):
    path = SHARED / name
    if not path.exists():
        pytest.skip("the shared data is not here")
    report = examine([(name, path.read_text())])
    reading = next(e for e in report.engines if e.engine == engine)
    assert reading.hit_rate == pytest.approx(rate)
    assert report.unread_lines == 0
