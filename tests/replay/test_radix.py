"""SGLang's radix tree: what the engine answered, and what holds whatever the log."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from replay_logs import Line, batch, halves, logs, retries
from test_golden import read_log

from kvaudit.core.errors import UsageError
from kvaudit.replay.caches import make_interner
from kvaudit.replay.models.radix import SglangCache
from kvaudit.replay.models.sglang_releases import NEWEST, rules

RECORDINGS = [
    ("sglang-0.5.8-a-capacity9600-page-size1", "0.5.8", 1),
    ("sglang-0.5.9-a-capacity9600-page-size16", "0.5.9", 16),
    ("sglang-0.5.23-a-capacity9600-page-size1", "0.5.23", 1),
]


def replayed(log, version=NEWEST, **sizes):
    cache = SglangCache(rules=rules(version), **sizes)
    interner = make_interner(block_units=1, small=True)
    hits = []
    for lines in log:
        prompts = batch(lines)
        hits += cache.replay(prompts, interner.intern(prompts)).cached_tokens.tolist()
    return hits, cache


@pytest.mark.parametrize(("recording", "version", "page_size"), RECORDINGS)
def test_the_engines_own_answers(shared_data, recording, version, page_size):
    golden = shared_data / "golden"
    answers = (golden / f"{recording}.jsonl").read_text().splitlines()
    log = read_log(golden / "log-a.jsonl.gz")
    hits, _ = replayed([log], version, capacity_tokens=9600, page_size=page_size)
    assert hits == [json.loads(answer)["cached_tokens"] for answer in answers]


def shared_pages(log, page_size, *, with_output, last):
    """Return the definition of a hit: whole pages of the prompt, short of its last token."""
    hits = []
    for i, line in enumerate(log):
        best = 0
        for earlier in log[:i]:
            if earlier.namespace != line.namespace:
                continue
            held = earlier.prompt + (
                earlier.output[: len(earlier.output) - last] if with_output else ()
            )
            n = 0
            while n < min(len(held), len(line.prompt) - 1) and held[n] == line.prompt[n]:
                n += 1
            # Only whole pages are held and matched.
            best = max(best, min(n, len(held) // page_size * page_size) // page_size * page_size)
        hits.append(best)
    return hits


known_logs = (logs() | retries()).map(
    lambda log: [Line(line.prompt or (1,), line.output, 0, line.namespace) for line in log]
)


@settings(max_examples=150)
@given(known_logs, st.integers(1, 3), st.sampled_from(["0.5.5", "0.5.8", "0.5.23"]))
def test_with_room_for_all_it_hits_what_the_definition_says(log, page_size, version):
    hits, _ = replayed(halves(log), version, capacity_tokens=None, page_size=page_size)
    expected = shared_pages(
        log, page_size, with_output=version != "0.5.8", last=1 if version == "0.5.5" else 0
    )
    assert hits == expected


@settings(max_examples=150)
@given(known_logs, st.integers(1, 3), st.integers(1, 30), st.sampled_from(["0.5.8", "0.5.23"]))
def test_every_token_of_the_pool_is_used_or_free(log, page_size, capacity, version):
    _, cache = replayed(halves(log), version, capacity_tokens=capacity, page_size=page_size)
    tree = cache._tree
    assert cache._used_tokens == tree.held_tokens == tree.evictable_tokens
    assert 0 <= tree.held_tokens <= capacity
    assert tree.held_tokens == sum(len(node.text) // 4 for node in tree.nodes())
    assert tree.held_tokens % page_size == 0


def test_a_repeated_prompt_computes_its_last_token_only():
    prompt = tuple(range(512))
    hits, _ = replayed([[Line(prompt), Line(prompt)]], capacity_tokens=None, page_size=1)
    assert hits == [0, 511]
    hits, _ = replayed([[Line(prompt), Line(prompt)]], capacity_tokens=None, page_size=16)
    assert hits == [0, 496]


def test_whole_leaves_go_and_the_one_used_last_stays():
    log = [Line((1, 2, 3, 4)), Line((5, 6, 7)), Line((1, 2, 3, 4)), Line((8, 9)), Line((5, 6, 7))]
    # Seven tokens are full after two requests. The third refreshes the first, so the fourth
    # takes all three tokens of the second, of which it needs two.
    hits, _ = replayed([log], capacity_tokens=8, page_size=1)
    assert hits == [0, 0, 3, 0, 0]


def test_a_release_outside_the_range_is_told_the_nearest():
    for version, nearest in (("0.4.6", "0.5.4"), ("0.6.0", "0.5.23"), ("new", "0.5.23")):
        with pytest.raises(UsageError, match=nearest):
            rules(version)
