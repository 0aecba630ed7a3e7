"""A trace through kvaudit's own path: prompts, order of arrival, block keys."""

from kvaudit.replay.arrival import concatenate, sort_all
from kvaudit.replay.kernels.ideal import CompiledIdealCache, CompiledOptimalCache
from kvaudit.replay.kernels.radix import RadixInterner
from kvaudit.replay.models.ideal import IdealPolicy, UnboundedIdeal
from kvaudit.replay.prompts import Prompts


def no_tokenizer():
    raise AssertionError("a log of block hashes or token ids needs no tokenizer")


def as_one_batch(requests):
    """Return all requests as one batch of integers, by arrival."""
    return concatenate(list(sort_all(Prompts(requests, encoder=no_tokenizer))))


def shared_units(batch):
    """Return each prompt's longest prefix seen in an earlier one, in units."""
    return RadixInterner(1).intern(batch).shared_units


def unbounded_ideal(batch):
    """Return what kvaudit's ideal cache does with the batch, without a bound."""
    return UnboundedIdeal().replay(batch, RadixInterner(1).intern(batch))


def ideal_hit_tokens(batch, capacities, counted):
    """Return the hit tokens of the counted requests in the bounded ideal cache of kvaudit.

    By capacity, a list in the order FIFO, LRU, optimal; a unit of the batch is a block.
    """
    blocks = RadixInterner(1).intern(batch)
    found = {}
    for capacity in capacities:
        outcomes = [
            CompiledIdealCache(capacity_blocks=capacity, policy=policy).replay(batch, blocks)
            for policy in (IdealPolicy.FIFO, IdealPolicy.LRU)
        ]
        optimal = CompiledOptimalCache(capacity_blocks=capacity)
        optimal.learn(batch, blocks)
        outcomes += optimal.outcomes()
        found[capacity] = [int(outcome.cached_tokens[counted].sum()) for outcome in outcomes]
    return found
