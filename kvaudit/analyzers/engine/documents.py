"""From what a file starts to the document that rules look at, and which files are worth it."""

from __future__ import annotations

from collections.abc import Sequence

from kvaudit.analyzers.engine.faults import all_looks
from kvaudit.analyzers.engine.invocation import Deployment
from kvaudit.core.document import Document
from kvaudit.core.sources import Source

_WORDS = (
    "vllm", "sglang", "lmcache", "llama-server", "llama.cpp", "trtllm", "text-generation-",
    "enable_block_reuse", "enableblockreuse", "dynamo", "ollama_", "enable_kv_cache_reuse",
    "anthropic_base_url", "router_settings", "prefix_caching", "prefix-caching", "prefixcaching",
    "radix_cache", "radix-cache", "routinglogic", "routing-logic", "chunk_size", "sgl-model",
    "litellm_settings",
)  # fmt: skip
"""Words of which any file that starts an engine holds one."""


def may_start_engine(source: Source) -> bool:
    """Whether a file holds a word without which it starts no engine."""
    text = source.text.lower()
    return any(word in text for word in _WORDS)


def documents_of(deployment: Deployment, kind: str) -> Sequence[Document]:
    """Return one document with everything that is wrong in a file; none where it starts nothing."""
    if not deployment.invocations and not deployment.variables:
        return []
    observations = [seen for look in all_looks() for seen in look(deployment)]
    if not observations and not deployment.invocations:
        return []
    return [
        Document(
            source=deployment.source,
            kind=kind,
            name=", ".join(sorted({run.program for run in deployment.invocations})) or kind,
            observations=observations,
        )
    ]
