"""YAML that starts engines: Kubernetes, Helm values and templates, compose, engines' own files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from kvaudit.analyzers.engine.documents import documents_of
from kvaudit.analyzers.reader import Project, Reader, Sniffed
from kvaudit.core.document import Document
from kvaudit.core.sources import Source

_MARKS = (
    "vllm.entrypoints", "vllm-openai", "dynamo.vllm", "dynamo.sglang", "dynamo.trtllm",
    "dynamo.frontend", "sglang.launch_", "sglang serve", "sglang_router", "llama-server",
    "llama.cpp:", "trtllm-serve", "vllm-router", "vllm_router", "text-generation-launcher",
    "text-generation-inference", "vllmconfig", "routinglogic", "enable_block_reuse",
    "enableblockreuse", "enable_prefix_caching", "enable-prefix-caching", "enableprefixcaching",
    "disable_radix_cache", "disable-radix-cache", "disableradixcache", "lmcache_", "lmcache.yaml",
    "ollama_keep", "anthropic_base_url", "pre_caching_hash", "max_local_cpu_size", "local_cpu:",
    "save_decode_cache", "remote_serde", "router_settings:", "litellm_settings:",
)  # fmt: skip
"""What only a file that starts or sets up an engine holds, in lower case."""
_SERVED = re.compile(r"\bvllm[\"',\s-]{1,40}serve\b")
_DOCUMENT = re.compile(r"^---[^\n]*$", re.MULTILINE)


def has_marks(text: str) -> bool:
    """Whether a text starts or sets up an engine."""
    lower = text.lower()
    if any(mark in lower for mark in _MARKS):
        return True
    return "vllm" in lower and _SERVED.search(lower) is not None


def only_marked(text: str) -> str:
    """Blank out the documents of a file that start nothing: bundles hold megabytes of them."""
    starts = [0, *(found.start() for found in _DOCUMENT.finditer(text)), len(text)]
    parts = [text[start:end] for start, end in pairwise(starts)]
    return "".join(
        part if has_marks(part) else re.sub(r"[^\n]", " ", part) for part in parts if part
    )


def _sniff(source: Source) -> Sniffed:
    if not source.path.lower().endswith(tuple(READER.suffixes)):
        return Sniffed.NO
    return Sniffed.CONTENT if has_marks(source.text) else Sniffed.NO


def _read(source: Source, project: Project) -> Sequence[Document]:
    from kvaudit.analyzers.engine.yaml_files import read_yaml

    return documents_of(read_yaml(source, only_marked(source.text)), READER.name)


READER = Reader(
    name="deployment",
    title="Engines in Kubernetes, Helm, compose, LMCache, LiteLLM and other YAML",
    suffixes=(".yaml", ".yml"),
    sniff=_sniff,
    read=_read,
)
