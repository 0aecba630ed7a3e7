"""Requests and JSON as logs may hold them, for property tests."""

from array import array

from hypothesis import strategies as st

from kvaudit.core.requests import Mark, Request, Status
from kvaudit.logs.checks import LATEST_S, MOST_TOKENS

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
names = texts.filter(bool)
counts = st.integers(0, MOST_TOKENS)
numbers = st.floats(allow_nan=False, allow_infinity=False, width=32)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
json_objects = st.lists(st.dictionaries(texts, json_values, max_size=3), max_size=3)
token_ids = st.lists(st.integers(0, 2**31 - 1), max_size=40).map(lambda ids: array("i", ids))
block_ids = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=8).map(lambda ids: array("q", ids))


def optional(strategy):
    return st.none() | strategy


requests = st.builds(
    Request,
    id=names,
    arrived_s=optional(st.floats(-LATEST_S, LATEST_S)),
    finished_s=optional(numbers),
    status=st.sampled_from(Status),
    model=optional(texts),
    tenant=optional(texts),
    user=optional(texts),
    session=optional(texts),
    parent=optional(texts),
    salt=optional(texts),
    lora=optional(texts),
    messages=optional(json_objects),
    tools=optional(json_objects),
    prompt=optional(texts),
    media_hashes=st.lists(texts, max_size=2).map(tuple),
    token_ids=optional(token_ids),
    output_ids=optional(token_ids),
    block_ids=optional(block_ids),
    block_tokens=optional(counts),
    block_scope=optional(texts),
    prompt_tokens=optional(counts),
    output_tokens=optional(counts),
    response=optional(texts),
    temperature=optional(numbers),
    top_p=optional(numbers),
    seed=optional(st.integers(-(2**63), 2**64 - 1)),
    max_tokens=optional(counts),
    response_format=optional(st.just("text") | st.dictionaries(texts, json_values, max_size=2)),
    cached_tokens=optional(counts),
    cache_write_5m_tokens=optional(counts),
    cache_write_1h_tokens=optional(counts),
    response_cache_hit=optional(st.booleans()),
    ttft_s=optional(numbers),
    prompt_cache_key=optional(texts),
    cache_options=optional(st.dictionaries(texts, json_values, max_size=2)),
    instance=optional(texts),
    answer_group=optional(texts),
    arrive_step=optional(counts),
    priority=optional(st.integers(-(2**63), 2**63 - 1)),
    marks=st.frozensets(st.sampled_from(Mark)),
)
