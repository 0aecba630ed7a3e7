"""Token counts as providers report them: what is the whole prompt, and what part was cached.

OpenAI, DeepSeek and Gemini report the whole prompt and, as a part of it, what was cached.
Anthropic and Bedrock report three disjoint parts, of which only the rest is called input.
Bedrock writes one number under two names (``cacheReadInputTokens`` and
``cacheReadInputTokenCount``), so alternative names are never added up.
"""

from kvaudit.core.requests import Json
from kvaudit.logs.format import Fields
from kvaudit.logs.values.lookup import child, count, total


def read_usage(usage: Json) -> Fields:
    """Return the token counts of a provider's usage object, of any of the known kinds."""
    if "prompt_tokens" in usage or "prompt_tokens_details" in usage:
        return _whole(usage, count(usage, "prompt_tokens"), child(usage, "prompt_tokens_details"))
    if "promptTokenCount" in usage:
        return _gemini(usage)
    if usage.get("input_tokens_details") is not None:
        return _whole(usage, count(usage, "input_tokens"), child(usage, "input_tokens_details"))
    if "cache_read_input_tokens" in usage or "cache_creation_input_tokens" in usage:
        return _anthropic(usage)
    if "inputTokens" in usage:
        return disjoint(
            rest=count(usage, "inputTokens"),
            read=count(usage, "cacheReadInputTokens", "cacheReadInputTokenCount"),
            written=count(usage, "cacheWriteInputTokens", "cacheWriteInputTokenCount"),
            output=count(usage, "outputTokens"),
        )
    return {
        "prompt_tokens": count(usage, "input_tokens"),
        "output_tokens": count(usage, "output_tokens", "completion_tokens"),
    }


def disjoint(
    *, rest: int | None, read: int | None, written: int | None, output: int | None
) -> Fields:
    """Return the counts of a provider that reports disjoint parts of the prompt.

    What was written without a lifetime is counted as 5 minutes, the default one.
    """
    return {
        "prompt_tokens": total(rest, read, written) if rest is not None else None,
        "output_tokens": output,
        "cached_tokens": read,
        "cache_write_5m_tokens": written,
    }


def _whole(usage: Json, prompt: int | None, details: Json) -> Fields:
    cached = count(details, "cached_tokens", "cache_read_tokens")
    if cached is None:
        # DeepSeek's name, then what LiteLLM adds for Anthropic models.
        cached = count(usage, "prompt_cache_hit_tokens", "cache_read_input_tokens")
    written = count(details, "cache_write_tokens", "cache_creation_tokens")
    if written is None:
        written = count(usage, "cache_creation_input_tokens")
    return {
        "prompt_tokens": prompt,
        "output_tokens": count(usage, "completion_tokens", "output_tokens"),
        "cached_tokens": cached,
        # OpenAI's writes have neither of the two lifetimes; they cost what the short one does.
        "cache_write_5m_tokens": written,
    }


def _anthropic(usage: Json) -> Fields:
    split = child(usage, "cache_creation")
    short, long = (count(split, f"ephemeral_{ttl}_input_tokens") for ttl in ("5m", "1h"))
    written = count(usage, "cache_creation_input_tokens")
    found = disjoint(
        rest=count(usage, "input_tokens"),
        read=count(usage, "cache_read_input_tokens"),
        written=total(short, long) if written is None else written,
        output=count(usage, "output_tokens"),
    )
    if split:
        found |= {"cache_write_5m_tokens": short, "cache_write_1h_tokens": long}
    return found


def _gemini(usage: Json) -> Fields:
    return {
        "prompt_tokens": count(usage, "promptTokenCount"),
        "output_tokens": total(
            count(usage, "candidatesTokenCount"), count(usage, "thoughtsTokenCount")
        ),
        "cached_tokens": count(usage, "cachedContentTokenCount"),
    }
