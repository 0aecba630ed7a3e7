"""YAML that starts engines: Kubernetes, Helm values and templates, compose, engines' own files."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvaudit.analyzers.engine.documents import documents_of, may_start_engine
from kvaudit.analyzers.reader import Project, Reader, Sniffed
from kvaudit.core.document import Document
from kvaudit.core.sources import Source

_MARKS = re.compile(
    r"\bvllm[\"',\s-]{1,40}serve\b|vllm\.entrypoints|vllm-openai|dynamo\.(?:vllm|sglang|trtllm|frontend)"
    r"|sglang\.launch_|sglang serve|sglang_router|llama-server|llama\.cpp:|trtllm-serve|vllm-router"
    r"|text-generation-(?:launcher|inference)|vllmConfig|routingLogic|enable_?block_?reuse"
    r"|(?:enable[-_]?prefix[-_]?caching|disable[-_]?radix[-_]?cache)[\"']?[ \t]*:|LMCACHE_"
    r"|OLLAMA_KEEP|ANTHROPIC_BASE_URL"
    r"|^[ \t]*(?:pre_caching_hash_algorithm|max_local_cpu_size|local_cpu"
    r"|save_decode_cache|remote_serde)[ \t]*:|^[ \t]*router_settings[ \t]*:",
    re.IGNORECASE | re.MULTILINE,
)
"""What only a file that starts or sets up an engine holds."""


def _sniff(source: Source) -> Sniffed:
    if not source.path.lower().endswith(tuple(READER.suffixes)) or not may_start_engine(source):
        return Sniffed.NO
    return Sniffed.CONTENT if _MARKS.search(source.text) else Sniffed.NO


def _read(source: Source, project: Project) -> Sequence[Document]:
    from kvaudit.analyzers.engine.yaml_files import read_yaml

    return documents_of(read_yaml(source), READER.name)


READER = Reader(
    name="deployment",
    title="Engines in Kubernetes, Helm, compose, LMCache, LiteLLM and other YAML",
    suffixes=(".yaml", ".yml"),
    sniff=_sniff,
    read=_read,
)
