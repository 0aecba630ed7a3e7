"""What look-ups of one's own leave out, told by the names in them, whatever the language."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from kvaudit.analyzers.keys.vocabulary import TENANT_IN_KEY, TENANT_SEEN
from kvaudit.analyzers.semantic.lookup_words import (
    APART,
    GUARD,
    LIFE,
    MODEL,
    SCALE,
    SCALE_SAID,
    SIMILARITY,
)
from kvaudit.core.doubt import Doubt


class Lack(NamedTuple):
    """Something that a look-up does not say."""

    kind: str
    """What rules call it."""
    detail: str
    unseen: Sequence[Doubt] = ()
    """What is not seen of it, which makes it information."""


def lacks_of_search(
    what: str,
    given: set[str],
    words: set[str],
    *,
    of_object: bool,
    from_outside: bool = False,
    passed_over_by: Collection[str] = (),
) -> Iterator[Lack]:
    """Yield what a search leaves out, of which ``what`` is how it is written.

    ``given`` are the names in the search itself, ``words`` those of all that may judge an entry:
    the look-up, or its class; ``passed_over_by`` those by which a loop leaves out what was found.
    What is ``of_object`` looks in a store that an object holds, of which each tenant may have one;
    a store ``from_outside`` was given to the object, and may leave out old entries itself.
    """
    is_filtered = any(map(MODEL.fullmatch, passed_over_by))
    unseen = [Doubt.ELSEWHERE] if from_outside else []
    apart = {*given, *passed_over_by}
    if not is_filtered and not any(map(_keeps_apart, apart)):
        if of_object:
            why = "all entries of its object, so that tenants who share the object share answers"
        else:
            why = "the entries of all tenants"
        yield Lack(
            "perhaps-no-namespace" if of_object else "no-namespace",
            f"{what} looks among {why}: no filter, namespace or collection",
            # Who made the object for himself shares it with nobody.
            [Doubt.STAYS] if of_object and not any(map(TENANT_SEEN.fullmatch, words)) else (),
        )
    if not any(map(MODEL.fullmatch, words)):
        yield Lack(
            "no-model-version",
            f"{what} names neither the model that answered nor the encoder and their versions",
            unseen,
        )
    if not any(map(LIFE.fullmatch, words)):
        yield Lack("no-expiry", f"what {what} finds may be of any age: no TTL is asked", unseen)
    if not any(map(GUARD.fullmatch, words)):
        yield Lack(
            "no-entity-check",
            f"nothing compares numbers, names, dates and negation of the question with {what}",
        )


def _keeps_apart(word: str) -> bool:
    return (APART.fullmatch(word) or TENANT_IN_KEY.fullmatch(word)) is not None


def lacks_of_limit(what: str, compared: set[str], words: set[str], text: str) -> Iterator[Lack]:
    """Yield that neither names nor the ``text`` around say what a threshold measures.

    Where what is ``compared`` is called a similarity, at least its direction is said, and another
    file may say the rest.
    """
    if not any(map(SCALE.fullmatch, words)) and not SCALE_SAID.search(text):
        yield Lack(
            "undeclared-scale",
            f"{what} says nothing of a cosine, a distance or a rank: by the store one number t is "
            "cosine t, 2t - 1 or 1 - t",
            [Doubt.NAMED] if any(map(SIMILARITY.fullmatch, compared)) else (),
        )
