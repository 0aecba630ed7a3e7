"""The part of a prompt that was seen before, cut by why it was not all hit."""

from __future__ import annotations

from typing import NamedTuple

from kvaudit.analyzers.divergence.kin import Kin, Met


class Amounts(NamedTuple):
    """What the replay says of one request, in tokens."""

    prompt: int
    hit: int
    kept: int
    """Found by a cache of the same rules that never evicts."""
    expired: int
    elsewhere: int
    parameter: int
    unit: int
    """Tokens of a unit: one, or a block where the log holds hashes."""


class Prefix(NamedTuple):
    """The longest prefix seen before, cut by why it was not all hit; in tokens."""

    shared: int
    evicted: int
    expired: int
    elsewhere: int
    parameter: int
    rest: int
    """Computed for none of these reasons."""


def prefix_of(met: Met, amounts: Amounts) -> Prefix:
    """Cut the prefix; what one reason explains is not counted for the next."""
    shared = max(min(met.shared_units * amounts.unit, amounts.prompt), amounts.hit)
    room = shared - amounts.hit
    expired = min(amounts.expired, room)
    parameter = min(amounts.parameter, room - expired)
    elsewhere = min(amounts.elsewhere, room - expired - parameter)
    missed = expired + parameter + elsewhere
    evicted = min(max(amounts.kept - amounts.hit - missed, 0), room - missed)
    return Prefix(shared, evicted, expired, elsewhere, parameter, room - missed - evicted)


def lost_of(
    met: Met, kin: Kin | None, amounts: Amounts, prefix: Prefix, *, block_size: int
) -> tuple[int, int]:
    """Return what was lost to the parting from a relative, and what to the engine's rules."""
    parts_inside = prefix.rest < max(block_size, amounts.unit)
    if kin is not None:
        inside_block = prefix.rest if parts_inside else 0
        behind = amounts.prompt - prefix.shared
        lost = min(inside_block + kin.again_units * amounts.unit, behind + inside_block)
        return lost, prefix.rest - inside_block
    if met.beside >= 0 and prefix.shared < amounts.prompt and parts_inside:
        return 0, 0  # it parts inside a block, as new prompts do
    return 0, prefix.rest
