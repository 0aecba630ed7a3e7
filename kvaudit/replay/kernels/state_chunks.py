"""Where chunks of a prefill end for states, compiled; `kvaudit.replay.models.state_chunks`."""

from __future__ import annotations

from typing import NamedTuple

from kvaudit.replay.kernels.compiled import compiled
from kvaudit.replay.models.vllm_releases import Rules


class Chunking(NamedTuple):
    """The rules of a release, and what they rest on."""

    aligns: bool
    """Whether any group keeps states where chunks end."""
    block_size: int
    eagle: bool
    most_tokens: int
    again: bool
    junctions: bool
    stops: bool
    to_the_end: bool
    before_last: bool


def chunking_of(
    rules: Rules, *, aligns: bool, block_size: int, eagle: bool, most_tokens: int
) -> Chunking:
    """Return the rules as the kernel reads them."""
    return Chunking(
        aligns,
        block_size,
        eagle,
        most_tokens,
        rules.aligns_again,
        rules.aligns_junctions,
        rules.aligns_stops,
        rules.aligns_to_the_end,
        rules.aligns_before_last,
    )


@compiled
def state_share(
    rules: Chunking, start: int, share: int, prompt: int, tokens: int, junction: int, admits: bool
) -> int:
    """Return how many of ``share`` tokens a step computes; see `StateChunks.share`."""
    if not rules.aligns:
        return share
    size = rules.block_size
    prefill = max(prompt, tokens - 1) if rules.again else prompt
    if start >= prefill or (not rules.again and tokens > prompt):
        return share
    if rules.eagle:
        last = max(tokens // size - 1, 0) * size
    else:
        last = (tokens - (1 if rules.before_last else 0)) // size * size
    if not rules.stops:
        if start + share < last:
            share = share // size * size
        elif start < last < start + share:
            share = last - start
        ahead = junction - start if admits else 0
        if rules.junctions and ahead >= size and share > ahead:
            share = ahead // size * size
        return share
    end = start + share
    floor = end // size * size
    if rules.to_the_end:
        if end < prefill and (floor > start or size <= rules.most_tokens):
            end = floor
    elif end < last:
        end = floor
    first = end
    if start < last < end:
        first = last
    block_end = (start // size + 1) * size
    if start % size > 0 and (rules.to_the_end or block_end <= last) and block_end < first:
        first = block_end
    if start < junction < end:
        stop = start + (junction - start) // size * size
        if start < stop < first:
            first = stop
    return max(first - start, 0)
