"""Hits, wrong hits, leaks and the smallest key, against their definitions read off row by row."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from kvaudit.analyzers.keys.logged.audit import Candidate, KeyAudits
from kvaudit.analyzers.keys.logged.fields import MATTERS, canonical, value_of
from kvaudit.analyzers.keys.logged.proposal import proposed
from kvaudit.analyzers.keys.logged.table import KeyTable
from kvaudit.core.requests import Mark, Request, Status

FIELDS = ("model", "tenant", "prompt", "temperature", "session")
JUDGED = tuple(name for name in FIELDS if name in MATTERS)


def request(number, values):
    model, tenant, prompt, temperature, session = values
    return Request(
        id=f"r{number}",
        model=model,
        tenant=tenant,
        prompt=prompt,
        temperature=temperature,
        session=session,
    )


# Few values, so that keys repeat; None is a value of its own.
rows = st.lists(
    st.tuples(
        st.sampled_from(["m", None]),
        st.sampled_from(["a", "b", None]),
        st.sampled_from(["p", "q"]),
        st.sampled_from([0.0, None]),
        st.sampled_from(["s", "t"]),
    ),
    max_size=14,
).map(lambda drawn: [request(n, values) for n, values in enumerate(drawn)])
keys = st.lists(st.sampled_from(FIELDS), unique=True, max_size=4).map(tuple)


def by_definition(requests, key, first):
    """Return (hits, wrong hits, leaks, hits that differ by field)."""
    seen, hits, wrong, leaks, by_field = {}, 0, 0, 0, {}
    for number, asked in enumerate(requests):
        stored = seen.setdefault(tuple(getattr(asked, name) for name in key), asked)
        if stored is asked or number < first:
            continue
        differ = [f for f in JUDGED if getattr(asked, f) != getattr(stored, f)]
        hits, wrong, leaks = hits + 1, wrong + bool(differ), leaks + ("tenant" in differ)
        for name in differ:
            by_field[name] = by_field.get(name, 0) + 1
    return hits, wrong, leaks, by_field


@given(rows, keys, st.integers(0, 5))
def test_counts_are_those_of_the_definition(requests, key, first):
    first = min(first, len(requests))
    found = KeyAudits(KeyTable(requests, FIELDS), JUDGED, first).of(Candidate(name="", fields=key))
    by_field = {one.field: one.requests for one in found.collisions}
    expected = by_definition(requests, key, first)
    assert (found.hits, found.wrong_hits, found.leaks, by_field) == expected
    for one in found.collisions:
        asked, stored = requests[one.request], requests[one.stored]
        assert getattr(asked, one.field) != getattr(stored, one.field)
        assert [getattr(asked, name) for name in key] == [getattr(stored, name) for name in key]
        assert one.cross_tenant in (None, asked.tenant != stored.tenant)
    if "tenant" in by_field:
        assert found.collisions[0].field == "tenant"


@given(rows)
def test_the_proposed_key_is_the_smallest_without_a_wrong_hit_and_with_the_most_hits(requests):
    made = proposed(KeyTable(requests, FIELDS), JUDGED)
    right = {
        key: by_definition(requests, key, 0)[0]
        for size in range(len(JUDGED) + 1)
        for key in combinations(JUDGED, size)
        if not by_definition(requests, key, 0)[1]
    }
    most = max(right.values())
    best = [key for key, hits in right.items() if hits == most]
    assert made.smallest
    assert made.fields == best[0]


def test_a_field_that_does_not_matter_splits_if_it_costs_hits_or_is_unique():
    table = KeyTable(
        [
            Request(id=f"r{n}", prompt="p" if n < 4 else f"q{n}", session=f"s{n % 2}")
            for n in range(8)
        ],
        ("prompt", "session", "id"),
    )
    audits = KeyAudits(table, ("prompt",), 0)

    def splits(*fields):
        found = audits.of(Candidate(name="", fields=fields)).splits
        return [(one.field, one.distinct, one.lost_hits) for one in found]

    assert splits("prompt") == []
    assert splits("prompt", "session") == [("session", 2, 1)]
    # Each of the two alone is enough to keep all apart, so neither costs hits beside the other.
    assert splits("prompt", "id") == [("id", 8, 3)]
    assert splits("prompt", "id", "session") == [("id", 8, 2)]


def test_a_unique_field_that_matters_splits_as_well():
    requests = [Request(id=f"r{n}", prompt="p", seed=n, tenant="t") for n in range(20)]
    audits = KeyAudits(KeyTable(requests, ("prompt", "seed", "tenant")), ("seed", "tenant"), 0)
    found = audits.of(Candidate(name="", fields=("prompt", "seed", "tenant"))).splits
    assert [(one.field, one.distinct, one.lost_hits) for one in found] == [("seed", 20, 19)]


def test_requests_come_in_the_order_of_their_arrival_and_failed_ones_not_at_all():
    table = KeyTable(
        [
            Request(id="late", prompt="p", tenant="b", arrived_s=9.0),
            Request(id="early", prompt="p", tenant="a", arrived_s=1.0),
            Request(id="failed", prompt="p", tenant="a", arrived_s=0.0, status=Status.ERROR),
            Request(id="cut", prompt="p", arrived_s=0.0, marks=frozenset({Mark.TRUNCATED_PROMPT})),
            Request(id="empty", arrived_s=0.0),
            Request(id="cached", prompt="p", tenant="a", arrived_s=10.0, response_cache_hit=True),
        ],
        ("prompt", "tenant"),
    )
    (found,) = (
        KeyAudits(table, ("tenant",), 0).of(Candidate(name="", fields=("prompt",))).collisions
    )
    assert (found.request, found.stored, len(table)) == (0, 1, 3)
    assert sorted(table.skipped.values()) == [1, 1, 1]


def test_values_that_mean_the_same_are_one_value():
    assert canonical(1) == canonical(1.0) != canonical(True)
    assert canonical({"a": 1, "b": [2]}) == canonical({"b": [2], "a": 1})
    assert canonical("1") != canonical(1)
    assert canonical(2**70) != canonical(2**70 + 1)
    assert canonical([2**70]) != canonical([2**70 + 1])


def test_what_was_left_out_is_not_zero():
    table = KeyTable(
        [
            Request(id="a", prompt="p", temperature=0.0),
            Request(id="b", prompt="p"),
        ],
        ("prompt", "temperature"),
    )
    found = KeyAudits(table, ("temperature",), 0).of(Candidate(name="", fields=("prompt",)))
    assert found.wrong_hits == 1


def test_parts_of_messages_and_options_of_the_body_are_fields():
    asked = Request(
        id="a",
        messages=[
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "hello"},
        ],
        cache_options={"toolChoice": "none", "cache_control": {"type": "ephemeral"}},
        columns={"stop": "END"},
    )
    assert value_of(asked, "system_prompt") == ["be brief"]
    assert value_of(asked, "last_message") == "hello"
    assert value_of(asked, "tool_choice") == "none"
    assert value_of(asked, "stop") == "END"
    assert value_of(asked, "media_hashes") is None


def test_another_tenants_answers_come_before_other_users_and_these_before_the_rest():
    asked = [("a", "x", 0.0), ("a", "y", 0.5), ("b", "z", 0.6)]
    table = KeyTable(
        [
            Request(id=str(n), prompt="p", tenant=tenant, user=user, temperature=heat)
            for n, (tenant, user, heat) in enumerate(asked)
        ],
        ("prompt", "tenant", "user", "temperature"),
    )
    audits = KeyAudits(table, ("temperature", "user", "tenant"), 0)
    found = audits.of(Candidate(name="", fields=("prompt",))).collisions
    counts = [(one.field, one.requests) for one in found]
    assert counts == [("tenant", 1), ("user", 2), ("temperature", 2)]
    # The user's example is the hit that is another tenant's as well, though it came later.
    assert (found[1].request, found[1].cross_tenant) == (2, True)


def test_an_example_names_both_tenants_where_one_can():
    asked = [("p", None), ("p", "a"), ("q", "a"), ("q", "b")]
    requests = [
        Request(id=str(n), prompt=text, tenant=tenant) for n, (text, tenant) in enumerate(asked)
    ]
    found = KeyAudits(KeyTable(requests, ("prompt", "tenant")), ("tenant",), 0).of(
        Candidate(name="", fields=("prompt",))
    )
    (tenant,) = found.collisions
    assert (tenant.requests, tenant.request, tenant.stored) == (2, 3, 2)
