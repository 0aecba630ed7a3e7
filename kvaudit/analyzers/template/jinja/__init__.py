"""Prompt templates in Jinja."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvaudit.analyzers.reader import Project, Reader, Sniffed
from kvaudit.analyzers.template.compose import compose
from kvaudit.analyzers.template.fences import outside_fences
from kvaudit.analyzers.template.giants import refuse_giants
from kvaudit.analyzers.template.promptlike import is_documentation, looks_like_prompt
from kvaudit.core.document import Document
from kvaudit.core.sources import Source

_SUFFIXES = (".j2", ".jinja", ".jinja2")
_TAG = re.compile(
    r"\{%[-+]?\s*(?:if|for|set|include|macro|block|extends|import|from|raw|chat|message)\b"
)
_HEAD = 64_000


def _sniff(source: Source) -> Sniffed:
    name = source.path.lower()
    if name.endswith(_SUFFIXES):
        return Sniffed.CONTENT if looks_like_prompt(source) else Sniffed.NO
    if is_documentation(name) or not name.endswith((".md", ".txt", ".prompt", ".tmpl", ".tpl")):
        return Sniffed.NO
    head = source.text[:_HEAD]
    if "{%" not in head or not _TAG.search(outside_fences(head)):
        return Sniffed.NO
    return Sniffed.CONTENT if looks_like_prompt(source) else Sniffed.NO


def _read(source: Source, project: Project) -> Sequence[Document]:
    from kvaudit.analyzers.template.jinja.render import rendered

    refuse_giants(len(source.text))
    return compose(source, "jinja", rendered(source, project))


READER = Reader(
    name="jinja",
    title="Prompt templates in Jinja (.j2, .jinja, and Markdown or text with Jinja tags)",
    suffixes=(*_SUFFIXES, ".md", ".txt", ".prompt", ".tmpl", ".tpl"),
    sniff=_sniff,
    read=_read,
)
