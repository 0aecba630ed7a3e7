"""Files that are read: a prompt's own text lies in a file too, so the name decides."""

from __future__ import annotations

import re
from dataclasses import replace

from kvaudit.analyzers.source.ecmascript import evaluate as values
from kvaudit.analyzers.source.ecmascript import pieces
from kvaudit.analyzers.source.ecmascript.engine import Engine, Frame
from kvaudit.analyzers.source.ecmascript.filling import HOLE
from kvaudit.analyzers.source.ecmascript.origins import GUESSED_TOKENS
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import Shape, Value, text_of
from kvaudit.analyzers.source.parts import Part
from kvaudit.core.document import Evidence, Origin
from kvaudit.core.sources import Span

MAX_TEMPLATE = 200_000
"""Characters; a longer file is no template of a prompt."""
_TEMPLATES = (
    ".hbs", ".handlebars", ".mustache", ".njk", ".ejs", ".eta", ".liquid", ".md", ".txt", ".tmpl",
    ".tpl", ".prompt", ".html",
)  # fmt: skip
_READS = re.compile(r"(\w+\.)*(readFile|readFileSync|readTextFile|readTextFileSync)|Bun\.file")
_CHANGES = re.compile(
    r"(?<![a-z])(memor(y|ies)|notes?|todos?|scratch(pad)?|journal|diary|inbox|status|progress"
    r"|recent|activity|open_?tabs|clipboard|logs?|history)(?![a-z])",
    re.IGNORECASE,
)
_FIXED = re.compile(
    r"prompt|template|instruction|system|persona|rules|skill|guide|__dirname|import\.meta|resources"
    r"|schema|example|static|asset|polic",
    re.IGNORECASE,
)


def file_read(
    engine: Engine, frame: Frame, node: Node, dotted: str, args: list[Node]
) -> Value | None:
    """Return what reading a file gives; None where the call reads none.

    A file named like a memory is live; one named like a prompt is fixed text of unknown size;
    of any other nothing is said.
    """
    if not _READS.fullmatch(dotted) or not args:
        return None
    template = _template(engine, frame, args[0])
    if template is not None:
        return template
    named = frame.module.text(args[0])
    named += " ".join(
        p.text or p.expression or "" for p in values.evaluate(engine, args[0], frame).printed
    )
    if _CHANGES.search(named) and not _FIXED.search(named):
        return pieces.arisen(
            frame, node, Origin.LIVE_STATE, "reads a file on each call", Shape.TEXT
        )
    made = pieces.arisen(frame, node, Origin.DEPLOY, "reads a file", Shape.TEXT)
    tokens = GUESSED_TOKENS if _FIXED.search(named) else None
    part = replace(made.parts[0], tokens=tokens, trail=(), evidence=Evidence.NAME)
    return replace(made, parts=(part,))


def _template(engine: Engine, frame: Frame, node: Node) -> Value | None:
    """Return the text of a template of the project that a path names; None for other files.

    The path is put together from its literals: what stands before them is the folder of the
    file, or the root, and both are looked in.
    """
    literals = [inner for inner in node.walk() if inner.kind == "string"]
    name = "/".join(frame.module.text(one)[1:-1] for one in literals)
    if not name.lower().endswith(_TEMPLATES):
        return None
    found = engine.project.sibling(frame.module.source, name)
    if found is None or len(found.text) > MAX_TEMPLATE or not HOLE.search(found.text):
        return None
    part = Part(found, Span(0, len(found.text)), text=found.text)
    return replace(text_of((part,)), shape=Shape.TEXT)
