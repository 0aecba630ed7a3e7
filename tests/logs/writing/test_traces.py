"""Block hashes and the traces made of them: chained, keyed, sorted, and readable again."""

import json
from array import array
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvaudit.core.errors import InputError
from kvaudit.core.requests import Mark, Request
from kvaudit.logs.read import LogReader
from kvaudit.logs.writing.anonymize import anonymized
from kvaudit.logs.writing.block_hashes import BlockHasher, with_blocks
from kvaudit.logs.writing.traces import write_trace
from tests.logs.strategies import requests

HASHER = BlockHasher(block_tokens=4)


class ByteEncoder:
    """One token a byte; ids that the log gives are passed through."""

    def encode(self, requests):
        return [np.array(self._ids(request), np.int32) for request in requests]

    def encode_outputs(self, requests):
        return [np.array(list(request.response.encode()), np.int32) for request in requests]

    def _ids(self, request):
        if request.token_ids is not None:
            return request.token_ids
        return list((request.prompt or request.messages[0]["content"]).encode())


def hashes(tokens, hasher=HASHER, **request):
    return list(hasher.of_tokens(np.array(list(tokens), np.int32), Request(id="", **request)))


tokens = st.lists(st.integers(0, 1), max_size=20)


@given(tokens, tokens)
def test_as_many_hashes_are_shared_as_blocks_of_the_prefix(one, two):
    shared = 0
    for a, b in zip(hashes(one), hashes(two), strict=False):
        if a != b:
            break
        shared += 1
    expected = 0
    for n in range(0, max(len(one), len(two)), 4):
        if one[: n + 4] != two[: n + 4]:
            break
        expected += 1
    assert shared == expected
    assert len(hashes(one)) == -(-len(one) // 4)


def test_hashes_differ_by_key_and_namespace_and_fit_63_bits():
    plain = hashes(range(100))
    assert all(0 <= h < 2**63 for h in plain)
    assert plain == hashes(range(100))
    others = [
        hashes(range(100), BlockHasher(block_tokens=4, key=b"k")),
        hashes(range(100), model="m"),
        hashes(range(100), lora="m"),
        hashes(range(100), salt="m"),
    ]
    assert len({h for found in (plain, *others) for h in found}) == 5 * 25


def blocks(*given, rehash=False, hasher=HASHER):
    return list(with_blocks(given, hasher, ByteEncoder, rehash=rehash))


def test_texts_and_tokens_become_hashes_in_order():
    found = blocks(
        Request(id="a", prompt="hello", response="you", prompt_tokens=99),
        Request(id="b", token_ids=list(b"hello"), output_ids=array("i", [1])),
        Request(id="c", messages=[{"role": "user", "content": "hell"}], output_tokens=7),
        Request(id="d", prompt="hello", marks=frozenset({Mark.TRUNCATED_PROMPT})),
        Request(id="e", prompt_tokens=5),
    )
    assert [r.id for r in found] == list("abcde")
    assert [r.prompt_tokens for r in found] == [5, 5, 4, None, 5]
    assert [r.output_tokens for r in found] == [3, 1, 7, None, None]
    assert list(found[0].block_ids) == list(found[1].block_ids) == hashes(b"hello")
    assert list(found[2].block_ids) == hashes(b"hell")
    assert found[3].block_ids is found[4].block_ids is None


def test_tokens_need_no_encoder():
    def none():
        raise AssertionError

    (found,) = with_blocks([Request(id="a", token_ids=[1, 2])], HASHER, none, rehash=False)
    assert found.block_tokens == 4


def test_own_block_ids_are_kept_unless_local_or_secret():
    own = Request(id="a", block_ids=array("q", [5, -6]), block_tokens=64)
    local = Request(id="b", block_ids=array("q", [5, -6]), block_tokens=64, block_scope="s")
    kept, made_global = blocks(own, local)
    assert list(kept.block_ids) == [5, -6]
    assert made_global.block_scope is None
    assert set(made_global.block_ids).isdisjoint({5, -6})
    secret, _ = blocks(own, local, rehash=True)
    assert set(secret.block_ids).isdisjoint({5, -6, *made_global.block_ids})
    assert secret.block_tokens == 64


@given(st.lists(requests, max_size=3))
def test_anonymized_requests_hold_no_text(given):
    hasher = BlockHasher(block_tokens=4, key=b"secret")
    for request in given:
        shown = anonymized(request, hasher)
        assert (shown.arrived_s, shown.prompt_tokens) == (request.arrived_s, request.prompt_tokens)
        assert shown.messages is shown.prompt is shown.tools is shown.response is None
        assert shown.token_ids is shown.output_ids is shown.response_format is None
        assert shown.media_hashes == ()
        for name in ("id", "session", "parent", "tenant", "user", "model", "salt", "lora"):
            before, after = getattr(request, name), getattr(shown, name)
            assert (after is None) == (before is None)
            assert after is None or (len(after) == 16 and after != before)


def test_names_are_joined_as_before_and_differ_by_key():
    one, two = BlockHasher(block_tokens=4, key=b"1"), BlockHasher(block_tokens=4, key=b"2")
    assert one.name("s") == one.name("s")
    assert len({one.name("s"), one.name("t"), two.name("s")}) == 3


TRACE = [
    Request(
        id="b", arrived_s=1000.5, session="s", block_ids=[1, 2], prompt_tokens=700, output_tokens=3
    ),
    Request(id="a", arrived_s=1000.0, session="s", block_ids=[1], prompt_tokens=100),
    Request(id="c", session="t", block_ids=[9], prompt_tokens=1, parent="b"),
]


def test_a_mooncake_trace_is_sorted_and_read_back(tmp_path):
    path = tmp_path / "trace.jsonl"
    write_trace(TRACE, path, kind="mooncake")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["timestamp"] for row in rows] == [0, 0, 500]
    assert rows[2] == {
        "timestamp": 500,
        "input_length": 700,
        "output_length": 3,
        "hash_ids": [1, 2],
        "request_id": "b",
        "session_id": "s",
    }
    reader = LogReader([path])
    found = list(reader)
    assert reader.format_name == "mooncake"
    assert [(r.id, list(r.block_ids), r.block_tokens) for r in found] == [
        ("a", [1], 512),
        ("c", [9], 512),
        ("b", [1, 2], 512),
    ]


def test_a_bailian_trace_numbers_chats_and_turns(tmp_path):
    path = tmp_path / "trace.jsonl"
    write_trace([*TRACE[:2], replace(TRACE[2], arrived_s=1001.0)], path, kind="bailian")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    told = [(r["chat_id"], r["parent_chat_id"], r["turn"], r["timestamp"]) for r in rows]
    assert told == [(0, -1, 1, 0.0), (1, 0, 2, 0.5), (2, 1, 3, 1.0)]
    reader = LogReader([path])
    assert [r.block_tokens for r in reader] == [16, 16, 16]
    assert reader.format_name == "bailian"


def test_block_sizes_that_are_not_the_trace_s_own(tmp_path):
    request = Request(id="a", block_ids=[1], block_tokens=64, prompt_tokens=9)
    path = tmp_path / "trace.jsonl"
    write_trace([request], path, kind="mooncake")
    assert next(iter(LogReader([path]))).block_tokens == 64
    with pytest.raises(InputError, match="blocks of 64 tokens"):
        write_trace([request], path, kind="bailian")
