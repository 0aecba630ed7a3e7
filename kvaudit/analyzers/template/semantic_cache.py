"""Configuration of semantic caches: LiteLLM, Portkey, Bifrost, Higress, vLLM's semantic router,
GPTCache, policies of Azure API Management, and policy files of kvaudit. Recognised by what they
hold."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvaudit.analyzers.reader import Project, Reader, Sniffed
from kvaudit.core.document import Document
from kvaudit.core.sources import Source

_YAML = (".yaml", ".yml")
_POLICIES = (".xml", ".bicep", ".tf")
_SUFFIXES = (*_YAML, ".json", ".toml", *_POLICIES)
_HOLDS = re.compile(
    r"[\"']?type[\"']?\s*:\s*[\"']?[\w-]+-semantic\b|^\s*[\"']?semantic_?[cC]ache[\"']?\s*:\s*(\{|$|\n)"
    r"|[\"']?mode[\"']?\s*:\s*[\"']?semantic\b|[\"']?name[\"']?\s*:\s*[\"']?semantic_?[cC]ache\b"
    r"|similarity_threshold|thresholdRelation|cacheTTL|cacheKeyStrategy",
    re.MULTILINE,
)

_WORDS = ("semantic", "similarity_threshold", "thresholdRelation", "cacheTTL", "cacheKeyStrategy")
"""One of these stands in all that `_HOLDS` finds; looking for words takes next to no time."""


def _sniff(source: Source) -> Sniffed:
    path = source.path.lower()
    if not path.endswith(_SUFFIXES):
        return Sniffed.NO
    if path.endswith(_POLICIES):
        from kvaudit.analyzers.semantic.azure import MARK

        return Sniffed.CONTENT if MARK in source.text else Sniffed.NO
    if path.endswith(".toml"):
        if "threshold" not in source.text:
            return Sniffed.NO
        from kvaudit.analyzers.semantic.policies import is_policy

        return Sniffed.CERTAIN if is_policy(source.text) else Sniffed.NO
    if not any(word in source.text for word in _WORDS) or not _HOLDS.search(source.text):
        return Sniffed.NO
    return Sniffed.CONTENT


def _read(source: Source, project: Project) -> Sequence[Document]:
    path = source.path.lower()
    if path.endswith(".toml"):
        from kvaudit.analyzers.semantic.policies import policy_documents

        return policy_documents(source, READER.name)
    if path.endswith(_POLICIES):
        from kvaudit.analyzers.semantic import azure

        return azure.policy_documents(source, READER.name)
    from kvaudit.analyzers.semantic.files import file_documents

    if path.endswith(_YAML):
        from kvaudit.analyzers.template.structure.yaml_events import scan_yaml

        return file_documents(source, scan_yaml(source.text), READER.name)
    from kvaudit.analyzers.template.structure.json_scan import scan_json

    return file_documents(source, [scan_json(source.text)], READER.name)


READER = Reader(
    name="semantic-cache",
    title="Settings of semantic caches (LiteLLM, Portkey and others), policy files of kvaudit",
    suffixes=_SUFFIXES,
    sniff=_sniff,
    read=_read,
    beside=True,
)
