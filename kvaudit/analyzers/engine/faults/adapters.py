"""Adapters whose KV an external store cannot tell apart."""

from __future__ import annotations

from collections.abc import Iterator

from kvaudit.analyzers.engine.faults import seen
from kvaudit.analyzers.engine.invocation import Deployment
from kvaudit.analyzers.engine.models import pools
from kvaudit.analyzers.engine.stores import uses_lmcache
from kvaudit.core.document import Observation


def look(deployment: Deployment) -> Iterator[Observation]:
    """Yield engines with LoRA and in-process LMCache, whose keys name no adapter.

    LMCache #2961 and vLLM #44250; read in LMCache 0.5.6. Its multi-process mode is not meant.
    """
    for run in deployment.running("vllm", "sglang"):
        lora = run.get("enable-lora")
        if lora is not None and lora.on is True and uses_lmcache(run) and not pools(run):
            detail = f"{lora.written} beside LMCache, whose keys do not name the adapter"
            yield seen(deployment, "lora-with-external-kv", lora.span, detail)
