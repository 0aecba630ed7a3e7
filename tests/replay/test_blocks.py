"""Block keys and shared prefixes against their definition, for both interners."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from replay_logs import Line, batch, halves, logs

from kvaudit.replay.blocks import NO_KEY, known_full_blocks
from kvaudit.replay.caches import make_interner
from kvaudit.replay.kernels import radix_edges


class Numbered(NamedTuple):
    shared: list[int]
    new_units: list[int]
    keys: list[int]
    new: list[bool]


def numbered(lines: list[Line], size: int, *, tails: bool, small: bool) -> Numbered:
    interner = make_interner(block_units=size, tails=tails, small=small)
    shared: list[int] = []
    new_units: list[int] = []
    keys: list[int] = []
    new: list[bool] = []
    for part in halves(lines):
        blocks = interner.intern(batch(part))
        shared += blocks.shared_units.tolist()
        new_units += blocks.new_units.tolist()
        for i in range(len(part)):
            row = blocks.keys[blocks.key_offsets[i] : blocks.key_offsets[i + 1]].tolist()
            if tails:
                row += [int(blocks.prompt_tails[i]), int(blocks.end_tails[i])]
            keys += row
            new += [key >= blocks.known_before[i] for key in row]
    assert set(keys) - {NO_KEY} == set(range(blocks.known_before[-1]))
    return Numbered(shared, new_units, keys, new)


def seen_by_definition(lines: list[Line], part: Callable[[Line], tuple[int, ...]]) -> list[int]:
    """The longest prefix of each request's ``part`` that an earlier request has as well."""

    def common(line: Line, other: Line) -> int:
        text, earlier = part(line), other.prompt + other.output
        return next(n for n in range(len(text), -1, -1) if text[:n] == earlier[:n])

    return [
        max((common(line, e) for e in lines[:i] if e.namespace == line.namespace), default=0)
        for i, line in enumerate(lines)
    ]


def blocks_by_definition(lines: list[Line], size: int, *, tails: bool) -> list[object]:
    """For each block all text up to its end; a tail is told from a full block by its length."""
    texts: list[object] = []
    for line in lines:
        text = line.prompt + line.output
        texts += [(line.namespace, text[:end]) for end in range(size, len(text) + 1, size)]
        if tails:
            texts += [
                (line.namespace, part) if len(part) % size else None for part in (line.prompt, text)
            ]
    return texts


@pytest.mark.parametrize("small", [True, False], ids=["plain", "radix"])
@settings(max_examples=1000)
@given(lines=logs(12), size=st.integers(1, 4), tails=st.booleans())
def test_keys_say_what_text_a_block_ends(small, lines, size, tails):
    found = numbered(lines, size, tails=tails, small=small)
    assert found.shared == seen_by_definition(lines, lambda line: line.prompt)
    seen = seen_by_definition(lines, lambda line: line.prompt + line.output)
    lengths = [len(line.prompt + line.output) for line in lines]
    assert found.new_units == [n - s for n, s in zip(lengths, seen, strict=True)]
    texts = blocks_by_definition(lines, size, tails=tails)
    named: dict[int, object] = {}
    for key, text in zip(found.keys, texts, strict=True):
        assert named.setdefault(key, text) == text
        assert (key == NO_KEY) == (text is None)
    assert len(set(texts)) == len(named)


@pytest.mark.parametrize("small", [True, False], ids=["plain", "radix"])
def test_a_key_is_new_only_in_the_request_that_brings_it(small):
    lines = [Line((1, 2, 3)), Line((1, 2, 3)), Line((1, 2, 4))]
    found = numbered(lines, 1, tails=False, small=small)
    assert found.new == [True] * 3 + [False] * 3 + [False, False, True]


@pytest.mark.parametrize("small", [True, False], ids=["plain", "radix"])
def test_many_batches_make_the_tables_grow(small):
    rng = np.random.default_rng(0)
    heads = [(n, *rng.integers(0, 50, 300).tolist()) for n in range(20)]
    questions = [(n, *rng.integers(0, 50, 40).tolist()) for n in range(400)]
    lines = [Line(heads[n % 20] + question) for n, question in enumerate(questions)]
    interner = make_interner(block_units=16, small=small)
    blocks = [interner.intern(batch([line])) for line in lines]
    assert [b.shared_units[0] for b in blocks] == [0] * 20 + [301] * 380
    assert blocks[-1].known_before[-1] == 20 * (301 // 16) + 400 * (342 // 16 - 301 // 16)


@settings(max_examples=30)
@given(lines=logs(12), size=st.integers(1, 3))
def test_nodes_become_wide_where_an_arena_has_more_places_than_32_bits_count(lines, size):
    def found(most_places):
        with pytest.MonkeyPatch.context() as patch:
            interner = make_interner(block_units=size, small=False)
            blocks = []
            for part in halves(lines):
                blocks.append(interner.intern(batch(part)))
                patch.setattr(radix_edges, "_MOST_PLACES", most_places)
            assert interner._edges.nodes.dtype == (np.int32 if most_places > 0 else np.int64)
        return [(b.keys.tolist(), b.shared_units.tolist()) for b in blocks]

    assert found(-1) == found(2**31)


def test_a_partial_hash_at_the_end_is_no_full_block():
    lines = batch([Line((7, 8, 9), unknown=20)], unit_tokens=16)
    lines.prompt_tokens[0] = 40
    blocks = make_interner(block_units=1, small=True).intern(lines)
    assert known_full_blocks(lines, blocks, 16).tolist() == [2]
