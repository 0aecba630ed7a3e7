"""Token counts of the providers: the whole prompt, and what part of it was cached."""

import pytest

from kvaudit.logs.api.usage import read_usage

OPENAI = {
    "prompt_tokens": 1300,
    "completion_tokens": 2,
    "prompt_tokens_details": {"cached_tokens": 1152, "cache_write_tokens": 64},
}
RESPONSES = {
    "input_tokens": 1300,
    "input_tokens_details": {"cached_tokens": 1152, "cache_write_tokens": 64},
    "output_tokens": 2,
}
ANTHROPIC = {
    "input_tokens": 84,
    "cache_read_input_tokens": 1152,
    "cache_creation_input_tokens": 64,
    "output_tokens": 2,
}
CONVERSE = {
    "inputTokens": 84,
    "cacheReadInputTokens": 1152,
    "cacheReadInputTokenCount": 1152,
    "cacheWriteInputTokens": 64,
    "cacheWriteInputTokenCount": 64,
    "outputTokens": 2,
}


@pytest.mark.parametrize("usage", [OPENAI, RESPONSES, ANTHROPIC, CONVERSE])
def test_every_provider_means_the_same_request(usage):
    assert read_usage(usage) == {
        "prompt_tokens": 1300,
        "output_tokens": 2,
        "cached_tokens": 1152,
        "cache_write_5m_tokens": 64,
    }


def test_lifetimes_are_kept_apart_where_anthropic_splits_them():
    split = {"ephemeral_5m_input_tokens": 14, "ephemeral_1h_input_tokens": 50}
    found = read_usage(ANTHROPIC | {"cache_creation": split})
    assert (found["cache_write_5m_tokens"], found["cache_write_1h_tokens"]) == (14, 50)
    assert found["prompt_tokens"] == 1300


def test_deepseek_and_gemini_count_the_cached_part_inside():
    deepseek = {
        "prompt_tokens": 1300,
        "prompt_cache_hit_tokens": 1280,
        "prompt_cache_miss_tokens": 20,
    }
    assert (read_usage(deepseek)["prompt_tokens"], read_usage(deepseek)["cached_tokens"]) == (
        1300,
        1280,
    )
    gemini = {
        "promptTokenCount": 1300,
        "cachedContentTokenCount": 1280,
        "candidatesTokenCount": 2,
        "thoughtsTokenCount": 5,
    }
    assert read_usage(gemini) == {
        "prompt_tokens": 1300,
        "output_tokens": 7,
        "cached_tokens": 1280,
    }


def test_counts_that_are_none_are_unknown_not_zero():
    found = read_usage({"prompt_tokens": None, "completion_tokens": -1})
    assert set(found.values()) == {None}


def test_details_without_a_total():
    # LiteLLM's metadata may have only these; the total stands in a column of its own.
    found = read_usage({"prompt_tokens_details": {"cached_tokens": 1152}})
    assert (found["prompt_tokens"], found["cached_tokens"]) == (None, 1152)
