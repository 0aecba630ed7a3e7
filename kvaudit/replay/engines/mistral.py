"""Mistral: prefixes by `prompt_cache_key`; the provider states no sizes."""

from __future__ import annotations

from kvaudit.replay.hosted import hosted_engine

ENGINE = hosted_engine(
    "mistral",
    "Mistral's prompt cache",
    "exact prefix among requests with one prompt_cache_key",
)
