"""Values of a chart whose silence means the opposite of the engine's default."""

from __future__ import annotations

from collections.abc import Iterator

from kvaudit.analyzers.engine.faults import seen
from kvaudit.analyzers.engine.invocation import Deployment
from kvaudit.analyzers.engine.models import is_hybrid, is_pooling
from kvaudit.analyzers.engine.stores import owns_prefix
from kvaudit.analyzers.engine.values import PRODUCTION_STACK
from kvaudit.core.document import Observation


def look(deployment: Deployment) -> Iterator[Observation]:
    """Yield entries of the production stack that say nothing of prefix caching.

    Its template (``deployment-vllm-multi.yaml`` of chart 0.1.12, and since May 2025) passes
    ``--no-enable-prefix-caching`` wherever ``vllmConfig`` holds something else; an empty one is
    skipped whole.
    """
    for run in deployment.running("vllm"):
        if run.chart != PRODUCTION_STACK or run.get("enable-prefix-caching") is not None:
            continue
        own = [setting for setting in run.settings if setting.written[:1].islower()]
        configured = [setting for setting in own if setting.written != "lmcacheConfig"]
        if configured and not (owns_prefix(run) or is_hybrid(run.model) or is_pooling(run.model)):
            detail = "vllmConfig leaves enablePrefixCaching out"
            yield seen(deployment, "chart-default-off", run.span, detail)
