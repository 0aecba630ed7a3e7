"""Block keys and longest cached prefixes in batches on a device, by integers alone.

The key of a block is a sum over the request's units up to the block's end of a pseudo-random
64-bit function of position and unit, so one cumulative sum, which wraps at 2**64, gives all keys
of a batch; no block waits for the one before it. Two different prefixes get the same key with a
chance of 2**-64; the result is compared with the host's, which compares text. Which request had a
block before is found by one stable sort. The same integers come out on every device.
"""

from __future__ import annotations

from typing import NamedTuple

import torch


def _signed(value: int) -> int:
    """Return the 64 bits of ``value`` as the signed integer torch takes."""
    return value - 2**64 if value >= 2**63 else value


# Multipliers of splitmix64 (Steele, Lea and Flood 2014), odd and without pattern.
_POSITION = _signed(0x9E3779B97F4A7C15)
_FIRST = _signed(0xBF58476D1CE4E5B9)
_SECOND = _signed(0x94D049BB133111EB)


class BlockKeys(NamedTuple):
    """Keys of full blocks, request after request."""

    keys: torch.Tensor
    """int64, shape (blocks,)."""
    requests: torch.Tensor
    """Number of each block's request within the batch, int64, shape (blocks,)."""


def block_keys(
    units: torch.Tensor, offsets: torch.Tensor, namespaces: torch.Tensor, block_units: int
) -> BlockKeys:
    """Return the keys of all full blocks of a batch.

    ``units`` are int32 of shape (offsets[-1],), ``offsets`` int64 of shape (requests + 1,),
    ``namespaces`` integers of shape (requests,); all on one device.
    """
    device = units.device
    starts, lengths = offsets[:-1], offsets.diff()
    request = torch.repeat_interleave(torch.arange(len(lengths), device=device), lengths)
    position = torch.arange(len(units), device=device) - starts[request]
    mixed = _mix(units.long() * _FIRST + (position + 1) * _POSITION)
    sums = torch.cumsum(mixed, 0)
    blocks = lengths // block_units
    owner = torch.repeat_interleave(torch.arange(len(blocks), device=device), blocks)
    number = torch.arange(len(owner), device=device) - (torch.cumsum(blocks, 0) - blocks)[owner]
    ends = starts[owner] + (number + 1) * block_units - 1
    if not len(owner):
        return BlockKeys(sums[:0], owner)
    before = torch.where(starts > 0, sums[(starts - 1).clamp(min=0)], torch.zeros_like(starts))
    within = sums[ends] - before[owner]
    return BlockKeys(_mix(within + _mix((namespaces.long()[owner] + 1) * _SECOND)), owner)


def leading_matches(keys: BlockKeys, requests: int) -> torch.Tensor:
    """Return how many leading blocks of each request an earlier request had.

    Every block's key stands for all text up to it, so a block that was there before comes with
    all blocks before it, and they need only be counted. int64, shape (requests,).
    """
    ordered, order = torch.sort(keys.keys, stable=True)
    again = torch.zeros_like(ordered, dtype=torch.bool)
    again[1:] = ordered[1:] == ordered[:-1]
    found = torch.zeros(requests, dtype=torch.int64, device=ordered.device)
    return found.scatter_add_(0, keys.requests[order], again.long())


def _mix(values: torch.Tensor) -> torch.Tensor:
    """Return the finalizer of splitmix64 of each value, as signed integers."""
    values = (values ^ _shifted(values, 30)) * _FIRST
    values = (values ^ _shifted(values, 27)) * _SECOND
    return values ^ _shifted(values, 31)


def _shifted(values: torch.Tensor, bits: int) -> torch.Tensor:
    """Return a logical shift to the right; torch's own keeps the sign."""
    return (values >> bits) & ((1 << (64 - bits)) - 1)
