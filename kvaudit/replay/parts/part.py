"""What a part of a result is, and what it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.ledger import CacheLedger, LogLedger
from kvaudit.replay.outcomes import CacheOutcome
from kvaudit.replay.result import ReplayResult


class Served(NamedTuple):
    """One batch, and what became of it."""

    batch: PromptBatch
    keys: BlockBatch
    outcome: CacheOutcome
    """Of the modelled cache."""
    kept: CacheOutcome
    """Of one cache of the same rules that never evicts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledgers:
    """What is kept of every request, once the whole log was served."""

    log: LogLedger
    served: CacheLedger
    """The modelled cache."""
    kept: CacheLedger
    """One cache of the same rules that never evicts."""
    ready: CacheLedger | None
    """The same with every request done before the next comes; None where that is ``kept``."""
    counted: slice
    """The requests that count."""
    is_low_end: bool
    """Whether generated text never hits here, and another pass lets it hit."""

    @property
    def prompt_tokens(self) -> NDArray[np.int64]:
        """Prompt tokens of every request."""
        return self.log.prompt_tokens.values()


class Part:
    """One part of the result that a pass may have."""

    def feed(self, served: Served) -> None:
        """Take the next batch; nothing to do for a part that the caches note themselves."""

    def add_to(self, result: ReplayResult, ledgers: Ledgers) -> ReplayResult:
        """Return the result with what this part found."""
        raise NotImplementedError
