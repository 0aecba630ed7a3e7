"""Providers that match by tokens or by whole units, on token ids."""

import pytest
from hosted_logs import reads, replayed

HEAD = list(range(4000))


def ids(at_s, shared, *, total=None, model="gpt-4o", **more):
    """A prompt that begins with ``shared`` tokens of one text and goes on with its own."""
    own = [10_000 + int(at_s * 10) * 5000 + n for n in range((total or shared) - shared)]
    return {"arrived_s": at_s, "model": model, "token_ids": HEAD[:shared] + own, **more}


@pytest.fixture
def read(tmp_path, capsys):
    def of(*requests, engine="openai", options=()):
        return reads(tmp_path, capsys, engine, *requests, options=options)

    return of


def test_openai_hits_in_steps_of_128_from_1024_on(read):
    """The guide's own usage: 2,006 prompt tokens, 1,920 of them cached."""
    assert read(ids(0, 2006), ids(1, 2006)) == [0, 1920]
    assert read(ids(0, 1100, total=2000), ids(1, 1100, total=2000)) == [0, 1024]
    assert read(ids(0, 1020, total=2000), ids(1, 1020, total=2000)) == [0, 0]
    assert read(ids(0, 1023), ids(1, 1023)) == [0, 0]


def test_openai_keeps_what_is_used_for_ten_minutes_or_a_day(read):
    assert read(ids(0, 2048), ids(590, 2048), ids(1180, 2048)) == [0, 2048, 2048]
    day = {"cache_options": {"prompt_cache_retention": "24h"}}
    for more, expected in (({}, 0), (day, 2048)):
        assert read(ids(0, 2048, **more), ids(1800, 2048, **more)) == [0, expected]


def test_above_fifteen_a_minute_requests_reach_another_machine(tmp_path, capsys):
    report, rows = replayed(tmp_path, capsys, "openai", *(ids(n, 2048) for n in range(20)))
    hits = [row["cached_tokens"] for row in rows]
    assert hits == [0, *[2048] * 14, 0, *[2048] * 4]
    assert report["lost"]["dispersed"] == 2048
    keyed = [ids(n, 2048, prompt_cache_key=f"k{n % 2}") for n in range(20)]
    _, rows = replayed(tmp_path, capsys, "openai", *keyed)
    assert [row["cached_tokens"] for row in rows] == [0, 0, *[2048] * 18]
    _, rows = replayed(tmp_path, capsys, "azure", *(ids(n, 2048) for n in range(20)))
    assert [row["cached_tokens"] for row in rows][15] == 2048  # documents no such limit


def test_deepseek_used_to_hit_in_steps_of_64(read):
    pair = [ids(t, 200, total=300, model="deepseek-chat") for t in (0, 9999)]
    assert read(*pair, engine="deepseek") == [0, 192]


def test_deepseek_v4_hits_whole_units(read):
    """Both documented examples: A+B then A+B+C; and A+B, A+C, A+D."""
    v4 = {"model": "deepseek-v4-flash"}
    assert read(ids(0, 300, **v4), ids(1, 300, total=400, **v4), engine="deepseek") == [0, 300]
    parted = [ids(t, 200, total=300, **v4) for t in (0, 1, 2)]
    assert read(*parted, engine="deepseek") == [0, 0, 200]


def test_deepseek_v4_keeps_the_end_of_an_answer(read):
    first = ids(0, 300, model="deepseek-v4-flash", output_ids=HEAD[300:350])
    later = ids(1, 350, total=400, model="deepseek-v4-flash")
    assert read(first, later, engine="deepseek") == [0, 350]


def test_gemini_reads_any_prefix_from_the_minimum_on(read):
    for model, shared, expected in (
        ("gemini-2.5-flash", 1500, 1500),
        ("gemini-2.5-pro", 1500, 0),
    ):
        pair = [ids(t, shared, total=3900, model=model) for t in (0, 3600)]
        assert read(*pair, engine="gemini") == [0, expected]
    late = [ids(t, 3000, model="gemini-2.5-flash") for t in (0, 90_000)]
    assert read(*late, engine="gemini") == [0, 0]


def test_mistral_shares_among_requests_of_one_key(read):
    keys = ("a", "b", "a", None)
    requests = [
        ids(n, 500, model="mistral-large-latest", prompt_cache_key=key)
        for n, key in enumerate(keys)
    ]
    assert read(*requests, engine="mistral") == [0, 0, 500, 0]


def test_a_log_without_times_expires_nothing_and_says_so(tmp_path, capsys):
    untimed = [{**ids(0, 2048), "arrived_s": None} for _ in range(3)]
    report, rows = replayed(tmp_path, capsys, "openai", *untimed)
    assert [row["cached_tokens"] for row in rows] == [0, 2048, 2048]
    assert "no-times" in {note["topic"] for note in report["notes"]}
    assert report["hosted"]["usd_saved_per_day"] is None


def test_what_was_lost_adds_up(tmp_path, capsys):
    report, _ = replayed(
        tmp_path,
        capsys,
        "openai",
        *(ids(n * 40, 1500, total=1700) for n in range(3)),
        ids(3000, 1500, total=1700),
        *(ids(4000, 1500, total=1700) for _ in range(3)),
    )
    lost = report["lost"]
    assert sum(lost.values()) == report["prefix"]["computed_tokens"]
    assert lost["expired"] == 4 * 1408


def test_since_gpt_5_6_a_log_without_messages_is_bounded_from_above(tmp_path, capsys):
    """Where a message ends is then not known: any shared prefix is taken to have been written."""
    pair = [ids(t, 1500, total=1700, model="gpt-5.6-sol") for t in (0, 9)]
    report, rows = replayed(tmp_path, capsys, "openai", *pair)
    assert [row["cached_tokens"] for row in rows] == [0, 1500]
    assert report["hosted"]["modelled"]["cache_write_5m"] == 1700 + 200
    assert "no-messages" in {note["topic"] for note in report["notes"]}
