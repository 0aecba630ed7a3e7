"""Whose API a call speaks to, and which model it names."""

from __future__ import annotations

import re

from kvaudit.analyzers.source.python.drafts import Draft
from kvaudit.analyzers.source.python.engine import Engine

_BY_MODEL = (
    ("anthropic", re.compile(r"claude")),
    ("openai", re.compile(r"(^|/)(gpt-|o\d|chatgpt)")),
    ("gemini", re.compile(r"gemini")),
    ("deepseek", re.compile(r"deepseek")),
)
_BY_IMPORT = ("anthropic", "openai", "litellm", "google", "boto3", "mistralai", "ollama", "groq")


def model_of(draft: Draft) -> str | None:
    """Return the model that a call names, where it is a literal."""
    if draft.call is None:
        return None
    value = draft.call.named.get("model") or draft.call.named.get("modelId")
    return value.text if value is not None else None


def provider_of(engine: Engine, draft: Draft) -> str | None:
    """Return the provider by the model's name, else by the only SDK that is imported.

    None for a text that another piece of code sends: what is marked there is not seen here.
    """
    if draft.call is None and not any(entry.marked for entry in draft.entries):
        return None
    model = model_of(draft) or ""
    for provider, names in _BY_MODEL:
        if names.search(model):
            return provider
    roots = {origin.split(".")[0] for origin, _ in engine.module.imports.values()}
    known = [name for name in _BY_IMPORT if name in roots]
    return (
        {"google": "gemini", "boto3": "bedrock"}.get(known[0], known[0])
        if len(known) == 1
        else None
    )
