"""What a replay needs of a log's prompts, wherever they come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from kvaudit.core.prompts import PromptBatch


class PromptStream(Protocol):
    """Batches of a log in file order, and what is known of their units once one was read."""

    @property
    def holds_blocks(self) -> bool | None:
        """Whether units are blocks; None until the first replayable request was met."""

    @property
    def block_tokens(self) -> int | None:
        """Tokens a block, where units are blocks."""

    @property
    def outputs_reencoded(self) -> bool:
        """Whether responses are spelled as the next turn would spell them."""

    @property
    def namespace_names(self) -> Sequence[str]:
        """Names of the namespaces met, by number."""

    @property
    def lmcache_namespaces(self) -> Sequence[int]:
        """For each namespace the first one that differs from it in adapter or salt at most.

        It grows as namespaces are met.
        """

    def __iter__(self) -> Iterator[PromptBatch]:
        """Read from the beginning."""
        ...
