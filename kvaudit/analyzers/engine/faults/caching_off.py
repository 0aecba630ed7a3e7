"""Prefix caching that is turned off, or that a version leaves off unless it is turned on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from kvaudit.analyzers.engine.faults import seen
from kvaudit.analyzers.engine.invocation import Deployment, Invocation, Setting
from kvaudit.analyzers.engine.models import (
    encodes_only,
    hands_on_states,
    is_hybrid,
    is_pooling,
    pools,
)
from kvaudit.analyzers.engine.programs import all_programs
from kvaudit.analyzers.engine.stores import connector, keeps_prefix, owns_prefix
from kvaudit.core.document import Observation

_STUDY = re.compile(
    r"bench|perf(?![a-z])|ablat|profil|accuracy|eval|sweep|regress|(?:^|/)(?:e2e|tests?)/",
    re.IGNORECASE,
)
"""Folders and files that compare, where a cache is off on purpose."""
_REASON = re.compile(
    r"bench|measur|ablat|accept|hybrid|mamba|support|bug|issue|workaround|crash|determin|reproduc"
    r"|isolat|security|side.?channel|compar|profil|incompatib|because|since|until|fail|broken|error|wrong"
    r"|#\d+|https?://",
    re.IGNORECASE,
)
"""Words of a comment that gives a reason, and does not only say what the flag does."""


def look(deployment: Deployment) -> Iterator[Observation]:
    """Yield where caching is off."""
    if _STUDY.search("/".join(PurePosixPath(deployment.source.path).parts[-3:])):
        return
    for run in deployment.invocations:
        if _has_no_prefix(run):
            continue
        facts = all_programs()[run.program].facts
        found = _turned_off(run, facts)
        if found is not None:
            if not _REASON.search(deployment.comment_near(found.span)):
                kind = (
                    "engine-caching-off-beside"
                    if _decodes(run) or keeps_prefix(run)
                    else "engine-caching-off"
                )
                yield seen(deployment, kind, found.span, _said(found))
        elif (why := _left_off(run, facts)) is not None:
            yield seen(deployment, "engine-caching-not-on", run.span, why)


def _has_no_prefix(run: Invocation) -> bool:
    by_role = pools(run) or encodes_only(run) or hands_on_states(run) or owns_prefix(run)
    return by_role or is_hybrid(run.model) or is_pooling(run.model)


def _turned_off(run: Invocation, facts: Mapping[str, Any]) -> Setting | None:
    for fact in facts.get("off", ()):
        given = run.get(fact["flag"]) if "flag" in fact else run.variable(fact["variable"])
        if given is not None and given.known and given.on is fact["on"]:
            return given
    return None


def _left_off(run: Invocation, facts: Mapping[str, Any]) -> str | None:
    for fact in facts.get("off_unless", ()):
        if run.get(fact["flag"]) is None and run.chart is None and connector(run) is None:
            title = facts["title"]
            if run.before(fact["before"]):
                return f"{title} is {run.version}, and {fact['why']}"
            old = run.variable("VLLM_USE_V1")
            if run.program == "vllm" and old is not None and old.value == "0":
                return f"VLLM_USE_V1=0 chooses {title}'s old engine, where it is off by default"
    return None


def _decodes(run: Invocation) -> bool:
    """Whether the engine only decodes what another computed, so that it computes no prefix."""
    mode = run.get("disaggregation-mode")
    if mode is not None:
        return mode.value == "decode"
    role = run.get("kv-transfer-config")
    return run.get("is-decode-worker") is not None or (
        role is not None and "kv_consumer" in (role.value or "")
    )


def _said(given: Setting) -> str:
    return given.written if given.value is None else f"{given.written} is {given.value}"
