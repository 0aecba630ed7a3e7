"""What a semantic cache's setup means beside its limit, life and scope.

Which encoder an index is of, what of a request is compared, whether its search finds the nearest
entry, and whether a wrong one can be taken out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kvaudit.analyzers.semantic.given import Given, Setup
from kvaudit.analyzers.semantic.products import fits
from kvaudit.core.document import Observation


def design_faults(setup: Setup) -> Iterator[Observation]:
    """Yield what a setup leaves to chance."""
    yield from _settings(setup)
    yield from _compared(setup)
    yield from _encoder_of_index(setup)
    yield from _encoder_of_limit(setup)
    yield from _search(setup)
    product = setup.product
    if product.no_removal:
        yield setup.seen("no-removal", setup.place, f"{product.title} {product.no_removal}")


def _settings(setup: Setup) -> Iterator[Observation]:
    for fault in setup.product.faults:
        given = setup.given.get(fault["setting"])
        if given is None or given.value is None:
            continue
        if re.fullmatch(fault["is"], str(given.value), re.IGNORECASE):
            said = fault["says"].format(value=given.value)
            yield setup.seen(fault["kind"], given.span, f"{fault['setting']}: {said}")


def said_once(observations: Iterable[Observation]) -> Iterator[Observation]:
    """Yield observations, and what a product cannot do only for its first setup in a file."""
    said = set()
    for one in observations:
        if one.kind != "no-removal" or one.detail not in said:
            yield one
        said.add(one.detail)


def _values(setup: Setup) -> dict[str, object]:
    return {name: given.value for name, given in setup.given.items() if given.value is not None}


def _compared(setup: Setup) -> Iterator[Observation]:
    product = setup.product
    if product.lacks:
        yield setup.seen("policy-without-fields", setup.place, f"{product.title} {product.lacks}")
    wanted = product.last_message
    said_by_name = {name: given.value or given.name or "?" for name, given in setup.given.items()}
    if wanted and not setup.is_open and fits(wanted, said_by_name):
        place = next((setup.given[name].span for name in wanted if name in setup.given), None)
        yield setup.seen(
            "last-message-by-default",
            place or setup.place,
            f"{product.title} embeds the newest message alone, and what a conversation is about "
            "stands in those before it",
        )


def _encoder_of_index(setup: Setup) -> Iterator[Observation]:
    """Yield an index that keeps its name when its encoder becomes another one."""
    index = next((name for name in setup.product.index if name in setup.given), None)
    encoder = next((name for name in setup.product.encoder if name in setup.given), None)
    if index is None or encoder is None:
        return
    named, model = setup.given[index], setup.given[encoder]
    if not isinstance(named.value, str) or _names(named.value, model):
        return
    kind = "embedding-not-in-index" if model.varies else "embedding-not-in-fixed-index"
    yield setup.seen(
        kind,
        named.span,
        f"{index} {named.value} is the same for every {encoder}: vectors of two encoders are no "
        "nearer or farther than chance",
    )


def _encoder_of_limit(setup: Setup) -> Iterator[Observation]:
    """Yield a limit that is written out for an encoder that the settings name."""
    limit = next((name for name in setup.product.threshold if name in setup.given), None)
    encoder = next((name for name in setup.product.encoder if name in setup.given), None)
    if limit is None or encoder is None or not setup.given[encoder].varies:
        return
    value = setup.given[limit].value
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield setup.seen(
            "limit-for-any-encoder",
            setup.given[limit].span,
            f"{limit} {value:g} holds for one encoder, and {encoder} comes from the settings: "
            "questions that one puts at 0.95 another puts at 0.8",
        )


def _names(index: str, encoder: Given) -> bool:
    """Whether the name of an index says a part of its encoder's."""
    model = encoder.value if isinstance(encoder.value, str) else ""
    parts = [part for part in re.split(r"[^a-z0-9]+", model.lower()) if len(part) > 2]
    return any(part in index.lower() for part in parts)


def _search(setup: Setup) -> Iterator[Observation]:
    product = setup.product
    if product.approximate and not any(name in setup.given for name in product.approximate_when):
        yield setup.seen("approximate-index", setup.place, f"{product.title} {product.approximate}")
    values = _values(setup)
    for name, pattern in product.approximate_when.items():
        if name in values and fits({name: pattern}, values):
            yield setup.seen(
                "approximate-index",
                setup.given[name].span,
                f"{name} makes {product.title}'s search approximate: what share of the nearest "
                "entries it misses is not known",
            )
