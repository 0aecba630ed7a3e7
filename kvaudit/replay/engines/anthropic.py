"""Anthropic: what stands before a breakpoint, for five minutes or an hour."""

from __future__ import annotations

from kvaudit.replay.hosted import hosted_engine

ENGINE = hosted_engine(
    "anthropic",
    "Anthropic's prompt cache: breakpoints, two lifetimes",
    "exact prefix up to a breakpoint's entry within 20 positions, from the model's minimum on",
)
