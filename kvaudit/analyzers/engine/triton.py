"""Triton's config.pbtxt: the parameters of a TensorRT-LLM model."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvaudit.analyzers.engine.documents import documents_of
from kvaudit.analyzers.engine.flags import kebab
from kvaudit.analyzers.engine.invocation import Deployment, Invocation, Setting
from kvaudit.analyzers.reader import Project, Reader, Sniffed
from kvaudit.core.document import Document
from kvaudit.core.sources import Source, Span

_PARAMETER = re.compile(
    r"key\s{0,9}:\s{0,9}\"(\w{1,80})\"\s{0,99},?\s{0,99}value\s{0,9}:?\s{0,99}\{\s{0,99}"
    r"string_value\s{0,9}:\s{0,9}\"([^\"\n]{0,500})\""
)


def _sniff(source: Source) -> Sniffed:
    name = source.path.lower()
    return Sniffed.CERTAIN if name.endswith(".pbtxt") and "kv_cache" in source.text else Sniffed.NO


def _read(source: Source, project: Project) -> Sequence[Document]:
    settings = [
        Setting(name=kebab(p[1]), value=p[2], span=Span(*p.span()), written=p[1])
        for p in _PARAMETER.finditer(source.text)
    ]
    if not settings:
        return []
    first = Span(settings[0].span.start, settings[-1].span.end)
    run = Invocation(program="triton-trtllm", span=first, settings=settings)
    return documents_of(Deployment(source=source, invocations=[run]), READER.name)


READER = Reader(
    name="triton",
    title="Triton's model configuration (config.pbtxt)",
    suffixes=(".pbtxt",),
    sniff=_sniff,
    read=_read,
)
