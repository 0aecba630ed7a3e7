"""Prompt templates in Handlebars and Mustache."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvaudit.analyzers.reader import Project, Reader, Sniffed
from kvaudit.analyzers.template.compose import compose
from kvaudit.analyzers.template.fences import outside_fences
from kvaudit.analyzers.template.frontmatter import model_of, parted
from kvaudit.analyzers.template.giants import refuse_giants
from kvaudit.analyzers.template.promptlike import looks_like_prompt
from kvaudit.analyzers.template.sections import rendered
from kvaudit.core.document import Document
from kvaudit.core.sources import Source

_SUFFIXES = (".hbs", ".handlebars", ".mustache")
_TEXTS = (".md", ".txt", ".tmpl", ".tpl")
_BLOCK = re.compile(r"\{\{[#^>][\w ]|\{\{/\w")
_HEAD = 64_000


def _sniff(source: Source) -> Sniffed:
    name = source.path.lower()
    if name.endswith(_SUFFIXES):
        return Sniffed.CONTENT if looks_like_prompt(source) else Sniffed.NO
    head = source.text[:_HEAD] if name.endswith(_TEXTS) else ""
    if "{{" not in head or not _BLOCK.search(outside_fences(head)):
        return Sniffed.NO
    return Sniffed.CONTENT if looks_like_prompt(source) else Sniffed.NO


def _read(source: Source, project: Project) -> Sequence[Document]:
    refuse_giants(len(source.text))
    head, body = parted(source)
    return compose(source, "handlebars", rendered(source, project, body), model=model_of(head))


READER = Reader(
    name="handlebars",
    title="Prompt templates in Handlebars and Mustache (.hbs, .handlebars, .mustache)",
    suffixes=(*_SUFFIXES, *_TEXTS),
    sniff=_sniff,
    read=_read,
)
