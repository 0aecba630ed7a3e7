"""Providers' caches on arbitrary logs: against prefixes spelled out, and against each other."""

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from replay_logs import Line, batch

from kvaudit.core.prompts import RequestFacts
from kvaudit.cost.providers.facts import Provider
from kvaudit.replay.models.interner import PlainInterner
from kvaudit.replay.models.provider import HostedCache

LIFETIME_S = 10.0


def provider(*, step=1, minimum=1, matching="token", route=None):
    cache = {
        "needs_marker": False,
        "matching": matching,
        "order": ("tools",),
        "step_tokens": step,
        "default_ttl": "short",
        "route_tokens": route,
    }
    return Provider(
        name="test",
        models=".",
        read="2026-11",
        source="a test",
        cache=cache,
        lifetimes={"short": LIFETIME_S},
        minimum=({"models": ".", "tokens": minimum, "source": "a test"},),
    )


@dataclass(frozen=True)
class Sent:
    prompt: tuple[int, ...]
    wait_s: float
    ttft_s: float | None
    key: str | None = None


logs = st.lists(
    st.builds(
        Sent,
        prompt=st.lists(st.integers(0, 1), min_size=1, max_size=8).map(tuple),
        wait_s=st.sampled_from([0.0, 1.0, 6.0, 11.0]),
        ttft_s=st.sampled_from([None, 0.0, 2.0]),
        key=st.sampled_from([None, "k"]),
    ),
    min_size=1,
    max_size=20,
)


def prompts_of(log):
    now_s, facts = 0.0, []
    for n, sent in enumerate(log):
        now_s += sent.wait_s
        facts.append(
            RequestFacts(
                *(str(n), now_s, None, None, None, None, None, None, None),
                ttft_s=sent.ttft_s,
                prompt_cache_key=sent.key,
            )
        )
    made = batch([Line(sent.prompt) for sent in log])
    return replace(made, requests=facts)


def outcome(log, of):
    prompts, interner, cache = prompts_of(log), PlainInterner(1), HostedCache(of)
    return cache.replay(prompts, interner.intern(prompts))


def spelled_out(log, *, step, minimum):
    """The same by whole prefixes as keys: when each was last used, and from when it is there."""
    kept, reads, now_s = {}, [], 0.0
    for sent in log:
        now_s += sent.wait_s
        ready_s = now_s + (1e-9 if sent.ttft_s is None else sent.ttft_s)
        ends = range(step, len(sent.prompt) + 1, step)
        hit = 0
        for end in ends:
            used_s, from_s = kept.get(sent.prompt[:end], (-np.inf, np.inf))
            if from_s > now_s or now_s - used_s > LIFETIME_S:
                break
            hit = end
        reads.append(hit if hit >= minimum else 0)
        for end in ends if len(sent.prompt) >= minimum else ():
            used_s, from_s = kept.get(sent.prompt[:end], (-np.inf, np.inf))
            alive = ready_s - used_s <= LIFETIME_S
            kept[sent.prompt[:end]] = (
                max(used_s, ready_s) if alive else ready_s,
                min(from_s, ready_s) if alive else ready_s,
            )
    return reads


@given(logs, st.integers(1, 3), st.integers(1, 4))
def test_prefixes_are_read_as_if_they_were_spelled_out(log, step, minimum):
    found = outcome(log, provider(step=step, minimum=minimum))
    assert found.cached_tokens.tolist() == spelled_out(log, step=step, minimum=minimum)


@given(logs, st.sampled_from(["token", "unit", "message-end"]), st.integers(1, 3))
def test_no_rule_reads_what_nobody_sent_before(log, matching, minimum):
    prompts = prompts_of(log)
    blocks = PlainInterner(1).intern(prompts)
    made = outcome(log, provider(minimum=minimum, matching=matching))
    lost = sum(made.hosted.lost.values())
    assert (made.cached_tokens + lost <= blocks.shared_units).all()
    assert (lost >= 0).all()


@given(logs, st.integers(1, 3))
def test_arrays_and_names_of_places_agree(log, minimum):
    """Single tokens are kept in arrays where no key parts requests, and by name elsewhere."""
    same_key = [Sent(s.prompt, s.wait_s, s.ttft_s, "k") for s in log]
    no_key = [Sent(s.prompt, s.wait_s, s.ttft_s, None) for s in log]
    routed = provider(minimum=minimum, route=0)
    assert (
        outcome(same_key, routed).cached_tokens.tolist()
        == outcome(no_key, routed).cached_tokens.tolist()
    )
