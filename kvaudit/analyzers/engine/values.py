"""Maps of a configuration that are settings of an engine themselves: Helm values, engine files."""

from __future__ import annotations

import json
from collections.abc import Iterator

from kvaudit.analyzers.engine.containers import Around, environment_of, image_of, written
from kvaudit.analyzers.engine.flags import kebab, settings
from kvaudit.analyzers.engine.gateways import gateway_runs
from kvaudit.analyzers.engine.invocation import Invocation, Setting
from kvaudit.analyzers.engine.programs import all_programs, version_of_image
from kvaudit.analyzers.engine.response_caches import response_cache_runs
from kvaudit.analyzers.engine.words import Word
from kvaudit.analyzers.template.structure.node import Kind, Node
from kvaudit.core.sources import Span

PRODUCTION_STACK = "production-stack"
LMCACHE_KEYS = frozenset({
    "chunk-size", "local-cpu", "max-local-cpu-size", "local-disk", "max-local-disk-size",
    "remote-url", "remote-serde", "pre-caching-hash-algorithm", "save-decode-cache",
    "save-unfull-chunk", "enable-p2p", "enable-pd", "enable-nixl", "local-device",
    "remote-storage-plugins", "enable-blending", "cache-policy", "min-retrieve-tokens",
})  # fmt: skip
_LEAST_KEYS = 2
_OF_FILES = {
    "enable-prefix-caching": "vllm",
    "no-enable-prefix-caching": "vllm",
    "disable-radix-cache": "sglang",
    "enable-block-reuse": "trtllm",
}
"""Keys that no other program than this has."""


def runs_of_values(text: str, node: Node, around: Around, path: str) -> Iterator[Invocation]:
    """Yield the invocations that a map stands for by itself."""
    config = node.get("vllmConfig")
    if _on(node.get("raySpec"), "enabled"):
        return  # the chart's template for Ray passes no negative flag
    if config is not None and node.get("modelURL", "repository") is not None:
        yield _model_spec(text, node, config, around)
        return
    yield from gateway_runs(text, node)
    yield from response_cache_runs(node)
    logic = node.get("routingLogic")
    if logic is not None and logic.text is not None:
        yield Invocation(
            program="vllm-router",
            span=node.span,
            settings=scalars(text, node),
            chart=PRODUCTION_STACK,
        )
    names = {kebab(str(key.value)) for key in node.keys}
    stores = len(names & LMCACHE_KEYS)
    if stores >= _LEAST_KEYS or (stores and "lmcache" in path.lower()):
        yield Invocation(program="lmcache", span=node.span, settings=scalars(text, node))
        return
    for name, program in _OF_FILES.items():
        if name in names:
            yield Invocation(
                program=program,
                span=node.span,
                settings=scalars(text, node),
                model=node.word("model", "model_name", "modelName"),
                settings_only=True,
                replicas=around.replicas,
                group=around.group,
            )
            return


def scalars(text: str, node: Node) -> list[Setting]:
    """Return the keys of a map with a single value as settings."""
    return [
        Setting(
            name=kebab(str(key.value)).removeprefix("no-"),
            value=written(text, value),
            span=Span(key.span.start, max(key.span.end, value.span.end)),
            written=str(key.value),
            negated=kebab(str(key.value)).startswith("no-"),
        )
        for key, value in zip(node.keys, node.items, strict=True)
        if value.kind in (Kind.TEXT, Kind.FLAG, Kind.NUMBER)
    ]


def _model_spec(text: str, node: Node, config: Node, around: Around) -> Invocation:
    """Return what one entry of the production stack's ``modelSpec`` starts."""
    given = scalars(text, config)
    extra = config.get("extraArgs")
    words = [
        Word(written(text, item), item.span)
        for item in (extra.items if extra is not None and extra.kind is Kind.LIST else ())
    ]
    given += settings(words, all_programs()["vllm"].switches)
    offload = node.get("lmcacheConfig")
    if offload is not None and _on(offload, "enabled"):
        given.append(
            Setting(
                name="kv-transfer-config",
                value=json.dumps({"kv_connector": "LMCacheConnectorV1"}),
                span=offload.span,
                written="lmcacheConfig",
            )
        )
    enabled = node.get("enableLoRA")
    if enabled is not None and enabled.value is True:
        given.append(
            Setting(name="enable-lora", value=None, span=enabled.span, written="enableLoRA")
        )
    count = node.get("replicaCount")
    return Invocation(
        program="vllm",
        span=_key_span(node, "vllmConfig"),
        settings=given,
        # The chart itself sets more, PYTHONHASHSEED among it.
        environment=environment_of(text, node),
        open_environment=True,
        version=version_of_image("vllm", image_of(node)),
        model=node.word("modelURL"),
        replicas=int(count.value) if count is not None and count.kind is Kind.NUMBER else None,
        group=node.word("name") or around.group,
        chart=PRODUCTION_STACK,
    )


def _key_span(node: Node, name: str) -> Span:
    return next((key.span for key in node.keys if key.value == name), node.span)


def _on(node: Node | None, name: str) -> bool:
    value = None if node is None else node.get(name)
    return value is not None and value.value is True
