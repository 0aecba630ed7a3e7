"""Configuration of semantic caches: LiteLLM, Portkey, Bifrost, Higress, vLLM's semantic router,
GPTCache, policies of Azure API Management, and policy files of kvaudit. Recognised by what they
hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kvaudit.analyzers.reader import Project, Reader, Sniffed, Unreadable
from kvaudit.analyzers.template.structure.node import Node
from kvaudit.core.document import Document
from kvaudit.core.sources import Source

_YAML = (".yaml", ".yml")
_POLICIES = (".xml", ".bicep", ".tf")
_SUFFIXES = (*_YAML, ".json", ".toml", *_POLICIES)
_HOLDS = re.compile(
    r"[\"']?type[\"']?\s*:\s*[\"']?[\w-]+-semantic\b|^\s*[\"']?semantic_?[cC]ache[\"']?\s*:\s*(\{|$|\n)"
    r"|[\"']?mode[\"']?\s*:\s*[\"']?semantic\b|[\"']?name[\"']?\s*:\s*[\"']?semantic_?[cC]ache\b"
    r"|similarity_threshold|thresholdRelation|cacheTTL|cacheKeyStrategy|enable_local_cache"
    r"|type[\"']?\s*:\s*[\"']?response_cache\b",
    re.MULTILINE,
)

_WORDS = (
    *("semantic", "similarity_threshold", "thresholdRelation", "cacheTTL", "cacheKeyStrategy"),
    *("enable_local_cache", "response_cache"),
)
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
        from kvaudit.analyzers.engine.yaml_text import roots_of

        roots = roots_of(source.text)
        inside = [found for root in roots for found in _embedded(source, root)]
        return file_documents(source, [*roots, *inside], READER.name)
    from kvaudit.analyzers.template.structure.json_scan import scan_json

    return file_documents(source, [scan_json(source.text)], READER.name)


_MOST = 20
"""Blocks of text in one file that are read."""


def _embedded(source: Source, root: Node) -> list[Node]:
    """Return what the blocks of text in YAML hold that are YAML themselves, as in a ConfigMap.

    All around a block is blanked out, so that what is found in it has its place in the file.
    """
    from kvaudit.analyzers.template.structure.yaml_events import scan_yaml

    found: list[Node] = []
    for node in list(_blocks(root))[:_MOST]:
        start = source.text.find("\n", node.span.start, node.span.end)
        if start < 0:
            continue
        inside = source.text[start : node.span.end]
        around = (source.text[:start], source.text[node.span.end :])
        before, after = (re.sub(r"[^\n]", " ", text) for text in around)
        try:
            found += scan_yaml(before + inside + after)
        except Unreadable:
            continue
    return found


def _blocks(root: Node) -> Iterator[Node]:
    stack = [root]
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        text = node.value
        if isinstance(text, str) and "\n" in text and _HOLDS.search(text):
            yield node
        stack += reversed(node.items)


READER = Reader(
    name="semantic-cache",
    title="Settings of semantic caches (LiteLLM, Azure and others), policy files of kvaudit",
    suffixes=_SUFFIXES,
    sniff=_sniff,
    read=_read,
    beside=True,
)
