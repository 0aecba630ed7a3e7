"""Prices: every entry is dated and sourced, names are found as logs spell them, sums are exact."""

import re
from pathlib import Path

import pytest

from kvaudit.core.money import TokenClasses
from kvaudit.cost import pricing
from kvaudit.cost.pricing import plain_name, price_list
from kvaudit.cost.providers.facts import all_providers

FILES = sorted((Path(pricing.__file__).parent / "prices").glob("*.toml"))
ENTRIES = [
    pytest.param(price, id=f"{path.stem}-{price.models[0]}")
    for path in FILES
    for price in dict.fromkeys(price_list(path.stem)._by_model.values())
]


def test_every_provider_has_prices():
    assert {path.stem for path in FILES} == {*all_providers()} - {"azure"}


@pytest.mark.parametrize("price", ENTRIES)
def test_an_entry_has_a_page_and_a_date_and_makes_sense(price):
    assert price.source.startswith("https://")
    assert re.fullmatch(r"20\d\d-\d\d", price.read)
    assert price.cached_read is None or 0 < price.cached_read < price.input
    assert price.input <= price.output
    if price.cache_write_5m is not None:
        assert price.cache_write_5m == pytest.approx(1.25 * price.input, rel=0.05)
    if price.cache_write_1h is not None:
        assert price.cache_write_1h / price.input == pytest.approx(2, rel=0.26)
        assert price.cache_write_1h > price.cache_write_5m
    if price.long is not None:
        assert price.long.input > price.input


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("openai/gpt-5.4-mini", "gpt-5.4-mini"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("anthropic/claude-haiku-4.5", "claude-haiku-4-5"),
        ("claude-opus-4-5@20251101", "claude-opus-4-5"),
        ("models/gemini-2.5-flash-preview-05-20", "gemini-2.5-flash"),
        ("mistral-large-latest", "mistral-large"),
        ("amazon.nova-pro-v1:0", "nova-pro"),
        ("deepseek-v4-flash", "deepseek-v4-flash"),
    ],
)
def test_a_model_is_found_under_the_names_that_logs_have(spelled, name):
    assert plain_name(spelled) == name


def test_every_class_has_its_price():
    """The table of platform.claude.com, 2026-10: Opus 4.8."""
    found = price_list("anthropic").of("claude-opus-4-8")
    million = 1_000_000
    for place, usd in enumerate((5.0, 0.5, 6.25, 10.0, 25.0)):
        tokens = TokenClasses(*(million if n == place else 0 for n in range(5)))
        assert found.price.usd(tokens) == pytest.approx(usd)


def test_a_write_without_a_price_costs_what_input_costs():
    price = price_list("openai").of("gpt-4.1").price
    assert price.usd(TokenClasses(cache_write_5m=1_000_000)) == pytest.approx(price.input)


def test_azure_bills_by_openais_list():
    assert price_list("azure").of("gpt-4o").price == price_list("openai").of("gpt-4o").price


def test_an_unknown_model_gets_the_nearest_name():
    price, hint = price_list("openai").of("gpt-4p")
    assert price is None
    assert "gpt-4o" in hint
    assert price_list("nobody").of("gpt-4o").price is None
