"""Fields of two requests of a session that decide whether the cache is found: keys and settings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from kvaudit.analyzers.template.request_log.change import Change
from kvaudit.analyzers.template.request_log.request import Path, Record
from kvaudit.core.document import Evidence
from kvaudit.cost.providers.facts import provider_named

_SETTINGS: tuple[tuple[str, Path], ...] = (
    ("model", ("model",)),
    ("model", ("modelId",)),
    ("tool_choice", ("tool_choice",)),
    ("tool_choice", ("toolConfig", "toolChoice")),
    ("parallel_tool_calls", ("parallel_tool_calls",)),
    ("thinking", ("thinking",)),
    ("thinking", ("enable_thinking",)),
    ("effort", ("reasoning_effort",)),
    ("effort", ("reasoning", "effort")),
    ("effort", ("output_config", "effort")),
    ("response_format", ("response_format",)),
    ("response_format", ("text", "format")),
    ("service_tier", ("service_tier",)),
    ("beta", ("anthropic_beta",)),
    ("web_search", ("web_search_options",)),
)
"""What the provider's data calls a setting, and where bodies have it."""

_LOST = {
    "all": "which loses everything",
    "system": "which loses all behind the tools",
    "messages": "which loses the messages",
}
UNIQUE = re.compile(
    r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|(?=.*\d)[0-9a-fA-F]{16,}|(?=.*\d)\w{20,}"
)


def compare_parameters(earlier: Record, later: Record) -> Iterator[Change]:
    """Yield the settings that changed, with what the provider's data says of it."""
    provider = provider_named(None, later.model or earlier.model)
    for setting, path in _SETTINGS:
        before, after = _at(earlier.body, path), _at(later.body, path)
        if before is None or after is None or _flat(before) == _flat(after):
            continue
        if setting == "tool_choice" and _forces_nothing(before, after):
            continue
        lost = provider.invalidates.get(setting) if provider is not None else None
        known = lost is not None or setting == "model"
        yield Change(
            earlier=earlier,
            later=later,
            path=(*later.path, *path),
            kind="invalidating-parameter-varies",
            detail=f"{path[-1]} was {_flat(before)} and is {_flat(after)}"
            + (f", {_LOST[lost]}" if lost else ""),
            was=_flat(before),
            evidence=Evidence.DATAFLOW if known else Evidence.NAME,
        )
    key, other = earlier.body.get("prompt_cache_key"), later.body.get("prompt_cache_key")
    if key and other and key != other:
        yield Change(
            earlier=earlier,
            later=later,
            path=(*later.path, "prompt_cache_key"),
            kind="bad-routing-key",
            detail="it is another one than in the request before, of the same session",
            was=str(key),
        )


def _forces_nothing(before: Any, after: Any) -> bool:
    """Whether both leave the choice to the model, in two spellings."""
    words = [v.get("type") if isinstance(v, dict) else v for v in (before, after)]
    return words == ["auto", "auto"]


def _at(body: Any, path: Path) -> Any:
    for step in path:
        body = body.get(step) if isinstance(body, dict) else None
    return body


def _flat(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return text if len(text) <= 60 else f"{text[:59]}…"
