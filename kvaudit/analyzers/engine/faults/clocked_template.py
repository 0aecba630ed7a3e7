"""Models whose own chat template prints the day, served without another."""

from __future__ import annotations

from collections.abc import Iterator

from kvaudit.analyzers.engine.faults import seen
from kvaudit.analyzers.engine.invocation import Deployment
from kvaudit.analyzers.engine.models import is_clocked
from kvaudit.core.document import Evidence, Observation


def look(deployment: Deployment) -> Iterator[Observation]:
    """Yield engines that serve such a model as it comes."""
    for run in deployment.running("vllm", "sglang"):
        if not is_clocked(run.model) or run.variable("VLLM_SYSTEM_START_DATE") is not None:
            continue
        if run.get("chat-template", "default-chat-template-kwargs") is None:
            detail = f"{run.model}'s chat template prints today's date"
            yield seen(
                deployment, "clocked-chat-template", run.span, detail, evidence=Evidence.DATAFLOW
            )
