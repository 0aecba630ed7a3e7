"""Prompty: front matter, then messages under role lines, in Jinja or Mustache."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvaudit.analyzers.reader import Project, Reader, Sniffed
from kvaudit.analyzers.template import sections
from kvaudit.analyzers.template.compose import compose
from kvaudit.analyzers.template.frontmatter import model_of, parted
from kvaudit.analyzers.template.giants import refuse_giants
from kvaudit.core.document import Document
from kvaudit.core.sources import Source

_MUSTACHE = re.compile(r"^\s*(?:template|format|type|kind)\s*:\s*[\"']?mustache", re.MULTILINE)


def _sniff(source: Source) -> Sniffed:
    return Sniffed.CERTAIN if source.path.lower().endswith(".prompty") else Sniffed.NO


def _read(source: Source, project: Project) -> Sequence[Document]:
    from kvaudit.analyzers.template.jinja.render import rendered

    refuse_giants(len(source.text))
    head, body = parted(source)
    if _MUSTACHE.search(head):
        items = sections.rendered(source, project, body)
    else:
        items = rendered(source, project, part=body)
    return compose(source, "prompty", items, header_lines=True, model=model_of(head))


READER = Reader(
    name="prompty",
    title="Prompty files (.prompty)",
    suffixes=(".prompty",),
    sniff=_sniff,
    read=_read,
)
