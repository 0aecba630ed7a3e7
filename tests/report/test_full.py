"""The screen, as it looks at 80 columns."""

import re
from dataclasses import replace

import pytest
from rich.cells import cell_len

from kvaudit.core.console import Screen
from kvaudit.core.results import NamespaceSummary
from kvaudit.core.summaries import LogSummary
from kvaudit.report.render import render

from .reports import BOUNDED, COUNTS_ONLY, ENGINE, LOG, SHARE, UNBOUNDED, prefix

BOUNDED_SCREEN = """\
kvaudit replay chat.parquet
vLLM 0.33.0 · block 16 · 2,621,440 tokens of KV (320 GiB) · lru · llama-3.1-8b
sequential
12,031 requests · 144.8 M prompt tokens · 62 min · openai-chat
o200k_base (exact) · chatml

                      possible    this cache    the log says
  hit rate              37.4 %        21.8 %          19.9 %
  hit tokens            54.1 M        31.6 M          28.8 M
  of requests           12,031        12,031          12,000
  held                at most 163,840 blocks at once (100.0 %); 1,406,250
                      evicted; 2 requests did not fit

  where the rest went
    first seen          90.7 M  62.6 %  ███████████████████
    evicted             22.4 M  15.5 %  █████
    last block           0.1 M   0.1 %

  saved      1.09e18 of 5.02e18 prefill FLOPs (21.7 %)
  TTFT       P50 410 → 322 ms   P99 2.9 → 2.4 s   (modelled)
  time       2.8 h → 2.2 h of prefill on H100 SXM at MFU 0.5; saves 14.2 h,
             35.40 USD a day
  KV room    57 GiB beside 15 GiB of bf16 weights: 29,206 blocks
  loading    KV from elsewhere beats computing it above 4.6 GB/s

  2 namespaces                          requests        tokens    hit rate
    tenant=a                                 100        74.8 M      50.0 %
    tenant=b                                 100        70.0 M      50.0 %

  412 sessions                          requests        tokens    hit rate
    hit rate of a session: P10 0.0 %, median 61.2 %, P90 88.0 %
    s-0                                      100        70.0 M      50.0 %
    s-1                                      100        70.0 M      50.0 %
    s-2                                      100        70.0 M      50.0 %

  left out: 37 of 12,068 records
       30  status is error
        5  truncated prompt
        2  broken
    broken chat.parquet:17: messages is not a list

  note  Requests were put in order of arrival. (1,204 requests)
  note  31 requests hold media that cannot be identified; their prompts were not
        replayed, because two images of one size would look the same.
  budget  hit-rate 21.8 %, at least 20.0 %: met
  budget  hit-rate 21.8 %, at least 60.0 %: missed

  hit rate     = hit tokens / prompt tokens, whole log, cold start, contiguous
                 prefix
  the log says = cached tokens / prompt tokens
  saved        = prefill FLOPs of the prompts without reuse minus with reuse
  TTFT         = prefill alone on H100 SXM at MFU 0.5
  exactness    = simulated; an upper bound, since nothing is in flight between
                 requests
"""

UNBOUNDED_SCREEN = """\
kvaudit replay chat.parquet
vLLM 0.33.0 · block 16 · unbounded KV · sequential
1 request · 1,200 prompt tokens · openai-chat · o200k_base (exact) · chatml

                      possible    this cache    the log says
  hit rate              91.7 %   80.0–92.5 %               -
  hit tokens             1,100           960               -

  where the rest went
    first seen             100   8.3 %  ██
    last block             140  11.7 %  ████

  hit rate     = hit tokens / prompt tokens, whole log, cold start, contiguous
                 prefix
  range        = prompt only, to answers encoded as the next turn would
  exactness    = simulated; an upper bound, since nothing is in flight between
                 requests
  next: --capacity 40GiB --model NAME replays a cache that must evict
"""

COUNTS_SCREEN = """\
kvaudit replay day-1.csv, day-2.csv, day-3.csv and 2 more
12,031 requests · 144.8 M prompt tokens · 62 min · azure

                   requests      mean    median       P99       max     total
  prompt tokens      12,031  12,035.6    10,120    80,001   128,000   144.8 M
  output tokens      12,031  12,035.6    10,120    80,001   128,000     2.1 M

  left out: 37 of 12,068 records
       30  status is error
        5  truncated prompt
        2  broken
    broken chat.parquet:17: messages is not a list

  note  This log counts tokens and does not say which; what a cache would have
        reused cannot be told from it.
"""


@pytest.mark.parametrize(
    ("report", "screen"),
    [
        (BOUNDED, BOUNDED_SCREEN),
        (UNBOUNDED, UNBOUNDED_SCREEN),
        (COUNTS_ONLY, COUNTS_SCREEN),
    ],
    ids=["bounded", "unbounded", "counts"],
)
def test_screen(report, screen):
    assert render("replay", report, "full") == screen


@pytest.mark.parametrize("report", [BOUNDED, UNBOUNDED, COUNTS_ONLY])
@pytest.mark.parametrize("width", [80, 120, 200])
def test_no_line_is_wider_than_the_terminal_or_than_prose_should_be(report, width):
    lines = render("replay", report, "full", Screen(width=width)).splitlines()
    assert max(map(cell_len, lines)) <= min(width, 100)


def test_colour_changes_nothing_but_colour():
    colored = render("replay", BOUNDED, "full", Screen(color=True))
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == BOUNDED_SCREEN


def test_without_colour_a_terminal_gets_no_escapes():
    assert "\x1b" not in render("replay", BOUNDED, "full", Screen(terminal=True))


def test_an_empty_cache_column_is_a_dash_and_not_a_number():
    empty = replace(BOUNDED, prefix=prefix(0, 0, 0), ideal=None, reported=None, lost=None)
    rates = [line.split() for line in render("replay", empty, "full").splitlines()]
    assert ["hit", "rate", "-", "-", "-"] in rates
    assert ["hit", "tokens", "-", "0", "-"] in rates


def test_many_namespaces_are_cut_to_the_largest():
    names = [
        NamespaceSummary(namespace=f"tenant={n:03}", **SHARE | {"prompt_tokens": n})
        for n in range(200)
    ]
    shown = render("replay", replace(BOUNDED, namespaces=names), "full")
    assert "200 namespaces" in shown
    assert shown.count("tenant=") == 8
    assert "tenant=199" in shown
    assert "and 192 more in --format json" in shown


def test_foreign_text_neither_breaks_the_columns_nor_steers_the_terminal():
    hostile = ["租户" * 40, "\x1b[2J", "a\nb", "sk-" + "a1B2c3D4e5F6g7H8i9J0"]
    names = [NamespaceSummary(namespace=name, **SHARE) for name in hostile]
    report = replace(
        BOUNDED, namespaces=names, log=replace(LOG, broken=["x.jsonl:1: \x1b]0;title\x07"])
    )
    lines = render("replay", report, "full").splitlines()
    assert not any("\x1b" in line or "\x07" in line for line in lines)
    assert max(map(cell_len, lines)) <= 80
    assert any("[key]" in line for line in lines)
    assert any("a\\nb" in line for line in lines)
    assert any("租户" in line and "…" in line for line in lines)


def test_a_cache_with_other_settings_says_so():
    engine = replace(ENGINE, name="ideal", version=None, block_size=1, capacity_bytes=None)
    shown = render("replay", replace(BOUNDED, engine=engine), "full")
    assert "ideal cache · block 1 · 163,840 tokens of KV · lru" in shown


def test_a_long_file_list_is_shortened():
    log: LogSummary = replace(LOG, files=[f"part-{n}.jsonl" for n in range(40)])
    shown = render("replay", replace(BOUNDED, log=log), "full").splitlines()[0]
    assert shown == "kvaudit replay part-0.jsonl, part-1.jsonl, part-2.jsonl and 37 more"
