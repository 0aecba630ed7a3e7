"""Provider data: every model finds its provider and its minimum, and no file is without source."""

import re

import pytest

from kvaudit.cost.providers.facts import all_providers, provider_named, provider_of_model


@pytest.mark.parametrize(
    ("model", "provider", "tokens", "certain"),
    [
        ("claude-opus-5", "anthropic", 512, True),
        ("claude-haiku-4-5-20251001", "anthropic", 4096, True),
        ("anthropic/claude-haiku-4.5", "anthropic", 4096, True),
        ("claude-sonnet-4-5", "anthropic", 1024, True),
        ("claude-opus-4-1", "anthropic", 1024, True),
        ("claude-sonnet-4-6", "anthropic", 1024, False),
        ("us.anthropic.claude-opus-4-7-v1:0", "bedrock", 4096, True),
        ("gpt-4o", "openai", 1024, True),
        ("azure/gpt-4.1-mini", "openai", 1024, True),
        ("deepseek-chat", "deepseek", 64, False),
    ],
)
def test_a_model_has_a_minimum(model, provider, tokens, certain):
    found = provider_named(None, model)
    assert found is not None
    assert found.name == provider
    minimum = found.minimum_of(model)
    assert (minimum.tokens, minimum.certain) == (tokens, certain)


@pytest.mark.parametrize("model", ["llama-3.1-8b", "my-gpt-x", "qwen3", ""])
def test_a_model_of_nobody_known_has_no_provider(model):
    assert provider_of_model(model) is None


@pytest.mark.parametrize(
    ("model", "matching", "limit"),
    [("gpt-5.5", "token", None), ("gpt-5.6-mini", "message-end", 4), ("gpt-6", "message-end", 4)],
)
def test_breakpoints_came_with_a_generation(model, matching, limit):
    openai = all_providers()["openai"]
    assert openai.matching_of(model) == matching
    assert openai.marker_limit_of(model) == limit


@pytest.mark.parametrize("provider", all_providers().values(), ids=all_providers().keys())
def test_facts_have_a_source_and_a_date(provider):
    assert re.fullmatch(r"20\d\d-\d\d", provider.read)
    assert provider.source
    assert all(entry.source for entry in (*provider.minimum, *provider.generation))
    re.compile(provider.models)
