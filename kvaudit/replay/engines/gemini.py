"""Gemini: implicit caching. Explicit cache objects are not in a log of requests."""

from __future__ import annotations

from kvaudit.replay.hosted import hosted_engine

ENGINE = hosted_engine(
    "gemini",
    "Gemini's implicit cache",
    "exact prefix from the model's minimum on",
)
