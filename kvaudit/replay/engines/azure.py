"""Azure OpenAI: OpenAI's rules; machines and rates are not documented."""

from __future__ import annotations

from kvaudit.replay.hosted import hosted_engine

ENGINE = hosted_engine(
    "azure",
    "Azure OpenAI's prompt cache",
    "exact prefix in steps of 128 tokens from the minimum on; since GPT-5.6 up to "
    "an end of a message that was written",
)
