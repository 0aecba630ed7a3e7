"""What look-ups of one's own leave out, told by the names in them, whatever the language."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from kvaudit.analyzers.keys.vocabulary import TENANT_IN_KEY
from kvaudit.analyzers.semantic.lookup_words import APART, GUARD, LIFE, MODEL, SCALE


class Lack(NamedTuple):
    """Something that a look-up does not say."""

    kind: str
    """What rules call it."""
    detail: str


def lacks_of_search(
    what: str, given: set[str], words: set[str], passed_over_by: Collection[str] = ()
) -> Iterator[Lack]:
    """Yield what a search leaves out, of which ``what`` is how it is written.

    ``given`` are the names in the search itself, ``words`` those of all that may judge an entry:
    the look-up, or its class; ``passed_over_by`` those by which a loop leaves out what was found.
    """
    is_filtered = any(map(MODEL.fullmatch, passed_over_by))
    apart = {*given, *passed_over_by}
    if not is_filtered and not any(map(_keeps_apart, apart)):
        yield Lack(
            "no-namespace",
            f"{what} looks among the entries of all tenants: no filter, namespace or collection",
        )
    if not any(map(MODEL.fullmatch, words)):
        yield Lack(
            "no-model-version",
            f"{what} names neither the model that answered nor the encoder and their versions",
        )
    if not any(map(LIFE.fullmatch, words)):
        yield Lack("no-expiry", f"what {what} finds may be of any age: no TTL is asked")
    if not any(map(GUARD.fullmatch, words)):
        yield Lack(
            "no-entity-check",
            f"nothing compares numbers, names, dates and negation of the question with {what}",
        )


def _keeps_apart(word: str) -> bool:
    return (APART.fullmatch(word) or TENANT_IN_KEY.fullmatch(word)) is not None


def lacks_of_limit(what: str, words: set[str]) -> Iterator[Lack]:
    """Yield that nothing says what a threshold measures."""
    if not any(map(SCALE.fullmatch, words)):
        yield Lack(
            "undeclared-scale",
            f"{what} says nothing of a cosine, a distance or a rank: by the store one number t is "
            "cosine t, 2t - 1 or 1 - t",
        )
