"""What became of one request's tokens, and where it parts from which other."""

from __future__ import annotations

from typing import NamedTuple

NO_GROUP = -1


class Story(NamedTuple):
    """One request: tokens by what became of them, and where it parts from which other."""

    prompt: int
    hit: int
    evicted: int
    expired: int
    elsewhere: int
    parameter: int
    rule: int
    """In a prefix seen before, but computed by the engine's own rules."""
    lost: int
    """Lost to the cause of ``group``."""
    group: int
    number: int
    """The request's number in the log."""
    relative: int
    """Its relative's; -1 where it has none."""
    shared: int
    """Tokens it shares with that one."""
    resumes: int
    """Tokens from there to where the two agree again; -1 if they never do."""
    chars: int
    """Characters of the prompt both have; -1 where that is not known."""
    kin: int
    """The relative's place in replay order; -1 where there is none."""
    beside: int
    """Place of the request with the longest shared prefix; -1 where there is none."""
    near: int
    """Units that it shares with that one."""
    onward: int
    """Tokens that both would go on to share in one piece, if they did not part."""
    longest: int
    """Tokens of the longest piece that both have, wherever it stands."""

    @property
    def first_seen(self) -> int:
        """Tokens that no earlier request could have left."""
        return self.prompt - self._found - self.lost

    def inside_block(self, block_size: int) -> tuple[int, int]:
        """Return what it computes of its shared prefix: inside a block, and by the engine's rules.

        In tokens, as ``block_size`` is.
        """
        rest = max(min(self.near, self.prompt), self.hit) - self._found
        return (rest, 0) if rest < block_size else (0, rest)

    @property
    def _found(self) -> int:
        """Tokens that were hit, or would have been in a cache without bounds."""
        return self.hit + self.evicted + self.expired + self.elsewhere + self.parameter


COLUMNS = Story._fields
