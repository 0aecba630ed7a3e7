"""Flags that the version at hand does not know, or no longer heeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kvaudit.analyzers.engine.faults import seen
from kvaudit.analyzers.engine.invocation import Deployment, Invocation
from kvaudit.analyzers.engine.programs import all_programs
from kvaudit.core.document import Observation


def look(deployment: Deployment) -> Iterator[Observation]:
    """Yield flags against what is known of them in the version that an image or a pin names."""
    for run in deployment.invocations:
        facts = all_programs()[run.program].facts
        for fact in facts.get("flag", ()):
            given = run.get(fact["name"])
            if given is None or ("value" in fact and given.value != fact["value"]):
                continue
            said = _said(run, fact)
            if said is not None:
                detail = f"{given.written} and {facts['title']} {run.version}: {said}"
                yield seen(deployment, "flag-not-in-version", given.span, detail)


def _said(run: Invocation, fact: Mapping[str, Any]) -> str | None:
    what = f"{fact['value']} " if "value" in fact else ""
    if "since" in fact and run.before(fact["since"]):
        return f"{what}came with {fact['since']}"
    if "removed" in fact and run.before(fact["removed"]) is False:
        return f"{what}was removed in {fact['removed']}"
    if "without_effect_since" in fact and run.before(fact["without_effect_since"]) is False:
        return f"without effect since {fact['without_effect_since']}, as {fact['why']}"
    return None
