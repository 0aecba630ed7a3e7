"""One Python module: its tree, the exact places of its nodes, and what its names stand for."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator
from functools import lru_cache

from kvaudit.analyzers.source.python.grammar import parse
from kvaudit.analyzers.source.python.literals import pieces
from kvaudit.analyzers.source.python.once import Kept
from kvaudit.core.sources import Source, Span

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Module:
    """A parsed module. Raises `Unreadable` where it is no Python this interpreter knows."""

    def __init__(self, source: Source) -> None:
        """Parse the source."""
        self.source = source
        self.tree = parse(source.text)
        self._ascii = source.text.isascii()
        self.functions: dict[str, Function] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        self.imports: dict[str, tuple[str, str | None]] = {}
        """Local name -> the module it comes from, and its name there where it is no module."""
        self.assigned: dict[str, list[ast.stmt]] = {}
        """Module level name -> the statements that give it its value, in order."""
        self.kept: dict[Hashable, Kept] = {}
        """What readings of other files found out of this module."""
        self._places: dict[ast.AST, Span] = {}
        self._fields: dict[ast.JoinedStr, list[Span | ast.expr]] = {}
        for statement in _top_level(self.tree.body):
            self._enter(statement)
        for node in _statements(self.tree.body):
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._enter(node)

    def _enter(self, node: ast.stmt) -> None:
        if isinstance(node, Function):
            self.functions[node.name] = node
        elif isinstance(node, ast.ClassDef):
            self.classes[node.name] = node
        elif isinstance(node, ast.Import):
            for alias in node.names:
                local = alias.asname or alias.name.split(".")[0]
                self.imports.setdefault(
                    local, (alias.name if alias.asname else alias.name.split(".")[0], None)
                )
        elif isinstance(node, ast.ImportFrom):
            origin = "." * node.level + (node.module or "")
            for alias in node.names:
                self.imports.setdefault(alias.asname or alias.name, (origin, alias.name))
        else:
            for name in _targets(node):
                self.assigned.setdefault(name, []).append(node)

    def span(self, node: ast.AST) -> Span:
        """Return a node's characters in the file; columns of the parser are bytes of UTF-8."""
        known = self._places.get(node)
        if known is None:
            line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
            last, end = getattr(node, "end_lineno", line), getattr(node, "end_col_offset", column)
            known = Span(self._offset(line, column), self._offset(last, end))
            self._places[node] = known
        return known

    def written(self, node: ast.AST) -> str:
        """Return a node as it is written."""
        span = self.span(node)
        return self.source.text[span.start : span.end]

    def formatted(self, node: ast.JoinedStr) -> list[Span | ast.expr]:
        """Return an f-string's pieces: the span of a run of text, or a field's expression.

        The expressions are parsed again from where they stand, so their places are exact.
        """
        known = self._fields.get(node)
        if known is None:
            span = self.span(node)
            known = [
                self._expression(piece.start, piece.end)
                if piece.is_field
                else Span(piece.start, piece.end)
                for piece in pieces(self.source.text, span.start, span.end)
            ]
            self._fields[node] = known
        return known

    def dotted(self, node: ast.AST) -> str:
        """Return a name with dots as its imports say, and calls in it left out: ``a.b().c``."""
        if isinstance(node, ast.Name):
            origin, name = self.imports.get(node.id, (None, None))
            if origin is None:
                return node.id
            origin = origin.lstrip(".")
            return origin if name is None else f"{origin}.{name}" if origin else name
        if isinstance(node, ast.Attribute):
            left = self.dotted(node.value)
            return f"{left}.{node.attr}" if left else node.attr
        if isinstance(node, ast.Call):
            return self.dotted(node.func)
        if isinstance(node, ast.Await | ast.Subscript):
            return self.dotted(node.value)
        return ""

    def _expression(self, start: int, end: int) -> ast.expr:
        """Parse a field's expression; one that cannot be read alone stands as a bare name."""
        lead = len(self.source.text[start:end]) - len(self.source.text[start:end].lstrip())
        text = self.source.text[start + lead : end]
        try:
            inner: ast.expr = ast.parse(f"({text}\n)", mode="eval").body
        except (SyntaxError, ValueError, MemoryError):
            inner = ast.Name(id="_", ctx=ast.Load())
            self._places[inner] = Span(start, end)
            return inner
        lines = _line_starts(text)
        for node in ast.walk(inner):
            if isinstance(node, ast.expr | ast.keyword | ast.arg):
                first = _inner_offset(text, lines, node.lineno, node.col_offset)
                last = _inner_offset(text, lines, node.end_lineno or 1, node.end_col_offset or 1)
                self._places[node] = Span(start + lead + first, start + lead + last)
        return inner

    def _offset(self, line: int, column: int) -> int:
        start = self.source.offset(line)
        if self._ascii:
            return start + column
        text = self.source.text
        head = text[start : start + column]
        if head.isascii():
            return start + column
        encoded = self.source.line(line).encode("utf-8", "surrogatepass")[:column]
        return start + len(encoded.decode("utf-8", "surrogatepass"))


@lru_cache(maxsize=1)
def module_of(source: Source) -> Module:
    """Return a file as a module, parsed once for all who look at it. Raises `Unreadable`."""
    return Module(source)


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements that run when the module is loaded, outside functions and classes."""
    for node in body:
        yield node
        for field in ("body", "orelse", "finalbody"):
            if isinstance(node, ast.If | ast.Try | ast.With | ast.For):
                yield from _top_level(getattr(node, field, []))
        if isinstance(node, ast.Try):
            for handler in node.handlers:
                yield from _top_level(handler.body)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield every statement in every depth; expressions hold none."""
    stack = list(body)
    while stack:
        node = stack.pop()
        yield node
        for field in ("body", "orelse", "finalbody"):
            stack += getattr(node, field, ())
        for inner in getattr(node, "handlers", ()) or getattr(node, "cases", ()):
            stack += inner.body


def _targets(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement sets, or whose list or dict it changes."""
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign | ast.AugAssign):
        targets = [node.target]
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        called = node.value.func
        targets = [called.value] if isinstance(called, ast.Attribute) else []
        targets += [arg for arg in node.value.args if isinstance(arg, ast.Name)][:1]
    else:
        return
    for target in targets:
        base = target.value if isinstance(target, ast.Subscript | ast.Starred) else target
        for name in base.elts if isinstance(base, ast.Tuple | ast.List) else [base]:
            if isinstance(name, ast.Name):
                yield name.id


def _line_starts(text: str) -> list[int]:
    return [0, *(at + 1 for at, char in enumerate(text) if char == "\n")]


def _inner_offset(text: str, lines: list[int], line: int, column: int) -> int:
    """Return the offset in a text that was parsed behind one bracket."""
    start = lines[min(line, len(lines)) - 1]
    column -= 1 if line == 1 else 0
    head = text[start : start + column]
    if head.isascii():
        return start + column
    return start + len(
        text[start:].encode("utf-8", "surrogatepass")[:column].decode("utf-8", "ignore")
    )
