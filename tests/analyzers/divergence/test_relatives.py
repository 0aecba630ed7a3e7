"""Relatives against their definition, on arbitrary traffic of two tokens."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kvaudit.analyzers.divergence.recorded import RecordedUnits
from kvaudit.analyzers.divergence.relatives import Relatives
from kvaudit.core.lookups import Follower, Lookups
from kvaudit.core.quantities import Capacity
from kvaudit.core.requests import Request
from kvaudit.replay.plan import Plan
from kvaudit.replay.prompts import Prompts
from kvaudit.replay.run import replay_log

prompts = st.lists(st.integers(0, 1), min_size=1, max_size=14)
traces = st.lists(st.tuples(prompts, st.sampled_from("ab")), min_size=1, max_size=15)


class Collected(Follower):
    """Every request as the relatives meet it."""

    def __init__(self, gram):
        self.units = RecordedUnits()
        self.relatives, self.met = Relatives(self.units, gram=gram), []

    def add(self, lookups: Lookups) -> None:
        sessions = [None] * len(lookups.prompts.requests)
        self.met += self.relatives.follow(lookups, sessions)


def followed(trace, *, block=2, gram=2):
    requests = [
        Request(id=str(n), token_ids=tokens, model=model) for n, (tokens, model) in enumerate(trace)
    ]
    collected = Collected(gram)
    plan = Plan(capacity=Capacity.parse("inf"), block_size=block)
    replay_log(Prompts(requests, encoder=lambda: None), plan, follow=lambda: collected)
    collected.units.close()
    return collected.met


def common(one, other):
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


@given(traces, st.integers(1, 4))
def test_the_nearest_has_the_longest_prefix_of_its_namespace(trace, block):
    for met, (n, (tokens, model)) in zip(
        followed(trace, block=block), enumerate(trace), strict=True
    ):
        lengths = [common(tokens, t) if m == model else -1 for t, m in trace[:n]]
        longest = max(lengths, default=0)
        assert met.shared_units == max(longest, 0)
        if met.nearest is not None:
            assert trace[met.nearest.place][1] == model
            assert met.nearest.shared_units == longest
        elif met.shared_units < len(tokens):
            assert max(lengths, default=-1) == -1, "there is one in the namespace"


@given(traces)
def test_what_comes_again_is_what_the_relative_has_in_runs(trace):
    gram = 2
    for met, (tokens, _) in zip(followed(trace, gram=gram), trace, strict=True):
        if met.nearest is None:
            continue
        other = trace[met.nearest.place][0]
        at = met.nearest.shared_units
        mine, yours = tokens[at:], other[at:]
        runs = {tuple(yours[i : i + gram]) for i in range(len(yours) - gram + 1)}
        again = np.zeros(len(mine), bool)
        for i in range(len(mine) - gram + 1):
            if tuple(mine[i : i + gram]) in runs:
                again[i : i + gram] = True
        assert met.nearest.again_units == again.sum()


def test_a_relative_with_the_rest_is_preferred_to_chance():
    fixed = list(range(100, 200))
    trace = [
        ([1, 2, 3, *fixed], "a"),
        ([1, 2, 4, 4, *range(300, 400)], "a"),
        ([1, 2, 4, 5, *fixed], "a"),
    ]
    met = followed(trace, gram=16)[2]
    assert (met.beside, met.shared_units, met.nearest) == (1, 3, None)
    assert (met.best.place, met.best.shared_units, met.best.again_units) == (0, 2, 100)
    assert met.best.resumes_units == 2
