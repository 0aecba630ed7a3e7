"""SGLang's cache with a host tier and storage: what the engine answered, and what always holds."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from replay_logs import Line, batch, halves, logs

from kvaudit.core.prompts import RequestFacts
from kvaudit.replay.caches import make_interner, make_sglang
from kvaudit.replay.kernels.hicache import CompiledHiCache
from kvaudit.replay.models.hicache import HiCache
from kvaudit.replay.models.hicache_releases import RELEASES as HOST_RELEASES
from kvaudit.replay.models.hicache_releases import host_rules
from kvaudit.replay.models.sglang_releases import NEWEST, POLICIES, RELEASES, rules
from kvaudit.replay.models.tiers import Tier, WritePolicy

ANSWERS = [
    json.loads(line)
    for line in (Path(__file__).parent / "hicache_answers.jsonl").read_text("utf-8").splitlines()
]
"""What SGLang's own trees answered on random logs, driven on a CPU with pools that only count and
copies that are done at once: a request is its prompt and output as digits, its namespace and its
priority; where there is storage, it was asked from 12 tokens on."""

FACTS = RequestFacts("", None, None, None, None, None, None, None, None)


def made(version: str, *, pages: int | None, page: int = 1, **options: object) -> HiCache:
    asked = {"host_pages": None, "write": WritePolicy.THROUGH, **options}
    return HiCache(
        capacity_tokens=None if pages is None else pages * page,
        page_size=page,
        rules=rules(version),
        host_rules=host_rules(version),
        **asked,
    )


def replayed(
    cache: HiCache | CompiledHiCache,
    batches: Sequence[Sequence[Line]],
    priorities: Sequence[int] = (),
) -> list[list[int] | None]:
    """Return the hits of each request by tier, None where it was not admitted."""
    interner = make_interner(block_units=cache.page_size, small=True)
    found: list[list[int] | None] = []
    for lines in batches:
        prompts = batch(lines)
        facts = [FACTS._replace(priority=p) for p in priorities] or [FACTS] * len(lines)
        prompts = dataclasses.replace(prompts, requests=facts)
        outcome = cache.replay(prompts, interner.intern(prompts))
        assert outcome.tier_tokens is not None
        assert np.array_equal(outcome.cached_tokens, outcome.tier_tokens.sum(axis=0))
        rows = outcome.tier_tokens.T.tolist()
        found += [row if own else None for row, own in zip(rows, outcome.admitted, strict=True)]
    return found


def digits(text: str) -> tuple[int, ...]:
    return tuple(map(int, text))


@pytest.mark.parametrize("kind", [HiCache, CompiledHiCache], ids=["reference", "kernel"])
@pytest.mark.parametrize("answer", ANSWERS, ids=lambda a: f"{a['version']}-{a['write']}")
def test_it_hits_what_the_engine_did(answer, kind):
    cache = kind(
        capacity_tokens=answer["capacity"] * answer["page"],
        page_size=answer["page"],
        rules=rules(answer["version"]),
        host_rules=host_rules(answer["version"]),
        host_pages=answer["host"],
        write=WritePolicy(answer["write"]),
        policy=answer["policy"],
        storage=Tier(None) if answer["storage"] else None,
        fetch_tokens=12,
    )
    asked = answer["requests"]
    lines = [Line(digits(p), digits(o), namespace=n) for p, o, n, _ in asked]
    assert replayed(cache, [lines], [p for *_, p in asked]) == answer["tokens"]


releases = st.sampled_from(["0.5.4", "0.5.9", "0.5.11", "0.5.15", "0.5.18", "0.5.19", NEWEST])
some_logs = logs().map(lambda log: [line for line in log if line.prompt])


@settings(max_examples=50)
@given(some_logs, releases, st.sampled_from(POLICIES[:5]), st.integers(4, 12))
def test_an_endless_host_hits_what_an_endless_cache_would(log, version, policy, pages):
    # Ten tokens a page, so that every page is worth loading back; prompts of one page and more.
    log = [
        dataclasses.replace(line, prompt=tuple(np.repeat(line.prompt, 10)), output=(), unknown=1)
        for line in log
        if len(line.prompt) + 2 <= pages
    ]
    below = replayed(made(version, pages=pages, page=10, policy=policy), halves(log))
    endless = make_sglang(version=version, capacity_blocks=None, page_size=10, small=True)
    interner = make_interner(block_units=10, small=True)
    expected = [
        tokens
        for lines in halves(log)
        for tokens in endless.replay(batch(lines), interner.intern(batch(lines))).cached_tokens
    ]
    assert [sum(row or [0]) for row in below] == expected


@settings(max_examples=80)
@given(
    some_logs,
    releases,
    st.sampled_from(POLICIES[:5]),
    st.sampled_from(WritePolicy),
    st.integers(4, 30),
    st.integers(1, 40),
    st.booleans(),
)
def test_no_tier_holds_more_than_it_can_nor_a_page_below_one_it_lost(
    log, version, policy, write, pages, host, has_storage
):
    cache = made(
        version,
        pages=pages,
        host_pages=host,
        write=write,
        policy=policy,
        storage=Tier(host) if has_storage else None,
    )
    replayed(cache, halves([dataclasses.replace(x, prompt=x.prompt * 3) for x in log]))
    nodes = list(cache.tree.nodes())
    on_device = sum(len(n.pages) // 4 for n in nodes if n.on_device)
    assert on_device == cache.tree.held_pages == cache.used_pages == cache.tree.evictable_pages
    assert on_device <= pages
    on_host = sum(len(n.pages) // 4 for n in nodes if n.on_host)
    assert on_host <= cache.host.used <= host
    if cache.host_rules.needs_parent:  # nothing is lost sight of
        assert on_host == cache.host.used
    for node in nodes:
        assert node.on_device or node.on_host
        assert not node.on_device or node.parent.on_device
        if write is not WritePolicy.BACK and cache.host_rules.needs_parent:
            assert not node.on_host or node.parent is cache.tree.root or node.parent.on_host


@settings(max_examples=500)
@given(
    log=some_logs,
    release=st.sampled_from(RELEASES),
    host_release=st.sampled_from(HOST_RELEASES),
    policy=st.sampled_from(POLICIES),
    write=st.sampled_from(WritePolicy),
    page=st.integers(1, 4),
    stretch=st.sampled_from([1, 3, 10]),
    pages=st.none() | st.integers(1, 60),
    host=st.none() | st.integers(1, 80),
    storage=st.sampled_from(["none", None, 3, 20, 60]),
    fetch_tokens=st.sampled_from([1, 4, 12]),
    priorities=st.lists(st.integers(0, 2), min_size=1, max_size=3),
)
def test_the_kernel_equals_the_reference(
    log,
    release,
    host_release,
    policy,
    write,
    page,
    stretch,
    pages,
    host,
    storage,
    fetch_tokens,
    priorities,
):
    """Stretched prompts are long enough to be loaded back."""
    plain, fast = (
        kind(
            capacity_tokens=None if pages is None else pages * page,
            page_size=page,
            rules=release,
            host_rules=host_release,
            host_pages=host,
            write=write,
            policy=policy,
            storage=None if storage == "none" else Tier(storage),
            fetch_tokens=fetch_tokens,
        )
        for kind in (HiCache, CompiledHiCache)
    )
    interner = make_interner(block_units=page, small=True)
    for lines in halves(log):
        lines = [
            dataclasses.replace(
                x, prompt=tuple(np.repeat(x.prompt, stretch)), unknown=x.unknown or 1
            )
            for x in lines
        ]
        prompts = batch(lines)
        facts = [
            FACTS._replace(priority=priorities[i % len(priorities)]) for i in range(len(lines))
        ]
        prompts = dataclasses.replace(prompts, requests=facts)
        blocks = interner.intern(prompts)
        one, other = (c.replay(prompts, blocks) for c in (plain, fast))
        for field in dataclasses.fields(one):
            values = getattr(one, field.name), getattr(other, field.name)
            assert np.array_equal(*values), field.name
        assert np.array_equal(plain.moved_tokens, fast.moved_tokens)
        below = zip(plain.lower_tiers, fast.lower_tiers, strict=True)
        for tier, told in below:
            assert (tier.capacity_blocks, tier.peak_blocks, None) == told


A, B, C = ((i,) * 12 for i in range(3))


def test_what_leaves_the_device_is_loaded_back_and_stays_on_the_host():
    cache = made(NEWEST, pages=13, host_pages=40)
    assert replayed(cache, [[Line(A), Line(B), Line(A)]]) == [[0, 0], [0, 0], [0, 11]]
    assert cache.moved_tokens.tolist() == [[12, 12, 0]]


def test_fewer_than_ten_tokens_are_computed_again():
    cache = made(NEWEST, pages=13)
    assert replayed(cache, [[Line(A[:10]), Line(B), Line(A[:10])]])[-1] == [0, 0]
    cache = made(NEWEST, pages=13)
    assert replayed(cache, [[Line(A[:11]), Line(B), Line(A[:11])]])[-1] == [0, 10]


def test_a_selective_host_takes_what_was_inserted_twice():
    log = [Line(A), Line(A), Line(B), Line(A), Line(B)]
    found = replayed(made(NEWEST, pages=13, write=WritePolicy.SELECTIVE), [log])
    # The first prompt was cut before its last token, which is inserted only once.
    assert found == [[0, 0], [11, 0], [0, 0], [0, 11], [0, 0]]


def test_what_is_on_the_device_does_not_leave_the_host():
    """Write-through: a host that is full of copies of the device takes no more."""
    short = [Line(A), Line((7,) * 6), Line(A)]
    cache = made("0.5.18", pages=30, host_pages=12)
    replayed(cache, [short])
    assert {len(n.pages) // 4: n.on_host for n in cache.tree.nodes()} == {
        11: True,
        1: True,
        6: False,
    }


def test_the_newest_tree_gives_up_copies_first_when_it_writes_back():
    # Of two prompts on the device the first was loaded back; for the next copy that leaves the host
    # and not what is on the host only.
    order = [Line((i,) * 12) for i in (0, 1, 2, 3, 0, 4, 2)]
    for version, hits in (("0.5.18", [0, 0]), (NEWEST, [0, 11])):
        cache = made(version, pages=25, host_pages=24, write=WritePolicy.BACK)
        assert replayed(cache, [order])[-1] == hits


def long(*numbers: int, tokens: int = 300) -> list[Line]:
    return [Line(tuple(range(1000 * i, 1000 * i + tokens))) for i in numbers]


def test_storage_gives_back_what_the_host_lost():
    cache = made(NEWEST, pages=310, host_pages=620, storage=Tier(None))
    assert replayed(cache, [long(0, 1, 2, 3, 0)])[-1] == [0, 0, 299]
    assert cache.moved_tokens.tolist() == [[300, 300, 300, 300, 1], [300, 300, 300, 300, 0]]
    assert [tier.peak_blocks for tier in cache.lower_tiers] == [600, 1200]


def test_storage_is_asked_from_256_tokens_on():
    for tokens, found in ((256, 0), (257, 256)):
        cache = made(NEWEST, pages=260, host_pages=520, storage=Tier(None))
        assert replayed(cache, [long(0, 1, 2, 3, 0, tokens=tokens)])[-1] == [0, 0, found]


@pytest.mark.parametrize(("version", "found"), [("0.5.14", 0), ("0.5.15", 299)])
def test_older_releases_ask_storage_only_with_a_host_larger_than_the_device(version, found):
    cache = made(
        version, pages=620, host_pages=620, write=WritePolicy.SELECTIVE, storage=Tier(None)
    )
    assert replayed(cache, [long(0, 0, 1, 1, 2, 2, 3, 4, 0)])[-1] == [0, 0, found]
