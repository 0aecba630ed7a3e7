"""What of a Helm template holds only under a condition."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from kvaudit.analyzers.engine.invocation import Invocation, Setting
from kvaudit.core.sources import Span

_ACTION = re.compile(r"\{\{-?\s{0,20}(if|with|range|define|block|end|toYaml|include)\b")


def conditions(text: str) -> list[Span]:
    """Return the parts of a template between ``if``, ``with`` or ``range`` and its ``end``."""
    found: list[Span] = []
    opened: list[int] = []
    for action in _ACTION.finditer(text):
        if action[1] == "end":
            if opened:
                found.append(Span(opened.pop(), action.end()))
        elif action[1] not in ("toYaml", "include"):
            opened.append(action.start())
    return found


def unconditional(runs: Sequence[Invocation], parts: Sequence[Span]) -> list[Invocation]:
    """Return invocations without what stands under a condition that they themselves do not."""
    kept = []
    for run in runs:
        around = [part for part in parts if not part.start <= run.span.start < part.end]

        def sure(setting: Setting, around: Sequence[Span] = around) -> bool:
            return not any(part.start <= setting.span.start < part.end for part in around)

        kept.append(
            replace(
                run,
                settings=[setting for setting in run.settings if sure(setting)],
                environment=[setting for setting in run.environment if sure(setting)],
                open_environment=True,
            )
        )
    return kept
