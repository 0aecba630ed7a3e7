"""What HiCache fetches from storage for a request, compiled.

`kvaudit.replay.models.hicache` is what it must equal (``_fetch``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.kernels.compiled import inner
from kvaudit.replay.kernels.hicache_eviction import make_room_on_host, offer_node
from kvaudit.replay.kernels.hicache_state import HOST_USED, HiPath, HiRules, HiTree
from kvaudit.replay.kernels.hicache_tree import depth, match, put_on_host
from kvaudit.replay.kernels.radix_tree import ROOT
from kvaudit.replay.kernels.recency import refresh


class FetchRules(NamedTuple):
    """What the release does when it asks storage."""

    asks: bool
    """Whether it does at all."""
    least_pages: int
    """Fewer are not fetched."""
    asks_whole_prompt: bool
    reserves_ahead: bool
    fetches_part: bool


@inner
def fetch(
    hi: HiTree,
    path: HiPath,
    prompt_pages: int,
    reusable: int,
    deepest: int,
    rules: HiRules,
    asking: FetchRules,
) -> tuple[int, int]:
    """Put on the host what storage has of a prompt's pages after those in the tree.

    Of the ``prompt_pages``, ``reusable`` may hit, and ``deepest`` is the last node in the tree.
    Returns how many pages were new there, and the last node after that.
    """
    known, keys = depth(hi, deepest), path.keys
    asked = (prompt_pages if asking.asks_whole_prompt else reusable) - known
    if not asking.asks or asked < asking.least_pages:
        return 0, deepest
    hi.kept[deepest] = True
    found = _ask(hi, keys[known : known + asked], deepest, rules, asking)
    fetched = 0
    if found >= asking.least_pages:
        refresh(hi.storage, keys[known : known + found])
        end = known + _with_room(hi, found, rules, asking)
        _, _, last, held = match(hi, path, end, rules)
        if held.page < end:
            put_on_host(hi, path, held, end, last, rules)
            fetched = end - held.page
    hi.kept[deepest] = False
    offer_node(hi, deepest, rules)
    if found >= asking.least_pages:
        _, _, deepest, _ = match(hi, path, reusable, rules)
    return fetched, deepest


@inner
def _ask(
    hi: HiTree, keys: NDArray[np.int32], deepest: int, rules: HiRules, asking: FetchRules
) -> int:
    """Return how many of the pages storage has, up to the first that it has not."""
    asked = len(keys)
    if asking.reserves_ahead:
        asked = _with_room(hi, asked, rules, asking)
    if deepest != ROOT and not hi.on_host[deepest]:
        return 0  # its pages are looked up under a key that nothing was stored by
    found = 0
    while found < asked and hi.storage.held[keys[found] + 1]:
        found += 1
    return found


@inner
def _with_room(hi: HiTree, pages: int, rules: HiRules, asking: FetchRules) -> int:
    """Return how many the host has room for, once that is made; none if they are too few."""
    if make_room_on_host(hi, pages, rules):
        return pages
    part = rules.host_pages - hi.host[HOST_USED]
    return int(part) if asking.fetches_part and part >= asking.least_pages else 0
