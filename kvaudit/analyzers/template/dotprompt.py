"""Dotprompt: front matter with a model, and a body in Handlebars with roles and history."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvaudit.analyzers.reader import Project, Reader, Sniffed
from kvaudit.analyzers.template.compose import compose
from kvaudit.analyzers.template.frontmatter import model_of, parted
from kvaudit.analyzers.template.giants import refuse_giants
from kvaudit.analyzers.template.sections import rendered
from kvaudit.core.document import Document
from kvaudit.core.sources import Source

_KEY = re.compile(r"^(?:model|input|output|config|tools|variant)\s*:", re.MULTILINE)
_HELPER = re.compile(r"\{\{\s*[#/]?(?:role\b|history\b|media\b|section\b)")


def _sniff(source: Source) -> Sniffed:
    if not source.path.lower().endswith(".prompt"):
        return Sniffed.NO
    head, _ = parted(source)
    if _KEY.search(head) or _HELPER.search(source.text):
        return Sniffed.CERTAIN
    return Sniffed.CONTENT if "{{" in source.text and "{%" not in source.text else Sniffed.NO


def _read(source: Source, project: Project) -> Sequence[Document]:
    refuse_giants(len(source.text))
    head, body = parted(source)
    items = rendered(source, project, body)
    return compose(source, "dotprompt", items, header_lines=False, model=model_of(head))


READER = Reader(
    name="dotprompt",
    title="Dotprompt files (.prompt)",
    suffixes=(".prompt",),
    sniff=_sniff,
    read=_read,
)
