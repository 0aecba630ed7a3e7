"""Templates that are values of JSON or YAML: read on their own, placed in the outer file."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PurePosixPath

from kvaudit.analyzers.reader import Project
from kvaudit.analyzers.template.compose import compose
from kvaudit.analyzers.template.jsontext import Embedded, relocated
from kvaudit.analyzers.template.pieces import Item, Piece
from kvaudit.analyzers.template.structure.holes import FORMAT, pieces, syntax_of, value_of
from kvaudit.analyzers.template.structure.node import Node, character_starts
from kvaudit.analyzers.template.values import CONSTANT
from kvaudit.core.document import Document, Origin
from kvaudit.core.sources import Source, Span

_TURN = re.compile(r"instance|task|question|next_step|follow_?up")
"""Words of names for what is sent as the user's message."""
_SYSTEM = re.compile(r"system|instruction|persona|preamble|backstory|agent")


def documents_in(
    source: Source, node: Node, project: Project, *, kind: str, name: str
) -> list[Document]:
    """Return the documents of a text that a value holds: in Jinja, or with the braces of format.

    What the value is called says where it is sent: ``user_prompt`` is no system text.
    """
    text = node.text or ""
    starts = character_starts(source.text, node)
    if starts is None:
        return []
    last = name.rsplit(".", 1)[-1]
    called = PurePosixPath(source.path).parent / (f"user_{last}" if _TURN.search(last) else last)
    inner = Source(called.as_posix(), text)
    found = compose(inner, kind, _items(inner, project), name=name)
    embedded = Embedded(source, inner, starts)
    return [
        replace(
            relocated(document, embedded),
            name=name,
            multi_turn=document.multi_turn and _goes_on(document, name),
        )
        for document in found
    ]


def _goes_on(document: Document, name: str) -> bool:
    """Whether turns follow: they do behind a system text, and not behind one of many prompts."""
    if any(segment.origin is Origin.HISTORY for segment in document.segments):
        return True
    return _SYSTEM.search(name.lower()) is not None


def _items(inner: Source, project: Project) -> list[Item]:
    if syntax_of(inner.text, named=True) is FORMAT:
        return [
            Piece(
                source=inner,
                span=Span(piece.start, piece.end),
                text=inner.text[piece.start : piece.end] if piece.expression is None else None,
                expression=piece.expression,
                value=CONSTANT
                if piece.expression is None
                else value_of(piece.expression, project.variables),
            )
            for piece in pieces(inner.text, FORMAT)
        ]
    if "{{" not in inner.text and "{%" not in inner.text:
        return [Piece(source=inner, span=Span(0, len(inner.text)), text=inner.text)]
    from kvaudit.analyzers.template.jinja.render import rendered

    return rendered(inner, project)
