"""Go templates of prompts, and Ollama's Modelfile with one inside."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kvaudit.analyzers.reader import Project, Reader, Sniffed
from kvaudit.analyzers.template.compose import compose
from kvaudit.analyzers.template.giants import refuse_giants
from kvaudit.analyzers.template.golang import rendered
from kvaudit.analyzers.template.pieces import Piece
from kvaudit.analyzers.template.promptlike import looks_like_prompt
from kvaudit.core.document import Document
from kvaudit.core.sources import Source, Span

_SUFFIXES = (".gotmpl", ".tmpl", ".tpl", ".gotpl")
_FIELD = re.compile(r"\{\{-?\s*(?:(?:if|range|with|else if)\s[^}]{0,200})?\.[A-Z]\w*")
_MESSAGES = re.compile(r"\{\{[^}]{0,200}\.Messages\b")
_PART = re.compile(r"^(?P<word>TEMPLATE|SYSTEM)[ \t]+(?P<quote>\"{3}|\"|(?=[^\s\"]))", re.M | re.I)
_FROM = re.compile(r"^FROM[ \t]+(\S+)", re.MULTILINE | re.IGNORECASE)


def _sniff(source: Source) -> Sniffed:
    name = source.path.lower()
    if _is_modelfile(source):
        return Sniffed.CERTAIN
    head = source.text[:64_000]
    if not name.endswith(_SUFFIXES) or not _FIELD.search(head):
        return Sniffed.NO
    return Sniffed.CERTAIN if _MESSAGES.search(head) or looks_like_prompt(source) else Sniffed.NO


def _is_modelfile(source: Source) -> bool:
    name = source.path.lower().rpartition("/")[2]
    return name.startswith("modelfile") or name.endswith(".modelfile")


def _read(source: Source, project: Project) -> Sequence[Document]:
    refuse_giants(len(source.text))
    if not _is_modelfile(source):
        items = rendered(source, Span(0, len(source.text)), project.variables)
        return compose(source, "go-template", items)
    model = _FROM.search(source.text)
    documents: list[Document] = []
    for word, part in _parts(source.text):
        if word == "TEMPLATE":
            items = rendered(source, part, project.variables)
        else:
            items = [Piece(source=source, span=part, text=source.text[slice(*part)])]
        documents += compose(
            source, "go-template", items, name=word, model=model[1] if model else None
        )
    return documents


def _parts(text: str) -> Iterator[tuple[str, Span]]:
    """Yield the template and the system text of a Modelfile."""
    for found in _PART.finditer(text):
        closing = found["quote"] or "\n"
        end = text.find(closing, found.end())
        yield found["word"].upper(), Span(found.end(), len(text) if end < 0 else end)


READER = Reader(
    name="go-template",
    title="Go templates of prompts (.gotmpl, .tmpl) and Ollama Modelfiles",
    suffixes=(*_SUFFIXES, "modelfile", ".modelfile"),
    sniff=_sniff,
    read=_read,
)
