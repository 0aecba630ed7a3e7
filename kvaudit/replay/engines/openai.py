"""OpenAI: steps of 128 tokens from 1,024 on; since GPT-5.6 breakpoints at the ends of messages."""

from __future__ import annotations

from kvaudit.replay.hosted import hosted_engine

ENGINE = hosted_engine(
    "openai",
    "OpenAI's prompt cache, before and since GPT-5.6",
    "exact prefix in steps of 128 tokens from the minimum on; since GPT-5.6 up to "
    "an end of a message that was written",
)
