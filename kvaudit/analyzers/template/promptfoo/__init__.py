"""promptfoo's configuration: prompts inline or in files, filled in by nunjucks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvaudit.analyzers.reader import Project, Reader, Sniffed
from kvaudit.core.document import Document
from kvaudit.core.sources import Source

_PROMPTS = re.compile(r"^[\"']?prompts[\"']?\s*:", re.MULTILINE)
_OTHERS = re.compile(
    r"^[\"']?(?:providers|targets|tests|defaultTest|scenarios|evaluateOptions)[\"']?\s*:",
    re.MULTILINE,
)


def _sniff(source: Source) -> Sniffed:
    if not source.path.lower().endswith(tuple(READER.suffixes)):
        return Sniffed.NO
    if _PROMPTS.search(source.text) and _OTHERS.search(source.text):
        return Sniffed.CERTAIN
    return Sniffed.NO


def _read(source: Source, project: Project) -> Sequence[Document]:
    from kvaudit.analyzers.template.promptfoo.read import read_config

    return read_config(source, project)


READER = Reader(
    name="promptfoo",
    title="promptfoo configuration (YAML), with the text files it names",
    suffixes=(".yaml", ".yml"),
    sniff=_sniff,
    read=_read,
)
