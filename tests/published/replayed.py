"""A trace through kvaudit's own path: prompts, order of arrival, block keys."""

from kvaudit.replay.arrival import concatenate, sort_all
from kvaudit.replay.kernels.radix import RadixInterner
from kvaudit.replay.prompts import Prompts


def no_tokenizer():
    raise AssertionError("a log of block hashes or token ids needs no tokenizer")


def as_one_batch(requests):
    """Return all requests as one batch of integers, by arrival."""
    return concatenate(list(sort_all(Prompts(requests, encoder=no_tokenizer))))


def shared_units(batch):
    """Return each prompt's longest prefix seen earlier, in units: an unbounded cache's hits."""
    return RadixInterner(1).intern(batch).shared_units
