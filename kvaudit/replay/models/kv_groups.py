"""What each kind of layer needs of the blocks before it: vLLM's KV cache groups.

Layers of one kind share a block table; all groups take their blocks from one pool. Read from
vLLM 0.33.0, ``vllm/v1/core/single_type_kv_cache_manager.py``, where each kind is a class. All
groups of a model have the same block size here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from kvaudit.core.errors import UsageError
from kvaudit.core.nearest import did_you_mean

NULL = -1
"""Stands in a table for a block that its group does not need."""

Blocks = tuple[int, ...]
"""The blocks of the groups of one kind at one place; `NULL` where they need none."""

Cached = Callable[[int], Blocks | None]
"""The cached blocks at a place of the prompt, one a group of the kind; None if one is missing."""


class GroupKind(StrEnum):
    """What a layer looks back at."""

    FULL = "full"
    """Everything before it."""
    SLIDING = "swa"
    """The last tokens, as many as the window."""
    CHUNKED = "chunked"
    """What stands in the same chunk."""
    MAMBA = "mamba"
    """One state that sums up everything before it."""


class StateMode(StrEnum):
    """Where a state layer keeps states that can be hit."""

    ALIGN = "align"
    """Where a chunk of a prefill ends on a block boundary."""
    ALL = "all"
    """In every block."""


@dataclass(frozen=True, slots=True)
class KvGroup:
    """One group of layers; equal groups are looked up together."""

    kind: GroupKind
    tokens: int = 0
    """Size of a sliding window or of a chunk."""
    mode: StateMode | None = None

    def skipped_tokens(self, computed_tokens: int) -> int:
        """Return how many of the computed tokens the next one does not look at."""
        if self.kind is GroupKind.SLIDING:
            return max(0, computed_tokens - self.tokens + 1)
        if self.kind is GroupKind.CHUNKED:
            return computed_tokens // self.tokens * self.tokens
        if self.kind is GroupKind.MAMBA:
            return max(0, computed_tokens - 1)
        return 0

    def run_blocks(self, block_size: int, *, eagle: bool) -> int:
        """Return how many blocks in a row a sliding window needs before a hit."""
        # EAGLE drops the last one matched, so one more is needed.
        return -(-(self.tokens - 1) // block_size) + eagle

    def longest_hit(
        self, cached: Cached, max_tokens: int, block_size: int, width: int, *, drop_last: bool
    ) -> list[Blocks]:
        """Return the blocks of the longest prefix of at most ``max_tokens`` that can be reused.

        ``width`` is how many groups are looked up together, ``drop_last`` whether EAGLE wants
        the last block computed again.
        """
        if self.kind is GroupKind.SLIDING:
            return self._window_hit(cached, max_tokens // block_size, block_size, width, drop_last)
        null = (NULL,) * width
        if self.kind is GroupKind.MAMBA:
            for index in range(max_tokens // block_size - 1, -1, -1):
                if (blocks := cached(index)) is not None:
                    return [null] * index + [blocks]
            return []
        start = 0
        if self.kind is GroupKind.CHUNKED:
            # Chunks before the one of the next token are not looked at, so they count as hit.
            start = self.skipped_tokens(max_tokens) // block_size
        found = [null] * start
        for index in range(start, max_tokens // block_size):
            if (blocks := cached(index)) is None:
                break
            found.append(blocks)
        if drop_last and found:
            found.pop()
        return found

    def _window_hit(
        self, cached: Cached, limit: int, block_size: int, width: int, drop_last: bool
    ) -> list[Blocks]:
        """Search from the right for as many blocks in a row as the window needs."""
        needed = self.run_blocks(block_size, eagle=drop_last)
        found = [(NULL,) * width] * limit
        run = 0
        for index in range(limit - 1, -1, -1):
            blocks = cached(index)
            if blocks is None:
                run = 0
                continue
            found[index] = blocks
            run += 1
            if run >= needed:
                del found[index + run :]
                break
        else:
            del found[run:]  # a run from the start needs nothing before it
        if drop_last and found:
            found.pop()
        return found

    def kept_blocks(
        self,
        start: int,
        end: int,
        block_size: int,
        *,
        retention_tokens: int | None,
        boundaries: Sequence[int],
        eagle: bool,
    ) -> Sequence[int]:
        """Return which of the blocks ``start`` to ``end`` get a key (reachable_block_mask).

        ``retention_tokens`` is None for all that a hit could use, 0 for those before
        ``boundaries`` alone, else one tail in so many tokens too.
        """
        every = range(start, end)
        if self.kind is GroupKind.MAMBA:
            if retention_tokens is None or 0 < retention_tokens <= block_size:
                return every
            segment = retention_tokens // block_size
            kept = {i for i in every if segment and (i + 1) % segment == 0}
            return sorted(kept | {b // block_size - 1 for b in boundaries} & {*every})
        if self.kind is not GroupKind.SLIDING:
            return every
        needed = self.run_blocks(block_size, eagle=eagle)
        segment = (block_size if retention_tokens is None else retention_tokens) // block_size
        if segment and needed >= segment:
            return every
        # EAGLE looks one block past the place of a hit.
        tails = {
            i for i in every if segment and i >= eagle and (i - eagle) % segment >= segment - needed
        }
        if retention_tokens is not None:
            for boundary in boundaries:
                last = boundary // block_size + eagle
                tails.update(range(max(start, last - needed), min(end, last)))
        return sorted(tails)

    def most_blocks(self, block_size: int, budget: int) -> int | None:
        """Return how many blocks a prompt reserves at most, or None for one each block."""
        # kv_cache_interface.py, max_admission_blocks_per_request: blocks behind the window are
        # freed between the chunks of a prefill.
        if self.kind is GroupKind.SLIDING:
            return -(-(self.tokens - 1 + budget) // block_size) + 1
        if self.kind is GroupKind.CHUNKED:
            return -(-(self.tokens + budget) // block_size)
        return None


MAX_GROUP_TOKENS = 999_999_999
"""The largest window or chunk: longer than any prompt."""

FULL_ATTENTION = (KvGroup(GroupKind.FULL),)
"""The groups of a model whose layers all look at everything."""


def parse_groups(text: str) -> tuple[KvGroup, ...]:
    """Read ``full,swa:1024,swa:1024``, ``full,chunked:8192`` or ``full,mamba:all``.

    Raises `UsageError` with what comes nearest to a part that is none of these.
    """
    if not text.strip(" ,"):
        raise UsageError("--groups names no layers; write full, or full,swa:1024")
    return tuple(_parse_group(part.strip(), text) for part in text.split(","))


def _parse_group(part: str, whole: str) -> KvGroup:
    name, _, rest = part.partition(":")
    if name not in list(GroupKind):
        raise UsageError(
            f"--groups {whole}: {part!r} is no kind of layer{did_you_mean(name, GroupKind)}"
        )
    kind = GroupKind(name)
    if kind is GroupKind.FULL and not rest:
        return KvGroup(kind)
    if kind is GroupKind.MAMBA and rest in list(StateMode):
        return KvGroup(kind, mode=StateMode(rest))
    if kind in (GroupKind.SLIDING, GroupKind.CHUNKED) and _is_size(rest):
        return KvGroup(kind, int(rest))
    raise UsageError(f"--groups {whole}: {part!r} is not understood; {_remedy(kind, rest)}")


def _is_size(text: str) -> bool:
    return re.fullmatch(r"\d{1,9}", text, re.ASCII) is not None and int(text) >= 1


def _remedy(kind: GroupKind, rest: str) -> str:
    """Return what to write in place of a part whose kind is known."""
    if kind is GroupKind.FULL:
        return "full takes no size; write full"
    if kind is GroupKind.MAMBA:
        return f"write {' or '.join(f'{kind}:{mode}' for mode in StateMode)}"
    size = "its window" if kind is GroupKind.SLIDING else "the size of its chunks"
    if re.fullmatch(r"-?\d+", rest):
        nearest = 1 if int(rest) < 1 else MAX_GROUP_TOKENS
        return f"{size} is 1 to {MAX_GROUP_TOKENS:,} tokens; the nearest is {kind}:{nearest}"
    return f"{kind} needs {size} in tokens; write {kind}:1024"
