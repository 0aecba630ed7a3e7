"""What a text without a file name is taken for, since readers go by the name as well.

Only kinds that a text shows beyond doubt; anything else is not guessed, and the user is asked.
"""

from __future__ import annotations

import ast
import json
import re
from typing import Any

from kvaudit.analyzers.decode import MAX_BYTES

_TAG = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_STATEMENTS = (
    ast.AnnAssign,
    ast.Assign,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.FunctionDef,
    ast.Import,
    ast.ImportFrom,
)
"""What says that a text is Python; a single expression may be anything."""
_SCRIPT = re.compile(r"^\s*(?:import|export|const|let|var|function|interface|package|use)\b", re.M)


def likely_ending(text: str) -> str | None:
    """Return the ending of a file name that the text would have, or None in doubt."""
    if text.lstrip()[:1] in ("{", "["):
        if isinstance(_parsed(text), dict | list):
            return ".json"
        if all(isinstance(_parsed(line), dict) for line in text.splitlines()[:2]):
            return ".jsonl"
    if len(text) > MAX_BYTES:
        return None
    if _is_python(text):
        return ".py"
    return ".j2" if _TAG.search(text) and not _SCRIPT.search(text) else None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_python(text: str) -> bool:
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(isinstance(statement, _STATEMENTS) for statement in body)
