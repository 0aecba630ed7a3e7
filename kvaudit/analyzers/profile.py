"""What the user says about the traffic and the caches, as far as rules need it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kvaudit.core.document import Origin
from kvaudit.core.errors import UsageError
from kvaudit.core.nearest import did_you_mean

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
    block_tokens: int | None = None
    """Tokens of a block, where the engine reuses whole ones."""


_BY_VOLATILITY = {
    "day": Origin.DATE,
    "turn": Origin.LIVE_STATE,
    "request": Origin.USER_INPUT,
}
"""Words for how often a value changes that are no kinds of thing; those that are need no entry."""


def said_of_variables(table: Mapping[str, str]) -> dict[str, Origin]:
    """Read ``[tool.kvaudit.variables]``: name to what it holds. Raises `UsageError`."""
    words = {origin.value: origin for origin in Origin} | _BY_VOLATILITY
    said = {}
    for name, word in table.items():
        if word not in words:
            raise UsageError(
                f"variables.{name} = {word!r} says nothing that kvaudit knows"
                f"{did_you_mean(word, words) or '; known: ' + ', '.join(sorted(words))}"
            )
        said[name] = words[word]
    return said
