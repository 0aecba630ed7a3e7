"""Parameters beside the text that part what a provider stores.

The provider's facts say what a change of each loses: everything, the system text and what
follows, or the messages. Two requests that differ in one share nothing of those sections.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kvaudit.core.prompts import RequestFacts, Section
from kvaudit.cost.providers.facts import Provider

_FIRST_LOST = {"all": Section.TOOLS, "system": Section.SYSTEM, "messages": Section.MESSAGES}
NONE = (0, 0, 0)


class Variants:
    """Numbers the settings of each section."""

    def __init__(self, provider: Provider) -> None:
        """Follow the facts of one provider."""
        self._lost = provider.invalidates
        self._numbers: dict[str, int] = {}

    def of(self, facts: RequestFacts) -> tuple[int, int, int]:
        """Return the numbers for tools, system text and messages; zero where nothing is set."""
        settings = _settings(facts.cache_options or {})
        if facts.has_media:
            settings["images"] = True
        kept = {name: value for name, value in settings.items() if name in self._lost}
        if not kept:
            return NONE
        first, second, third = (self._number(kept, section) for section in Section)
        return first, second, third

    def _number(self, settings: Mapping[str, Any], section: Section) -> int:
        held = {n: v for n, v in settings.items() if _FIRST_LOST[self._lost[n]] <= section}
        if not held:
            return 0
        spelled = json.dumps(held, sort_keys=True)
        return self._numbers.setdefault(spelled, len(self._numbers) + 1)


def _settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters by the names that the facts use."""
    found = {
        "tool_choice": options.get("tool_choice", options.get("toolChoice")),
        "thinking": options.get("thinking"),
        "disable_parallel": options.get("parallel_tool_calls"),
        "effort": options.get("reasoning_effort", options.get("effort")),
    }
    for outer in ("output_config", "reasoning"):
        inner = options.get(outer)
        if isinstance(inner, dict) and inner.get("effort") is not None:
            found["effort"] = inner["effort"]
    return {name: value for name, value in found.items() if value is not None}
