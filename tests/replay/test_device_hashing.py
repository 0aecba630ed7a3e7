"""Block keys on a device against the definition, and the matches against text."""

import numpy as np
import torch
from hypothesis import given
from replay_logs import batch, logs

from kvaudit.replay.device.hashing import block_keys, leading_matches
from kvaudit.replay.models.interner import PlainInterner

MASK = 2**64 - 1


def keys_of(prompts, block):
    arrays = (prompts.units, prompts.offsets, prompts.namespaces)
    return block_keys(*(torch.from_numpy(array) for array in arrays), block)


def mixed(value):
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


def expected(units, namespace, end):
    total = sum(
        mixed((unit * 0xBF58476D1CE4E5B9 + place * 0x9E3779B97F4A7C15) & MASK)
        for place, unit in enumerate(units[:end], start=1)
    )
    return mixed((total + mixed((namespace + 1) * 0x94D049BB133111EB & MASK)) & MASK)


@given(logs())
def test_every_key_is_the_one_of_plain_integers(lines):
    prompts = batch(lines)
    found = keys_of(prompts, 3).keys.numpy().view(np.uint64).tolist()
    told = []
    for line in lines:
        units = [*line.prompt, *line.output]
        ends = range(3, len(units) + 1, 3)
        told += [expected(units, line.namespace, end) for end in ends]
    assert found == told


@given(logs())
def test_matches_are_those_of_the_text(lines):
    prompts = batch(lines)
    blocks = PlainInterner(2).intern(prompts)
    owner = np.repeat(np.arange(len(lines)), np.diff(blocks.key_offsets))
    known = np.bincount(owner[blocks.keys < blocks.known_before[owner]], minlength=len(lines))
    found = leading_matches(keys_of(prompts, 2), len(lines))
    assert found.tolist() == known.tolist()
