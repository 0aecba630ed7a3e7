"""What differs between SGLang releases in how HiCache holds nodes in host memory.

Read from the wheels of 0.5.4 to 0.5.23, ``sglang/srt/mem_cache``: ``hiradix_cache.py`` up to
0.5.18, ``unified_radix_cache.py`` and ``unified_cache`` since, where the unified tree is the
default (``registry.py``).
"""

from __future__ import annotations

from typing import NamedTuple

from kvaudit.replay.models.sglang_releases import parse

LOAD_BACK_TOKENS = 10
"""Fewer tokens are computed again rather than loaded back (``load_back_threshold``)."""
FETCH_TOKENS = 256
"""Fewer tokens are not fetched from storage (``prefetch_threshold``)."""
HITS_TO_WRITE = {"write-through": 1, "write-through-selective": 2}
"""How often a node must have been inserted before it is copied (``write_through_threshold``)."""


class HostRules(NamedTuple):
    """What a release does."""

    first: tuple[int, int, int]
    unified: bool
    """The unified tree: eviction from the host frees what is missing and not all that is asked
    for, a node is copied together with what comes before it, a node that is computed again counts
    as used, and under write-back copies of what is on the device are the first to go."""
    needs_parent: bool
    """Whether a node is copied only once what comes before it was (``write_backup``)."""
    finds_orphans: bool
    """Whether copies that continue a node without one are evicted once that node is gone; their
    room is lost otherwise (``_collect_leaves``)."""

    fetches_into_spare_host: bool
    """Whether storage is asked only where the host's pool is larger than the device's
    (``prefetch_capacity_limit``)."""
    reserves_ahead: bool
    """Whether room on the host is made for all that is asked of storage, before it is known what
    storage has (``prefetch_from_storage``)."""
    asks_whole_prompt: bool
    """Whether storage is asked for the last page too, which is computed again in any case
    (``scheduler.py``, ``_prefetch_kvcache``)."""
    fetches_part: bool
    """Whether less is fetched where the host has no room for all (same)."""


_OLDEST = HostRules(
    first=(0, 5, 4),
    unified=False,
    needs_parent=False,
    finds_orphans=False,
    fetches_into_spare_host=True,
    reserves_ahead=True,
    asks_whole_prompt=True,
    fetches_part=False,
)
_0_5_9 = _OLDEST._replace(first=(0, 5, 9), finds_orphans=True)
_0_5_11 = _0_5_9._replace(first=(0, 5, 11), needs_parent=True, fetches_part=True)
_0_5_14 = _0_5_11._replace(first=(0, 5, 14), asks_whole_prompt=False)
_0_5_15 = _0_5_14._replace(first=(0, 5, 15), fetches_into_spare_host=False)
_0_5_16 = _0_5_15._replace(first=(0, 5, 16), reserves_ahead=False)
_0_5_19 = _0_5_16._replace(first=(0, 5, 19), unified=True)

RELEASES = (_OLDEST, _0_5_9, _0_5_11, _0_5_14, _0_5_15, _0_5_16, _0_5_19)
"""Each names what it changed."""


def host_rules(version: str) -> HostRules:
    """Return the rules of a release such as ``0.5.18``; one that is not modelled is not refused."""
    release = parse(version)
    return max((rules for rules in RELEASES if rules.first <= release), key=lambda r: r.first)
