"""SGLang's radix tree: what the engine answered, and what holds whatever the log."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from replay_logs import Line, batch, halves, logs, retries
from test_golden import read_log

from kvaudit.core.errors import UsageError
from kvaudit.core.prompts import RequestFacts
from kvaudit.replay.caches import make_interner, make_sglang
from kvaudit.replay.engine import CacheSettings
from kvaudit.replay.engines.sglang import ENGINE
from kvaudit.replay.kernels.sglang import CompiledSglangCache
from kvaudit.replay.models.sglang import SglangCache
from kvaudit.replay.models.sglang_releases import NEWEST, POLICIES, RELEASES, check_policy, rules

RECORDINGS = [
    ("sglang-0.5.8-a-capacity9600-page-size1", "0.5.8", 1),
    ("sglang-0.5.9-a-capacity9600-page-size16", "0.5.9", 16),
    ("sglang-0.5.23-a-capacity9600-page-size1", "0.5.23", 1),
]

EAGLE_ANSWERS = [
    json.loads(line)
    for line in (Path(__file__).parent / "sglang_eagle_answers.jsonl").read_text().splitlines()
]
"""What `RadixCache` of each release answered with ``is_eagle`` on random logs of tiny prompts, as
digits."""


def outcomes(log, make, page_size, *, compiled=False, priorities=()):
    """Replay batch after batch; priorities are dealt out over the requests in turn."""
    interner = make_interner(block_units=page_size, small=not compiled)
    number = 0
    for lines in log:
        prompts = batch(lines)
        facts = []
        for _ in lines:
            priority = priorities[number % len(priorities)] if priorities else None
            facts.append(RequestFacts(str(number), *[None] * 8, priority=priority))
            number += 1
        prompts = dataclasses.replace(prompts, requests=facts)
        yield make.replay(prompts, interner.intern(prompts))


def replayed(log, version=NEWEST, *, page_size, policy="lru", priorities=(), **sizes):
    cache = SglangCache(rules=rules(version), page_size=page_size, policy=policy, **sizes)
    found = outcomes(log, cache, page_size, priorities=priorities)
    return [hits for outcome in found for hits in outcome.cached_tokens.tolist()], cache


@pytest.mark.parametrize("compiled", [False, True], ids=["reference", "kernel"])
@pytest.mark.parametrize(("recording", "version", "page_size"), RECORDINGS)
def test_the_engines_own_answers(shared_data, recording, version, page_size, compiled):
    golden = shared_data / "golden"
    answers = (golden / f"{recording}.jsonl").read_text().splitlines()
    prompts = batch(read_log(golden / "log-a.jsonl.gz"))
    blocks = make_interner(block_units=page_size, small=not compiled).intern(prompts)
    cache = make_sglang(
        version=version,
        capacity_blocks=9600 // page_size,
        page_size=page_size,
        small=not compiled,
    )
    hits = cache.replay(prompts, blocks).cached_tokens.tolist()
    assert hits == [json.loads(answer)["cached_tokens"] for answer in answers]


def with_prompts(log):
    """An engine serves no request without a token, and none that generates nothing."""
    return [
        dataclasses.replace(line, prompt=line.prompt or (1,), unknown=line.unknown or 1)
        for line in log
    ]


@settings(max_examples=300)
@given(
    log=(logs() | retries()).map(with_prompts),
    release=st.sampled_from(RELEASES),
    policy=st.sampled_from(POLICIES),
    page_size=st.integers(1, 3),
    pages=st.none() | st.integers(1, 24),
    priorities=st.lists(st.integers(0, 2), min_size=1, max_size=3),
    eagle=st.booleans(),
)
def test_the_kernel_equals_the_reference(log, release, policy, page_size, pages, priorities, eagle):
    sizes = {
        "eagle": eagle,
        "capacity_tokens": None if pages is None else pages * page_size,
        "page_size": page_size,
        "rules": release,
        "policy": policy,
    }
    args = (halves(log),)
    plain = outcomes(*args, SglangCache(**sizes), page_size, priorities=priorities)
    fast = outcomes(
        *args, CompiledSglangCache(**sizes), page_size, compiled=True, priorities=priorities
    )
    for one, other in zip(plain, fast, strict=True):
        for field in dataclasses.fields(one):
            values = getattr(one, field.name), getattr(other, field.name)
            assert np.array_equal(*values), field.name


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
@given(
    known_logs,
    st.integers(1, 3),
    st.integers(1, 30),
    st.sampled_from(RELEASES),
    st.sampled_from(POLICIES),
)
def test_every_page_of_the_pool_is_used_or_free(log, page_size, pages, release, policy):
    _, cache = replayed(
        halves(log),
        release.first,
        capacity_tokens=pages * page_size,
        page_size=page_size,
        policy=policy,
    )
    tree = cache.tree
    assert cache.used_pages == tree.held_pages == tree.evictable_pages
    assert 0 <= tree.held_pages <= pages
    assert tree.held_pages == sum(len(node.pages) // 4 for node in tree.nodes())


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


# One page and a tail each. The pool has five pages: a prompt asks for three while it runs and
# leaves one, so a fourth prompt drops one of three.
PROMPTS = {name: (i,) * 6 for i, name in enumerate("abcd")}


@pytest.mark.parametrize(
    ("policy", "gone"),
    [
        *(("lru", "c"), ("lfu", "c"), ("slru", "c"), ("priority", "c")),
        *(("fifo", "a"), ("filo", "c"), ("mru", "a"), ("tlru", "c")),
    ],
)
def test_what_each_policy_drops_for_another_prompt(policy, gone):
    for probed in "abc":
        log = [Line(PROMPTS[name], unknown=1) for name in (*"abcbba", "d", probed)]
        hits, _ = replayed([log], capacity_tokens=25, page_size=5, policy=policy)
        assert (hits[-1] == 5) == (probed != gone)


def test_what_has_a_higher_priority_stays():
    log = [Line(PROMPTS[name], unknown=1) for name in "abcda"]
    sizes = {"capacity_tokens": 25, "page_size": 5, "policy": "priority"}
    assert replayed([log], priorities=(5, 0, 0, 0, 0), **sizes)[0][-1] == 5
    assert replayed([log], **sizes)[0][-1] == 0


def test_releases_differ_in_how_much_they_evict():
    # Of nine pages six are held by two prompts; a third of four finds three free. 0.5.16 evicts
    # four pages, which are two leaves of three; 0.5.17 the one that is missing.
    log = [Line((1, 1, 1)), Line((2, 2, 2)), Line((3, 3, 3, 3)), Line((2, 2, 2))]
    for version, last in (("0.5.16", 0), ("0.5.17", 2)):
        assert replayed([log], version, capacity_tokens=9, page_size=1)[0] == [0, 0, 0, last]


def test_the_output_is_evicted_before_its_prompt_since_0_5_20():
    # One generated token enters together with its prompt, as one node up to 0.5.19.
    log = [Line((1, 1, 1, 1), unknown=1), Line((2, 2), unknown=1), Line((1, 1, 1, 1), unknown=1)]
    for version, last in (("0.5.19", 0), ("0.5.20", 3)):
        assert replayed([log], version, capacity_tokens=7, page_size=1)[0] == [0, 0, last]


def test_a_policy_of_later_releases_is_refused():
    check_policy("0.5.10", "slru")
    check_policy("0.5.21", "tlru")
    with pytest.raises(UsageError, match=r"SGLang 0\.5\.9 does not evict by slru"):
        check_policy("0.5.9", "slru")
    with pytest.raises(UsageError, match=r"SGLang 0\.5\.20 does not evict by tlru"):
        check_policy("0.5.20", "tlru")


@pytest.mark.parametrize("small", [True, False], ids=["reference", "kernel"])
@pytest.mark.parametrize(("generated", "left"), [(1, 4), (2, 0)])
def test_a_decode_step_inside_a_page_evicts_when_no_page_is_free(small, generated, left):
    """Three pages of 4: one of an earlier prompt, two of a prompt of 4 tokens and its output."""
    cache = make_sglang(version="0.5.9", capacity_blocks=3, page_size=4, small=small)
    log = [Line((1, 2, 3, 4)), Line((5, 6, 7, 8), (9,) * generated), Line((1, 2, 3, 4, 0))]
    # The first output token takes the last free page. A second one has room in it, but asks for
    # a page, and what the first prompt left is evicted for that.
    prompts = batch(log[:2])
    interner = make_interner(block_units=4, small=True)
    cache.replay(prompts, interner.intern(prompts))
    prompts = batch(log[2:])
    assert cache.replay(prompts, interner.intern(prompts)).cached_tokens.tolist() == [left]


@pytest.mark.parametrize("small", [True, False], ids=["reference", "kernel"])
@pytest.mark.parametrize(
    ("version", "limit", "left"), [("0.5.21", 2, 5), ("0.5.22", 2, 4), ("0.5.22", 3, 5)]
)
def test_the_last_token_of_an_answer_that_max_tokens_ended_is_not_computed(
    small, version, limit, left
):
    cache = make_sglang(version=version, capacity_blocks=None, page_size=1, small=small)
    lines = [Line((1, 2, 3), (4, 5)), Line((1, 2, 3, 4, 5, 6))]
    facts = RequestFacts("", None, None, None, None, None, None, None, None, max_tokens=limit)
    prompts = dataclasses.replace(batch(lines), requests=[facts, facts])
    blocks = make_interner(block_units=1, small=True).intern(prompts)
    assert cache.replay(prompts, blocks).cached_tokens.tolist() == [0, left]


@pytest.mark.parametrize("small", [True, False], ids=["reference", "kernel"])
@pytest.mark.parametrize("asked", EAGLE_ANSWERS, ids=lambda asked: asked["version"])
def test_the_engine_with_eagle_said_the_same(asked, small):
    texts = [(tuple(map(int, prompt)), tuple(map(int, out))) for prompt, out in asked["requests"]]
    cache = make_sglang(
        version=asked["version"],
        capacity_blocks=asked["capacity"],
        page_size=asked["page"],
        policy=asked["policy"],
        eagle=True,
        small=small,
    )
    prompts = batch([Line(*text) for text in texts])
    blocks = make_interner(block_units=asked["page"], small=small).intern(prompts)
    assert cache.replay(prompts, blocks).cached_tokens.tolist() == asked["cached"]


def test_with_eagle_a_token_hits_only_where_the_next_one_is_the_same_too():
    log = [Line((1, 2, 3, 4)), Line((1, 2, 3, 4)), Line((1, 2, 5, 6)), Line((1,)), Line((1,))]
    hits, _ = replayed([log], capacity_tokens=None, page_size=1, eagle=True)
    assert hits == [0, 2, 1, 0, 0]
    log = [Line((1, 2, 3, 4, 5, 6)), Line((1, 2, 3, 4, 5, 7)), Line((1, 2, 3, 4, 8, 7))]
    hits, _ = replayed([log], capacity_tokens=None, page_size=2, eagle=True)
    assert hits == [0, 4, 2]


@pytest.mark.parametrize(
    ("changed", "said"),
    [({"unit_tokens": np.array([2])}, "block hashes"), ({"units": np.empty(0, np.int32)}, "sweep")],
)
def test_with_eagle_and_pages_the_token_after_each_is_needed(changed, said):
    prompts = batch([Line((1, 2, 3, 4))])
    blocks = make_interner(block_units=2, small=True).intern(prompts)
    cache = make_sglang(version=NEWEST, capacity_blocks=None, page_size=2, eagle=True, small=True)
    with pytest.raises(UsageError, match=said):
        cache.replay(dataclasses.replace(prompts, **changed), blocks)


def eagle_settings(**changed):
    settings = CacheSettings(
        version=NEWEST,
        block_size=1,
        capacity_blocks=None,
        policy="lru",
        eagle=True,
        schedule="sequential",
        small=True,
    )
    return dataclasses.replace(settings, **changed)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"schedule": "steps"}, "--schedule steps"),
        ({"lower_blocks": (8,)}, "--l2"),
    ],
)
def test_what_is_not_modelled_beside_eagle_is_refused(changed, said):
    ENGINE.build(eagle_settings())
    with pytest.raises(UsageError, match=said):
        ENGINE.build(eagle_settings(**changed))
