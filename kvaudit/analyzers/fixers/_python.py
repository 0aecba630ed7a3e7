"""The Python expression that a finding points at, with exact places of its parts."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from kvaudit.core.findings import Finding
from kvaudit.core.sources import Span


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression as it stands in the user's file."""

    node: ast.expr
    text: str
    start: int

    def span(self, node: ast.expr) -> Span:
        """Return where a part of it stands, in characters of the file."""
        lines = re.split(r"(?<=\n)", self.text)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return Span(
            self._offset(lines, node.lineno, node.col_offset),
            self._offset(lines, node.end_lineno, node.end_col_offset),
        )

    def _offset(self, lines: list[str], line: int, column: int) -> int:
        # Python counts a column in bytes of UTF-8; one bracket stands before the text.
        before = sum(len(part) for part in lines[: line - 1])
        in_line = lines[line - 1] if line <= len(lines) else ""
        if line == 1:
            column -= 1
        return self.start + before + len(in_line.encode()[:column].decode("utf-8", "ignore"))


def expression(finding: Finding) -> Expression | None:
    """Return the expression; None where the finding points at anything else."""
    if not finding.source.path.lower().endswith((".py", ".pyi")):
        return None
    text = finding.source.text[finding.span.start : finding.span.end]
    try:
        # In brackets, so that an expression may go over lines as it does in a call.
        tree = ast.parse(f"({text})", mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return Expression(tree.body, text, finding.span.start)
