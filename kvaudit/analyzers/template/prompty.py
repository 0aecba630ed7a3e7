"""Prompty: front matter, then messages under role lines, in Jinja or Mustache.

A loop over earlier turns prints nothing where the file says what it is given, and they are not
among it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kvaudit.analyzers.naming import origin_of_name
from kvaudit.analyzers.reader import Project, Reader, Sniffed
from kvaudit.analyzers.template import sections
from kvaudit.analyzers.template.compose import compose
from kvaudit.analyzers.template.frontmatter import model_of, parted
from kvaudit.analyzers.template.giants import refuse_giants
from kvaudit.core.document import Document, Origin, Position
from kvaudit.core.sources import Source

_MUSTACHE = re.compile(r"^\s*(?:template|format|type|kind)\s*:\s*[\"']?mustache", re.MULTILINE)

_INPUTS = re.compile(r"^inputs[ \t]*:[ \t]*\r?\n((?:[ \t]+[^\n]*\n|[ \t]*\r?\n)+)", re.MULTILINE)
_INPUT = re.compile(r"^([ \t]+)(\w+)[ \t]*:", re.MULTILINE)


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
    documents = compose(source, "prompty", items, header_lines=True, model=model_of(head))
    inputs = set(_inputs(head))
    if not inputs or any(origin_of_name(name, {}) is Origin.HISTORY for name in inputs):
        return documents
    return [_without_turns(document) for document in documents]


def _inputs(head: str) -> Iterator[str]:
    """Yield the names that front matter gives under ``inputs``."""
    block = _INPUTS.search(head)
    if block is not None:
        found = list(_INPUT.finditer(block[1]))
        outer = min((len(one[1]) for one in found), default=0)
        yield from (one[2] for one in found if len(one[1]) == outer)


def _without_turns(document: Document) -> Document:
    kept = [s for s in document.segments if s.position is not Position.HISTORY]
    return replace(document, segments=kept)


READER = Reader(
    name="prompty",
    title="Prompty files (.prompty)",
    suffixes=(".prompty",),
    sniff=_sniff,
    read=_read,
)
