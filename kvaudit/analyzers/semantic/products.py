"""Products with a semantic cache, and what their settings mean; the data is products.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """One product: how it is recognised, and by which names it takes what.

    A scale of no name means that the limit is no distance of vectors, such as a reranker's score.
    """

    name: str
    title: str
    scale: str
    threshold: Sequence[str]
    default: float | None = None
    """The threshold where none is given; None where one must be."""
    calls: Sequence[str] = ()
    """Patterns of the dotted names that set it up in code."""
    needs: str | None = None
    """A pattern that the file must have, where the name alone says too little."""
    key: str | None = None
    """The key of a configuration file whose mapping is the setup."""
    when: Mapping[str, str] = field(default_factory=dict)
    """Patterns of values that make it a semantic cache."""
    beside: Mapping[str, str] = field(default_factory=dict)
    """The same of the mapping around."""
    exact_when: Mapping[str, str] = field(default_factory=dict)
    """Patterns of settings with which it compares no vectors; one that is not given is empty."""
    only_with: Sequence[str] = ()
    """Names of which one must be given, where the call has other uses."""
    life: Sequence[str] = ()
    apart: Sequence[str] = ()
    """Names that keep entries of others apart."""
    own_life: bool = False
    """It ends entries by itself, or is told how elsewhere."""
    own_apart: bool = False
    own_model: bool = False
    """It keeps the answers of other models apart, or nothing is known of that."""
    faults: Sequence[Mapping[str, str]] = ()
    """Settings that are faults at some values: ``setting``, the pattern it ``is``, the ``kind`` of
    observation, and what it ``says``, with ``{value}`` for the value."""
    sliding: bool = False
    """A hit renews an entry's life."""
    off: str | None = None
    """The switch that turns it off."""
    sure: bool = False
    """What stands beside names the product, whatever the setup itself holds."""
    apart_note: str = ""
    """How it keeps some entries apart by itself, which versions differ in."""
    no_life: str = ""
    """Why a life that is given does not end its entries."""
    lacks: str = ""
    """What of a request it leaves out of the comparison."""
    last_message: Mapping[str, str] = field(default_factory=dict)
    """Patterns of settings with which only the newest message is embedded; a setting that is not
    given is an empty text."""
    approximate: str = ""
    """How its index is approximate unless it is told otherwise."""
    approximate_when: Mapping[str, str] = field(default_factory=dict)
    """Patterns of settings with which it is."""
    no_removal: str = ""
    """Why one wrong entry cannot be taken out."""
    index: Sequence[str] = ()
    """Names of the store that entries are kept in."""
    encoder: Sequence[str] = ()
    """Names of the model that embeds."""


@cache
def all_products() -> tuple[Product, ...]:
    """Return every product, by name."""
    text = Path(__file__).with_name("products.toml").read_text("utf-8")
    return tuple(Product(name=name, **said) for name, said in tomllib.loads(text).items())


def product_named(name: str) -> Product:
    """Return one product."""
    return next(product for product in all_products() if product.name == name)


def product_of_call(dotted: str, given: Mapping[str, object], text: str) -> Product | None:
    """Return the product that a call sets up; ``text`` is the file's."""
    for product in all_products():
        if not any(re.fullmatch(pattern, dotted) for pattern in product.calls):
            continue
        if product.needs and not re.search(product.needs, text):
            continue
        if product.only_with and not any(name in given for name in product.only_with):
            continue
        if fits(product.when, given):
            return product
    return None


def fits(patterns: Mapping[str, str], given: Mapping[str, object]) -> bool:
    """Whether the values of a mapping are those that patterns ask for."""
    return all(
        re.fullmatch(pattern, str(given.get(name, "")), re.IGNORECASE)
        for name, pattern in patterns.items()
    )
