"""Amazon Bedrock: Anthropic's rules for Claude; Nova reads a checkpoint where it was written."""

from __future__ import annotations

from kvaudit.replay.hosted import hosted_engine

ENGINE = hosted_engine(
    "bedrock",
    "Amazon Bedrock's prompt cache: Claude and Nova",
    "exact prefix up to a checkpoint's entry, from the model's minimum on",
)
