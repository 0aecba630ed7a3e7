"""DeepSeek: on disk, for hours to days; steps of 64 tokens, since V4 whole units."""

from __future__ import annotations

from kvaudit.replay.hosted import hosted_engine

ENGINE = hosted_engine(
    "deepseek",
    "DeepSeek's cache on disk",
    "exact prefix in steps of 64 tokens; since V4 in whole units",
)
