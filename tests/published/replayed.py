"""A trace through kvaudit's own path: prompts, order of arrival, block keys, ideal cache."""

from kvaudit.replay.arrival import sort_all
from kvaudit.replay.batches import concatenate
from kvaudit.replay.caches import make_ideal, make_interner
from kvaudit.replay.models.ideal import IdealPolicy
from kvaudit.replay.prompts import Prompts


def no_tokenizer():
    raise AssertionError("a log of block hashes or token ids needs no tokenizer")


def as_one_batch(requests):
    """Return all requests as one batch of integers, by arrival."""
    return concatenate(list(sort_all(Prompts(requests, encoder=no_tokenizer))))


def interned(batch):
    """Return the batch's blocks of one unit each."""
    return make_interner(block_units=1, small=False).intern(batch)


def shared_units(batch):
    """Return each prompt's longest prefix seen in an earlier one, in units."""
    return interned(batch).shared_units


def unbounded_ideal(batch):
    """Return what kvaudit's ideal cache does with the batch, without a bound."""
    return make_ideal(capacity_blocks=None, small=False).replay(batch, interned(batch))


def ideal_hit_tokens(batch, capacities, counted):
    """Return the hit tokens of the counted requests in kvaudit's bounded ideal cache.

    By capacity, a list in the order FIFO, LRU, optimal; a unit of the batch is a block.
    """
    blocks = interned(batch)
    policies = (IdealPolicy.FIFO, IdealPolicy.LRU, IdealPolicy.OPTIMAL)
    return {
        capacity: [
            int(
                make_ideal(capacity_blocks=capacity, policy=policy, small=False)
                .replay(batch, blocks)
                .cached_tokens[counted]
                .sum()
            )
            for policy in policies
        ]
        for capacity in capacities
    }
