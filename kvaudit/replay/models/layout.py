"""How a model's KV is laid out in blocks, and what a request holds and may be given of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kvaudit.replay.models.kv_groups import NULL, GroupKind, KvGroup, StateMode


@dataclass(slots=True)
class Holder:
    """What a request asks for and holds."""

    keys: Sequence[int]
    """Keys of its full blocks of prompt and known output."""
    prompt_tokens: int
    tokens: int
    """Prompt and what was generated so far."""
    computed_tokens: int = 0
    tables: list[list[int]] = field(default_factory=list)
    """Its blocks, in order, one table a group; empty before it is admitted."""
    keyed_blocks: list[int] = field(default_factory=list)
    """How many blocks of each table were looked at for a key."""
    last_state: int = NULL
    """The last block of a table before it grew last; `NULL` where it did not."""
    retired: int = 0
    """How many blocks of state layers were given up, or passed over, from the start."""
    junction: int = 0
    """Where a prefix ends that another request left in some of the groups only; 0 is nowhere."""
    evicted_blocks: int = 0


@dataclass(frozen=True, slots=True)
class Hit:
    """The longest cached prefix that suits every group."""

    tokens: int
    tables: list[list[int]]
    """Its blocks, one list a group."""
    junction: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How a model's KV is laid out, and what is kept of it."""

    groups: tuple[KvGroup, ...]
    block_size: int
    eagle: bool = False
    retention_tokens: int | None = None
    """None keeps all that a hit could use."""
    budget: int | None = None
    """The most tokens of a step, for what a window's prompt reserves; None is any number."""

    @property
    def all_full(self) -> bool:
        """Whether all layers look at everything."""
        return all(group.kind is GroupKind.FULL for group in self.groups)

    @property
    def aligns_states(self) -> bool:
        """Whether some layers keep states only where chunks of a prefill end."""
        return any(group.mode is StateMode.ALIGN for group in self.groups)
