"""The setup of a semantic cache, judged: limit, life, and what keeps entries apart."""

from __future__ import annotations

from collections.abc import Iterator

from kvaudit.analyzers.semantic.design import design_faults
from kvaudit.analyzers.semantic.given import Given, Setup
from kvaudit.analyzers.semantic.products import fits
from kvaudit.core.document import Observation
from kvaudit.core.scales import SCALES
from kvaudit.core.sources import Span

LOOSE_COSINE = 0.85
"""Below this most encoders take opposite questions for the same."""
_DISTANCES = frozenset(("cosine_dist", "ip_dist", "l2_sq", "l2"))
_HALF = 0.5


def judged(setup: Setup) -> Iterator[Observation]:
    """Yield what is wrong with a setup."""
    product = setup.product
    if product.off and setup.given.get(product.off, Given(setup.place)).value is False:
        return
    if not _is_exact(setup):
        yield from _limit(setup)
    yield from _apart(setup)
    yield from _life(setup)
    yield from design_faults(setup)


def _is_exact(setup: Setup) -> bool:
    """Whether a setup finds equal requests only, so that its limit says nothing."""
    wanted = setup.product.exact_when
    values = {name: given.value or given.name or "?" for name, given in setup.given.items()}
    return bool(wanted) and not setup.is_open and fits(wanted, values)


def _apart(setup: Setup) -> Iterator[Observation]:
    product = setup.product
    if product.own_apart or setup.has(product.apart):
        return
    names = " or ".join(product.apart[:2])
    if product.apart_note:
        text = f"{product.title} has no {names} here; {product.apart_note}"
        yield setup.seen("perhaps-no-namespace", setup.place, text)
    else:
        whose = "tenants" if product.own_model else "tenants and models"
        yield setup.seen(
            "no-namespace",
            setup.place,
            f"{product.title} has no {names} here, so that all {whose} share entries",
        )


def _life(setup: Setup) -> Iterator[Observation]:
    product = setup.product
    given = next((name for name in product.life if name in setup.given), None)
    if product.no_life:
        place = setup.given[given].span if given else setup.place
        yield setup.seen("no-expiry", place, f"{product.title} {product.no_life}")
    elif not product.own_life and not setup.has(product.life):
        yield setup.seen(
            "no-expiry",
            setup.place,
            f"{product.title} has no {product.life[0]} here, and keeps a wrong answer for ever",
        )
    if product.sliding and given is not None and _is_set(setup.given[given]):
        yield setup.seen(
            "sliding-expiry",
            setup.given[given].span,
            f"{product.title} renews it with every hit, so that a popular wrong answer stays",
        )


def _is_set(given: Given) -> bool:
    return given.value != 0


def _limit(setup: Setup) -> Iterator[Observation]:
    product = setup.product
    if not product.scale:
        return
    name = next((name for name in product.threshold if name in setup.given), None)
    if name is None:
        if product.default is not None and not setup.is_open:
            cosine = SCALES[product.scale].to_cosine(product.default)
            if cosine < LOOSE_COSINE:
                yield setup.seen(
                    "loose-limit",
                    setup.place,
                    f"none is given, and {product.title}'s own {product.default:g} means "
                    f"cosine {cosine:.2f}",
                )
        return
    given = setup.given[name]
    if not isinstance(given.value, int | float) or isinstance(given.value, bool):
        return
    yield from limit_faults(setup, name, given.span, float(given.value))


def limit_faults(setup: Setup, name: str, span: Span, value: float) -> Iterator[Observation]:
    """Yield what is wrong with one limit, which is always said as a cosine, too."""
    scale = setup.product.scale
    found = SCALES[scale]
    if not found.lowest <= value <= found.highest:
        # A distance must be small to hit, and a similarity large.
        below = value < found.lowest
        always = below != (scale in _DISTANCES)
        what = "the nearest entry always hits" if always else "nothing hits"
        yield setup.seen(
            "limit-on-wrong-scale",
            span,
            f"{name} {value:g} is {'below' if below else 'above'} all that {found.meaning} can be "
            f"({found.lowest:g} to {found.highest:g}): {what}",
        )
        return
    cosine = found.to_cosine(value)
    means = f"{value:g} here means cosine {cosine:.2f} ({found.meaning})"
    if scale in _DISTANCES and cosine < _HALF - 1e-9:
        yield setup.seen(
            "limit-on-wrong-scale",
            span,
            f"{name} is a distance, and {means}: nearly everything hits; a similarity of {value:g} "
            f"is {found.of_cosine(min(value, 1)):.2f} on this scale",
        )
    elif scale not in _DISTANCES and 0 < value < _HALF:
        yield setup.seen(
            "limit-on-wrong-scale", span, f"{name} is a similarity, and {means}: nearly all hits"
        )
    elif cosine < LOOSE_COSINE - 1e-9:
        yield setup.seen("loose-limit", span, f"{means}, where opposite questions pass")
