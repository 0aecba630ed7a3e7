"""Policies of Azure API Management, as XML or as text in Bicep and Terraform.

The limit, `score-threshold`, is a distance: the lower, the stricter, and the reference calls more
than 0.2 too loose. Older pages called it a similarity, and 0.8 was copied from there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvaudit.analyzers.semantic.given import Given, Setup
from kvaudit.analyzers.semantic.products import product_named
from kvaudit.analyzers.semantic.setup import judged
from kvaudit.core.document import Document, Observation
from kvaudit.core.sources import Source, Span

MARK = "semantic-cache-lookup"
# No pattern may run on over the beginnings of further elements: a file full of what is never
# closed would take the square of its length.
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_LOOKUP = re.compile(
    r"<((?:azure-openai|llm)-semantic-cache-lookup)\b((?:[^<>\"']|\"[^\"]*\"|'[^']*')*?)(/?)>"
)
_ATTRIBUTE = re.compile(r"(?<![\w-])([\w-]+)\s*=\s*[\"']([^\"']*)[\"']")
_VARY = re.compile(r"<vary-by>((?:[^<]|<(?!/?vary-by>))*)</vary-by>")
_PARTY = re.compile(
    r"subscription|user|tenant|principal|product|client|oid|\bsub\b|auth|mail|customer|account|org"
    r"|team|group|session|key",
    re.IGNORECASE,
)
_STORE = re.compile(
    r"<(?:azure-openai|llm)-semantic-cache-store\b[^<>]*?"
    r"duration\s*=\s*[\"'](\d{1,18})\b"
)
_DAY_S = 86_400


def policy_documents(source: Source, kind: str) -> list[Document]:
    """Return what is to be said of the semantic caches in a policy."""
    text = _COMMENT.sub(lambda found: " " * len(found[0]), source.text)
    lookups = list(_LOOKUP.finditer(text))
    ends = [*(lookup.start() for lookup in lookups[1:]), len(text)]
    found = [
        seen
        for lookup, end in zip(lookups, ends, strict=False)
        for seen in _of_lookup(source, lookup, text[lookup.end() : end])
    ]
    found += _long_lives(source, text)
    if not found:
        return []
    return [Document(source=source, kind=kind, name=source.path, observations=found)]


def _of_lookup(source: Source, lookup: re.Match[str], behind: str) -> Iterator[Observation]:
    given = {
        one[1]: Given(
            Span(lookup.start(2) + one.start(), lookup.start(2) + one.end()), _number(one[2])
        )
        for one in _ATTRIBUTE.finditer(lookup[2])
    }
    parts = [] if lookup[3] else list(_VARY.finditer(_inner(behind, lookup[1])))
    if parts:
        at = lookup.end()
        given["vary-by"] = Given(Span(at + parts[0].start(), at + parts[-1].end()))
    place = Span(lookup.start(1), lookup.end(1))
    yield from judged(
        Setup(product=product_named("azure"), source=source, place=place, given=given)
    )
    said = " ".join(part[1].strip() for part in parts)
    if parts and not _PARTY.search(said):
        yield Observation(
            kind="perhaps-no-namespace",
            source=source,
            span=given["vary-by"].span,
            detail=f"vary-by {said} names no tenant, user or subscription",
        )


def _inner(behind: str, element: str) -> str:
    """Return what stands inside an element, of what stands behind its beginning."""
    inside, end, _ = behind.partition(f"</{element}>")
    return inside if end else ""


def _number(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text.strip().lower()


def _long_lives(source: Source, text: str) -> Iterator[Observation]:
    for store in _STORE.finditer(text):
        if int(store[1]) > _DAY_S:
            yield Observation(
                kind="long-expiry",
                source=source,
                span=Span(store.start(1), store.end(1)),
                detail=f"an answer lives {int(store[1])} s, longer than a day",
            )
