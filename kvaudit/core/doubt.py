"""Which link of a finding's proof was not seen."""

from __future__ import annotations

from enum import StrEnum


class Doubt(StrEnum):
    """The link that is missing in the proof of a finding, in the order of the chain."""

    ASIDE = "it stands in a test, an example or a script"
    NOT_SENT = "no call was seen that sends this text to a model"
    NAMED = "only a name says what it holds"
    STAYS = "it may well stay the same between requests"
    SMALL = "less stands behind it than a provider caches"
    NO_CHAIN = "no chain of blocks of tokens was seen that this is a key of"
    NO_CACHE = "no cache was seen that is asked or filled under this key"
    NO_ANSWER = "no answer of a model was seen that is kept under this key"
    OTHER_KEPT = "what is kept under this key was not seen to come from a model"
    NOT_GIVEN = "it was not seen to reach the call whose answer is kept"
    PARTLY = "a part of the key could not be followed"
    ELSEWHERE = "the store that is asked comes from outside, and may see to it itself"

    @property
    def rank(self) -> int:
        """How far the chain was followed."""
        return list(Doubt).index(self)
