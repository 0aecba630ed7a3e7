"""Policy files of kvaudit (docs/semantic.md), judged before they are replayed.

Read line by line: the format is flat, and what is asked is where a key stands and its value.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from kvaudit.analyzers.reader import Unreadable
from kvaudit.core.document import Document, Observation
from kvaudit.core.scales import SCALES
from kvaudit.core.sources import Source, Span

_TENANT = ("tenant", "user", "salt", "session")
_DECIDE = ("model", "temperature", "max_tokens", "tools", "system_prompt", "response_format")
_LONGEST_S = 86_400.0
_RISKY = ("real-time", "personal", "numeric", "medical", "legal")
_LOOSE, _SAFE = 0.85, 0.95
_USUAL_LIMIT = 0.02
"""Wrong hits that `[sampling]` allows where it says nothing."""
_RARE = 0.01
"""A share of wrong hits that a limit alone does not reach on hard traffic."""
_TABLES = ("admission", "context", "sampling", "thresholds")
_LISTS = ("namespace", "key", "allow")

_OF_POLICY = frozenset(("encoder", "threshold", "thresholds", "preset"))

_ENCODER = re.compile(r"^encoder\s*=\s*[\"']", re.MULTILINE)
_LIMIT = re.compile(r"^thresholds?\s*=\s*[\d.{\"']", re.MULTILINE)
_LIMITS = re.compile(r"^\[thresholds?\]", re.MULTILINE)
_TABLE = re.compile(r"^\s*\[", re.MULTILINE)
_PRESET = re.compile(r"^preset\s*=", re.MULTILINE)
_DESCRIBES = re.compile(r"^sources\s*=\s*\[", re.MULTILINE)


def is_policy(text: str) -> bool:
    """Whether a TOML file is a policy of a semantic cache.

    One that names its sources tells what a product does, as a preset: no cache runs by it, but by
    the policy that names it.
    """
    # What a policy says first stands in no table; in one of another file, it is about that.
    first = _TABLE.split(text, maxsplit=1)[0]
    settings = _ENCODER.search(first) is not None and (
        _LIMIT.search(first) is not None or _LIMITS.search(text) is not None
    )
    return (settings or _PRESET.search(first) is not None) and _DESCRIBES.search(text) is None


def policy_documents(source: Source, kind: str) -> list[Document]:
    """Return what is to be said of a policy. Raises `Unreadable`."""
    try:
        said = tomllib.loads(source.text)
    except tomllib.TOMLDecodeError as error:
        raise Unreadable(f"it is not TOML: {error}") from None
    if not _OF_POLICY.intersection(said):
        raise Unreadable(
            "it is no policy of a semantic cache: it sets no encoder, threshold or preset outside "
            "of its tables"
        )
    if "preset" in said:
        # What a product does by default is not in the file.
        return []
    _check_kinds(said)
    found = list(_observed(source, said))
    return [Document(source=source, kind=kind, name=source.path, observations=found)]


def _check_kinds(said: Mapping[str, Any]) -> None:
    """Refuse values of another kind than a policy has there. Raises `Unreadable`."""
    for name, value in said.items():
        if name in _TABLES and not isinstance(value, dict):
            wanted = "a table"
        elif name in _LISTS and not (
            isinstance(value, list) and all(isinstance(item, str) for item in value)
        ):
            wanted = "a list of names"
        elif name == "scale" and not isinstance(value, str):
            wanted = "a name"
        else:
            continue
        raise Unreadable(
            f"{name} is {value!r}, and a policy has {wanted} there; kvaudit schema semantic says "
            "what each key takes"
        )


def _at(source: Source, *keys: str) -> Span:
    """Return where the first of some keys is set; the first line where none is."""
    for key in keys:
        name = re.escape(key)
        found = re.search(rf"^[ \t]*({name}[ \t]*=[^\n#]*|\[{name}\])", source.text, re.M)
        if found:
            start, end = found.span(1)
            return Span(start, start + len(source.text[start:end].rstrip()))
    first = re.search(r"^[^#\s].*$", source.text, re.M)
    return Span(first.start(), first.end()) if first else Span(0, 0)


def _observed(source: Source, said: Mapping[str, Any]) -> Iterator[Observation]:
    def seen(kind: str, span: Span, detail: str) -> Observation:
        return Observation(kind=kind, source=source, span=span, detail=detail)

    apart = {*said.get("namespace", ()), *said.get("key", ())}
    limit = _at(source, "threshold", "thresholds")
    yield from _of_limit(source, said)
    if not apart & set(_TENANT):
        yield seen(
            "no-namespace",
            _at(source, "namespace", "key"),
            "neither namespace nor key names the tenant or user",
        )
    lacking = [name for name in _DECIDE if name not in apart]
    if "model" in lacking:
        yield seen(
            "no-model-version",
            _at(source, "key", "namespace"),
            "key and namespace lack the model, so that one's answers are given for another's",
        )
    further = [name for name in lacking if name != "model"]
    if further:
        yield seen(
            "policy-without-fields",
            _at(source, "key", "namespace"),
            f"key and namespace lack {', '.join(further)}",
        )
    if "temperature" in lacking and "max_temperature" not in said.get("admission", {}):
        yield seen(
            "policy-keeps-sampled",
            _at(source, "admission", "key", "namespace"),
            "answers drawn at any temperature are kept and given to all; admission.max_temperature "
            "= 0 leaves them out, or temperature in the key keeps them apart",
        )
    yield from _of_life(source, said)
    yield from _of_guards(source, said, limit)


def _of_limit(source: Source, said: Mapping[str, Any]) -> Iterator[Observation]:
    scale = said.get("scale")
    values = {"threshold": said.get("threshold"), **said.get("thresholds", {})}
    if scale is None:
        yield Observation(
            kind="undeclared-scale",
            source=source,
            span=_at(source, "threshold", "thresholds"),
            detail="scale is not declared, and cosine_sim is taken",
        )
    found = SCALES.get(scale or "cosine_sim")
    for name, value in values.items():
        if found is None or not isinstance(value, int | float):
            continue
        span = _at(source, name)
        if not found.lowest <= value <= found.highest:
            yield Observation(
                kind="limit-on-wrong-scale",
                source=source,
                span=span,
                detail=f"{value:g} is impossible: {found.meaning} goes from {found.lowest:g} to "
                f"{found.highest:g}",
            )
            continue
        cosine = found.to_cosine(value)
        if cosine < _LOOSE - 1e-9:
            yield Observation(
                kind="loose-limit",
                source=source,
                span=span,
                detail=f"{value:g} here means cosine {cosine:.2f} ({found.meaning}), where "
                "opposite questions pass",
            )
        elif cosine < _SAFE - 1e-9:
            yield Observation(
                kind="unproven-limit",
                source=source,
                span=span,
                detail=f"{value:g} here means cosine {cosine:.2f} ({found.meaning}); measure its "
                "false hits with kvaudit calibrate",
            )


def _of_life(source: Source, said: Mapping[str, Any]) -> Iterator[Observation]:
    life = said.get("ttl")
    span = _at(source, "ttl")
    if life is None and not said.get("ttls"):
        yield Observation(
            kind="no-expiry",
            source=source,
            span=span,
            detail="there is no ttl: a wrong answer stays",
        )
        return
    table = life if isinstance(life, dict) else {"seconds": life}
    if table.get("sliding"):
        yield Observation(
            kind="sliding-expiry",
            source=source,
            span=span,
            detail="every hit renews an entry, so that a popular wrong answer stays",
        )
    seconds = table.get("seconds")
    if isinstance(seconds, int | float) and seconds > _LONGEST_S:
        yield Observation(
            kind="long-expiry",
            source=source,
            span=span,
            detail=f"an answer lives {seconds:g} s, longer than a day",
        )


def _labels_for(limit: float, alpha: float = 0.05) -> int:
    """Return how many right hits show that wrong ones are no more: the rule of three, exactly."""
    return math.ceil(math.log(alpha) / math.log1p(-limit))


def _of_guards(source: Source, said: Mapping[str, Any], limit: Span) -> Iterator[Observation]:
    if not said.get("entity_check"):
        yield Observation(
            kind="no-entity-check",
            source=source,
            span=_at(source, "entity_check") if "entity_check" in said else limit,
            detail="nothing compares numbers, names, dates and negation of two questions",
        )
    if not said.get("sampling"):
        yield Observation(
            kind="no-verification-sample",
            source=source,
            span=limit,
            detail="no sampling plan: what share of the hits is wrong will never be known; "
            f"{_labels_for(_USUAL_LIMIT)} labelled hits that are all right show at most "
            f"{_USUAL_LIMIT:.0%}",
        )
    rare = said.get("sampling", {}).get("limit", 1)
    if isinstance(rare, int | float) and rare <= _RARE and not said.get("verifier"):
        yield Observation(
            kind="no-second-stage",
            source=source,
            span=_at(source, "limit", "sampling"),
            detail=f"at most {rare:.2%} of the hits may be wrong, and no verifier looks at a hit: "
            "a limit alone has to be so high for it that little hits",
        )
    allowed = said.get("allow")
    if allowed is None:
        yield Observation(
            kind="no-allow-list",
            source=source,
            span=_at(source, "scenario", "deny") if "scenario" in said else limit,
            detail="allow is not given, so that every kind of question may be answered from it",
        )
    else:
        risky = [name for name in allowed if name in _RISKY]
        if risky:
            yield Observation(
                kind="risky-scenario",
                source=source,
                span=_at(source, "allow"),
                detail=f"{', '.join(risky)} questions are answered from old answers",
            )
    yield from _of_context(source, said, limit)


def _of_context(source: Source, said: Mapping[str, Any], limit: Span) -> Iterator[Observation]:
    context = said.get("context", {})
    alone = said.get("admission", {}).get("max_messages")
    if context.get("messages", 1) == 1 and alone not in (1, 2):
        yield Observation(
            kind="last-message-only",
            source=source,
            span=_at(source, "messages", "context") if context else limit,
            detail="of a conversation the newest user message alone is embedded",
        )
