"""Files that are read: a prompt's own text lies in a file too, so the name decides."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from kvaudit.analyzers.source.python.engine import Frame
from kvaudit.analyzers.source.python.origins import GUESSED_TOKENS
from kvaudit.analyzers.source.python.placing import arisen
from kvaudit.analyzers.source.python.values import Shape, Value
from kvaudit.core.document import Evidence, Origin

_READS = re.compile(r"(.*\.)?(read_text|read_bytes|open\.read|open\.readlines|read)")
_CHANGES = re.compile(
    r"(?<![a-z])(memor(y|ies)|notes?|todos?|scratch(pad)?|journal|diary|inbox|state|status|progress"
    r"|recent|activity|open_tabs|clipboard|logs?|history|session)(?![a-z])",
    re.IGNORECASE,
)
_FIXED = re.compile(
    r"prompt|template|instruction|system|persona|rules|skill|guide|__file__|resources|schema"
    r"|\.j2|\.jinja|example|static|asset|polic",
    re.IGNORECASE,
)


def file_read(frame: Frame, node: ast.Call, dotted: str, receiver: Value | None) -> Value | None:
    """Return what reading a file gives; None where the call reads none.

    A file named like a memory or a state is live; one named like a prompt is fixed text of
    unknown size; of any other nothing is said.
    """
    if not isinstance(node.func, ast.Attribute) or not _READS.fullmatch(dotted):
        return None
    if node.func.attr == "read" and "open" not in dotted and "file" not in dotted.split(".")[0]:
        return None
    written = frame.module.written(node)
    named = written
    if receiver is not None:
        named += " " + " ".join(p.text or p.expression or "" for p in receiver.parts)
    if _CHANGES.search(named) and not _FIXED.search(named):
        return arisen(frame, node, Origin.LIVE_STATE, Shape.TEXT, "reads a file on each call")
    made = arisen(frame, node, Origin.DEPLOY, Shape.TEXT, "reads a file")
    tokens = GUESSED_TOKENS if _FIXED.search(named) else None
    parts = tuple(
        replace(part, tokens=tokens, trail=(), evidence=Evidence.NAME) for part in made.parts
    )
    return replace(made, parts=parts)
