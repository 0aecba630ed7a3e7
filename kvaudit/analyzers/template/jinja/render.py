"""A Jinja template in rendered order, without rendering it.

Follows includes, parents, imports and macros inside the project. A loop is gone through once, a
branch arm after arm. Nothing is evaluated: values are known by where they come from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kvaudit.analyzers.reader import Project, Unreadable
from kvaudit.analyzers.template.jinja.expressions import (
    Scope,
    parsed,
    path_of,
    printed,
    worth,
)
from kvaudit.analyzers.template.jinja.operands import operands, places
from kvaudit.analyzers.template.jinja.scan import Kind, ScanError, Token, scan
from kvaudit.analyzers.template.jinja.tags import HANDLERS, NEED_A_BODY, QUOTED, Macro
from kvaudit.analyzers.template.jinja.tree import Block, Node, arguments, build
from kvaudit.analyzers.template.pieces import (
    MAX_PIECES,
    Item,
    Mark,
    Piece,
)
from kvaudit.analyzers.template.values import CONSTANT, UNKNOWN, Value
from kvaudit.core.document import Origin
from kvaudit.core.sources import Source, Span

if TYPE_CHECKING:
    from jinja2 import nodes

MAX_FOLLOWED = 12
"""Includes, parents and macro calls inside one another; more is a circle."""


class TooMuch(Unreadable):
    """A template that gives more than one would ever send."""


def rendered(
    source: Source,
    project: Project,
    *,
    part: Span | None = None,
    macros: Mapping[str, Macro] | None = None,
) -> list[Item]:
    """Return a template's pieces in rendered order; raises `Unreadable`.

    ``part`` is where in the file the template stands, where it does not fill it; ``macros`` are
    such as its language defines outside the template.
    """
    walk = Walk(project)
    walk.macros |= macros or {}
    return walk.file(source, Scope(project.variables), part)


class Walk:
    """One way through a template and what it draws in."""

    def __init__(self, project: Project) -> None:
        """Take the project whose other templates may be drawn in."""
        self.project = project
        self.depth = 0
        self.count = 0
        self.loops: list[Origin] = []
        self.branches = 0
        self.calling: list[Macro] = []
        self.macros: dict[str, Macro] = {}
        self.overrides: dict[str, list[tuple[Source, Sequence[Node]]]] = {}
        self.callers: list[tuple[Source, Sequence[Node], Scope]] = []
        self.parents: list[list[tuple[Source, Sequence[Node]]]] = []

    def file(self, source: Source, scope: Scope, part: Span | None = None) -> list[Item]:
        """Go through a whole file, or through the parent that it extends."""
        tree = tree_of(source, part)
        parent = self._parent(source, tree)
        if parent is None:
            return self.run(source, tree, scope)
        for block in _blocks(tree):
            name = arguments(source.text, block.tag).split(" ")[0]
            self.overrides.setdefault(name, []).append((source, block.bodies[0].nodes))
        # What a child says outside its blocks is not printed, but its macros and names hold.
        self.run(source, [n for n in tree if isinstance(n, Block) and n.name != "block"], scope)
        return self.followed(parent, scope)

    def _parent(self, source: Source, tree: Sequence[Node]) -> Source | None:
        for node in tree:
            if isinstance(node, Block) and node.name == "extends":
                return self.named_file(source, arguments(source.text, node.tag))
        return None

    def named_file(self, source: Source, text: str) -> Source | None:
        """Return the first file of the project that a tag names in quotes."""
        for name in QUOTED.findall(text):
            found = self.project.sibling(source, name)
            if found is not None:
                return found
        return None

    def followed(self, source: Source, scope: Scope) -> list[Item]:
        """Return what another file prints; nothing where files include each other in a circle."""
        if self.depth >= MAX_FOLLOWED:
            return []
        self._count()
        self.depth += 1
        try:
            return self.file(source, scope)
        except TooMuch:
            raise
        except Unreadable:
            return []  # the file is reported under its own name
        finally:
            self.depth -= 1

    def run(self, source: Source, nodes: Sequence[Node], scope: Scope) -> list[Item]:
        """Return what a run of nodes prints."""
        items: list[Item] = []
        for node in nodes:
            if isinstance(node, Block):
                items += self.block(source, node, scope)
            elif node.kind is Kind.TEXT:
                items += self.text(source, node)
            elif node.kind is Kind.OUTPUT:
                items += self.output(source, node, scope)
        return items

    def text(self, source: Source, token: Token) -> Iterator[Item]:
        """Yield a run of text, unless white-space control left nothing of it."""
        text = source.text[token.inner.start : token.inner.end]
        if text:
            yield self.piece(source, token.inner, text=text)

    def piece(
        self,
        source: Source,
        span: Span,
        *,
        text: str | None = None,
        expression: str | None = None,
        value: Value = CONSTANT,
    ) -> Piece:
        """Make a piece that stands in the present loop."""
        self._count()
        loop = self.loop()
        return Piece(
            source=source, span=span, text=text, expression=expression, value=value, loop=loop
        )

    def _count(self) -> None:
        self.count += 1
        if self.count > MAX_PIECES:
            raise TooMuch(f"it gives more than {MAX_PIECES} pieces of text")

    def loop(self) -> Origin | None:
        """Return what the present loop goes through: a history, wherever one is around it."""
        if not self.loops:
            return None
        return Origin.HISTORY if Origin.HISTORY in self.loops else self.loops[-1]

    def output(self, source: Source, token: Token, scope: Scope) -> list[Item]:
        """Return what ``{{ ... }}`` prints."""
        inner = source.text[token.inner.start : token.inner.end].strip()
        tree = parsed(inner)
        called = None if tree is None else self.called(source, token, tree, scope)
        if called is not None:
            return called
        parts = operands(tree)
        if len(parts) == 1:
            return [self.printing(source, token.span, inner, printed(inner, scope))]
        start = source.text.index(inner, token.inner.start)
        items: list[Item] = []
        for part, place in zip(parts, places(inner, len(parts)), strict=True):
            value = worth(part, scope) if part is not None else UNKNOWN
            if place is None:
                items.append(self.printing(source, token.span, inner, value))
            else:
                span = Span(start + place.start, start + place.end)
                items.append(self.printing(source, span, inner[slice(*place)], value))
        return items

    def printing(self, source: Source, span: Span, expression: str, value: Value) -> Piece:
        """Make the piece of an expression, or of the text that it always gives."""
        if value.text is not None:
            return self.piece(source, span, text=value.text)
        return self.piece(source, span, expression=expression, value=value)

    def called(
        self, source: Source, token: Token, tree: nodes.Expr, scope: Scope
    ) -> list[Item] | None:
        """Return what a macro, ``caller()`` or ``super()`` prints; None for other calls."""
        from jinja2 import nodes

        while isinstance(tree, nodes.Filter) and tree.node is not None:
            tree = tree.node
        path = path_of(tree.node) if isinstance(tree, nodes.Call) else None
        if path is None or not isinstance(tree, nodes.Call):
            return None
        if path == ["caller"] and self.callers:
            where, body, outer = self.callers[-1]
            return self.deeper(where, body, outer)
        if path[0] == "_" and path[1:] in (["role"], ["chat"]) and tree.args:
            return [self._role_call(source, token, tree.args[0])]
        if path == ["super"] and self.parents and self.parents[-1]:
            return self.overriding(self.parents[-1], scope)
        macro = self.macros.get(".".join(path))
        if macro is None:
            return None
        if any(macro is open_macro for open_macro in self.calling):
            return []  # it calls itself, and has been gone through once
        given = [worth(argument, scope) for argument in tree.args]
        names = dict(zip(macro.parameters, given, strict=False))
        names |= {word.key: worth(word.value, scope) for word in tree.kwargs}
        missing = {name: UNKNOWN for name in macro.parameters if name not in names}
        self.calling.append(macro)
        items = self.deeper(macro.source, macro.body, scope.child({**missing, **names}))
        self.calling.pop()
        return items

    def _role_call(self, source: Source, token: Token, role: nodes.Expr) -> Mark:
        """Return the mark that BAML's ``_.role("user")`` is."""
        from jinja2 import nodes

        name = role.value if isinstance(role, nodes.Const) else None
        return Mark(source=source, span=token.span, role=name, loop=self.loop())

    def overriding(self, bodies: list[tuple[Source, Sequence[Node]]], scope: Scope) -> list[Item]:
        """Return what the first body prints; ``super()`` in it stands for the next one."""
        (source, body), *rest = bodies
        self.parents.append(rest)
        items = self.deeper(source, body, scope)
        self.parents.pop()
        return items

    def deeper(self, source: Source, body: Sequence[Node], scope: Scope) -> list[Item]:
        """Return what a body prints that stands elsewhere; nothing where that goes in a circle."""
        if self.depth >= MAX_FOLLOWED:
            return []
        self._count()
        self.depth += 1
        try:
            return self.run(source, body, scope)
        finally:
            self.depth -= 1

    def block(self, source: Source, block: Block, scope: Scope) -> list[Item]:
        """Return what a tag prints, and take over what it defines."""
        handler = HANDLERS.get(block.name)
        if handler is not None and (block.bodies or block.name not in NEED_A_BODY):
            return handler(self, source, block, scope)
        return [i for body in block.bodies for i in self.run(source, body.nodes, scope)]


def tree_of(source: Source, part: Span | None = None) -> list[Node]:
    """Return a template as a tree; raises `Unreadable`."""
    try:
        return build(source.text, scan(source.text, part))
    except ScanError as error:
        place = source.place(error.offset)
        raise Unreadable(f"no Jinja template: line {place.line}: {error}") from None


def _blocks(tree: Sequence[Node]) -> Iterator[Block]:
    for node in tree:
        if isinstance(node, Block):
            if node.name == "block":
                yield node
            for body in node.bodies:
                yield from _blocks(body.nodes)
