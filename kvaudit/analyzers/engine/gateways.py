"""LiteLLM's proxy as a router: how it chooses among deployments of one model that are one's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from kvaudit.analyzers.engine.containers import written
from kvaudit.analyzers.engine.flags import kebab
from kvaudit.analyzers.engine.invocation import Invocation, Setting
from kvaudit.analyzers.template.structure.node import Kind, Node
from kvaudit.core.sources import Span

_AFFINE = ("prompt_caching", "affinity", "responses_api_deployment_check")
"""Checks before a call that send a conversation back to where it was."""
_OWN = ("hosted_vllm/", "vllm/", "openai/", "lm_studio/", "llamafile/", "text-completion-openai/")
"""Providers that are an engine of one's own where an address stands beside them."""


def gateway_runs(text: str, node: Node) -> Iterator[Invocation]:
    """Yield LiteLLM's router where a map is its configuration."""
    models, router = node.get("model_list"), node.get("router_settings")
    if models is None or router is None or router.kind is not Kind.MAP:
        return
    strategy = router.get("routing_strategy")
    checks = router.get("optional_pre_call_checks")
    named = "" if checks is None else text[slice(*checks.span)]
    count = _own_deployments(models)
    if strategy is None or any(word in named for word in _AFFINE) or count < 1:
        return
    entry = router.entry("routing_strategy") or strategy.span
    chosen = Setting(
        name=kebab("routing_strategy"),
        value=written(text, strategy),
        span=entry,
        written="routing_strategy",
    )
    backends = replace(chosen, name="own-backends", value=" ".join(map(str, range(count))))
    yield Invocation(program="litellm", span=Span(*router.span), settings=[chosen, backends])


def _own_deployments(models: Node) -> int:
    """Return the most deployments of one model that have an address and an own engine behind it."""
    counts: Counter[str] = Counter()
    for item in models.items if models.kind is Kind.LIST else ():
        given = item.get("litellm_params") if item.kind is Kind.MAP else None
        if given is None or given.kind is not Kind.MAP:
            continue
        model, address = given.word("model") or "", given.word("api_base") or ""
        if address and model.startswith(_OWN) and ".openai.com" not in address:
            counts[item.word("model_name") or model] += 1
    return max(counts.values(), default=0)
