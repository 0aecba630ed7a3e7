"""Which vLLM releases are modelled, and which of their rules differ.

A release between two that were read follows the older one's rules unless the table says
otherwise; a patch release follows its minor.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from kvaudit.core.errors import UsageError

NEWEST = "0.33.0"

OLDEST_SCHEDULER = "0.20.0"
"""The first release whose scheduler was read, in 0.20.2."""


class FreeOrder(StrEnum):
    """Where a finished request's blocks go in the queue of free blocks."""

    ALL_TO_TAIL = "all-to-tail"
    """All of them to the tail, whether they hold KV that can be hit or not."""
    UNKEYED_TO_HEAD = "unkeyed-to-head"
    """Blocks without a key, which nothing can hit, to the head; the others to the tail."""


class Family(NamedTuple):
    """Releases with the same rules, from the first to the last minor release."""

    first: str
    last: str
    free_order: FreeOrder
    source: str


FAMILIES = (
    Family(
        "0.9.2",
        "0.23.0",
        FreeOrder.ALL_TO_TAIL,
        "vllm/v1/core/block_pool.py, BlockPool.free_blocks, of 0.9.2, 0.11.0, 0.15.1, 0.20.2, "
        "0.22.0 and 0.23.0",
    ),
    Family(
        "0.24.0",
        NEWEST,
        FreeOrder.UNKEYED_TO_HEAD,
        "the same function of 0.24.0, 0.25.0, 0.28.0, 0.30.0 and 0.33.0; pull request 42656 of "
        "vllm-project/vllm, first released in 0.24.0",
    ),
)


def free_order(version: str) -> FreeOrder:
    """Return the free order of a vLLM release such as ``0.33.0``.

    Raises `UsageError`, naming the nearest release that is modelled, for any other.
    """
    release = parse_release(version)
    for family in FAMILIES:
        first, last = parse_release(family.first), parse_release(family.last)
        if first <= release and release[:2] <= last[:2]:
            return family.free_order
    oldest = FAMILIES[0].first
    nearest = oldest if release < parse_release(oldest) else NEWEST
    raise UsageError(
        f"vLLM {version} is not modelled; kvaudit knows {oldest} to {NEWEST}: "
        f"use --engine-version {nearest}"
    )


def scheduler_free_order(version: str) -> FreeOrder:
    """Return the free order of a release whose scheduler is modelled.

    Older schedulers admit a prompt when its first chunk fits, newer ones when all of it does.
    Raises `UsageError` for those.
    """
    order = free_order(version)
    if parse_release(version) < parse_release(OLDEST_SCHEDULER):
        raise UsageError(
            f"the scheduler of vLLM {version} is not modelled, only those from "
            f"{OLDEST_SCHEDULER} on; use --schedule sequential, or a newer --engine-version"
        )
    return order


def parse_release(version: str) -> tuple[int, ...]:
    """Return major, minor and patch of a vLLM release, or raise `UsageError`."""
    match = re.fullmatch(r"v?(\d+)\.(\d+)(?:\.(\d+))?(?:\.\d+)?(?:\.?post\d+)?", version.strip())
    if match is None:
        raise UsageError(
            f"{version!r} is not a vLLM version; write it like --engine-version {NEWEST}"
        )
    return tuple(int(part or 0) for part in match.groups())
