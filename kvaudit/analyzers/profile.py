"""What the user says about the traffic and the caches, as far as rules need it."""

from __future__ import annotations

from dataclasses import dataclass

MIN_STABLE_TOKENS = 256
"""Less stable text than this is not worth a change of a prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The setting a prompt runs in; the defaults are the common one."""

    provider: str | None = None
    model: str | None = None
    multi_turn: bool | None = None
    """None leaves it to what the reader saw; readers assume several turns in doubt."""
    isolate_tenants: bool = False
    """Sharing between tenants is unwanted, so identity in front is a salt and no fault."""
    retention_days: float = 0
    """How long KV lives, where it outlives a day."""
