"""One plain list of block ids, blind to prefixes: what several published replays measured.

No engine keeps blocks so: in a list used front to back, the head of a prompt is older than its
tail and goes first, and the tail that stays cannot be reached.
"""

from collections import OrderedDict

import numpy as np


def prefix_hits_lru(prompts, capacity_blocks):
    """Return each prompt's leading blocks found in an LRU list, before it touches them.

    The prompt then touches all its blocks front to back, and each new one evicts at once: a
    long prompt may evict blocks of its own.
    """
    held = OrderedDict()  # used longest ago first
    hits = []
    for prompt in prompts:
        found = next((i for i, block in enumerate(prompt) if block not in held), len(prompt))
        hits.append(found)
        for block in prompt:
            held[block] = None
            held.move_to_end(block)
            if len(held) > capacity_blocks:
                held.popitem(last=False)
    return hits


def any_position_distances(stream):
    """Return for each use of a block how many distinct blocks were used since its last use.

    An LRU list of C blocks holds exactly those blocks whose distance is below C. A first use
    has the distance -1. One pass with a Fenwick tree over the positions of latest uses.
    """
    size = len(stream)
    tree = [0] * (size + 1)
    latest = {}
    distances = np.empty(size, np.int64)
    for position, block in enumerate(stream):
        before = latest.get(block)
        distance = -1
        if before is not None:
            # Every distinct block has one mark, at its latest use.
            distance = len(latest) - _marks_up_to(tree, before)
            _mark(tree, before, -1)
        _mark(tree, position, 1)
        latest[block] = position
        distances[position] = distance
    return distances


def _mark(tree, position, change):
    position += 1
    while position < len(tree):
        tree[position] += change
        position += position & -position


def _marks_up_to(tree, position):
    position += 1
    total = 0
    while position:
        total += tree[position]
        position -= position & -position
    return total


def any_position_hits_fifo(stream, weights, capacity_blocks):
    """Return the weight of uses that find their block among the last C admitted ones."""
    admitted_as = {}
    admitted = hit = 0
    oldest = -capacity_blocks  # number of the oldest admission still held
    for block, weight in zip(stream, weights, strict=True):
        if admitted_as.get(block, oldest - 1) >= oldest:
            hit += weight
        else:
            admitted_as[block] = admitted
            admitted += 1
            oldest = admitted - capacity_blocks
    return hit
