"""A coding client that changes its system text on every call, pointed at an own engine."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvaudit.analyzers.engine.faults import seen
from kvaudit.analyzers.engine.invocation import Deployment
from kvaudit.core.document import Observation

OWN_ADDRESS = re.compile(
    r"https?://(?:localhost|127\.|0\.0\.0\.0|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\."
    r"|host\.docker\.internal|[\w-]+(?:\.[\w-]+)*\.(?:svc|local|internal|lan)\b|[\w-]+(?::\d+|/|$))"
)
"""An address that is no vendor's."""


def look(deployment: Deployment) -> Iterator[Observation]:
    """Yield base addresses of an own engine without the switch that leaves the header out."""
    if any(v.name == "CLAUDE_CODE_ATTRIBUTION_HEADER" for v in deployment.variables):
        return
    for variable in deployment.variables:
        if variable.name == "ANTHROPIC_BASE_URL" and OWN_ADDRESS.match(variable.value or ""):
            detail = f"{variable.written} is {variable.value}"
            yield seen(deployment, "client-header", variable.span, detail)
