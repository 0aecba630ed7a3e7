"""A Jinja template in rendered order, without rendering it.

Follows includes, parents, imports and macros inside the project. A loop is gone through once, a
branch arm after arm. Nothing is evaluated: values are known by where they come from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kvaudit.analyzers.reader import Project, Unreadable
from kvaudit.analyzers.template.jinja.expressions import (
    Scope,
    parsed,
    path_of,
    printed,
    value_of,
    worth,
)
from kvaudit.analyzers.template.jinja.scan import Kind, ScanError, Token, scan
from kvaudit.analyzers.template.jinja.tree import Block, Node, arguments, build
from kvaudit.analyzers.template.pieces import (
    MAX_PIECES,
    Item,
    Mark,
    Piece,
    Switch,
    shorter_arms_marked,
)
from kvaudit.analyzers.template.values import CONSTANT, UNKNOWN, Value, joined
from kvaudit.core.document import Observation, Origin, Position, Step
from kvaudit.core.sources import Source, Span

if TYPE_CHECKING:
    from jinja2 import nodes

MAX_FOLLOWED = 12
"""Includes, parents and macro calls inside one another; more is a circle."""

MAX_TRAIL = 5
"""Steps of a value's way that are kept, the last ones."""

_QUOTED = re.compile(r"""["']([^"'\n]{1,200})["']""")
_MACRO = re.compile(r"(?P<name>\w+) ?(?:\((?P<parameters>.*)\))?$")
_WINDOW = re.compile(r"\w+\[\s*-\s*[\w.]+\s*:\s*\]")
_IMPORTED = re.compile(r"(\w+)(?:\s+as\s+(\w+))?")
_ROLE = re.compile(r"""(?:role\s*=\s*)?["'](\w+)["']""")
_MESSAGE_TAGS = frozenset({"chat", "message"})


class TooMuch(Unreadable):
    """A template that gives more than one would ever send."""


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro of this template or of an imported one."""

    source: Source
    parameters: tuple[str, ...]
    body: Sequence[Node]


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
    walk = _Walk(project)
    walk.macros |= macros or {}
    return walk.file(source, Scope(project.variables), part)


class _Walk:
    """One way through a template and what it draws in."""

    def __init__(self, project: Project) -> None:
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
        return self._followed(parent, scope)

    def _parent(self, source: Source, tree: Sequence[Node]) -> Source | None:
        for node in tree:
            if isinstance(node, Block) and node.name == "extends":
                return self._named_file(source, arguments(source.text, node.tag))
        return None

    def _named_file(self, source: Source, text: str) -> Source | None:
        for name in _QUOTED.findall(text):
            found = self.project.sibling(source, name)
            if found is not None:
                return found
        return None

    def _followed(self, source: Source, scope: Scope) -> list[Item]:
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
        loop = self._loop()
        return Piece(
            source=source, span=span, text=text, expression=expression, value=value, loop=loop
        )

    def _count(self) -> None:
        self.count += 1
        if self.count > MAX_PIECES:
            raise TooMuch(f"it gives more than {MAX_PIECES} pieces of text")

    def _loop(self) -> Origin | None:
        if not self.loops:
            return None
        return Origin.HISTORY if Origin.HISTORY in self.loops else self.loops[-1]

    def output(self, source: Source, token: Token, scope: Scope) -> list[Item]:
        """Return what ``{{ ... }}`` prints."""
        inner = source.text[token.inner.start : token.inner.end].strip()
        tree = parsed(inner)
        called = None if tree is None else self._called(source, token, tree, scope)
        if called is not None:
            return called
        items: list[Item] = []
        for part in _summands(tree):
            value = printed(inner, scope) if part is None or part is tree else worth(part, scope)
            if value.text is not None:
                items.append(self.piece(source, token.span, text=value.text))
            else:
                items.append(self.piece(source, token.span, expression=inner, value=value))
        return items

    def _called(
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
            return self._deeper(where, body, outer)
        if path[0] == "_" and path[1:] in (["role"], ["chat"]) and tree.args:
            return [self._role_call(source, token, tree.args[0])]
        if path == ["super"] and self.parents and self.parents[-1]:
            return self._overriding(self.parents[-1], scope)
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
        items = self._deeper(macro.source, macro.body, scope.child({**missing, **names}))
        self.calling.pop()
        return items

    def _role_call(self, source: Source, token: Token, role: nodes.Expr) -> Mark:
        """Return the mark that BAML's ``_.role("user")`` is."""
        from jinja2 import nodes

        name = role.value if isinstance(role, nodes.Const) else None
        return Mark(source=source, span=token.span, role=name, loop=self._loop())

    def _deeper(self, source: Source, body: Sequence[Node], scope: Scope) -> list[Item]:
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
        handler = getattr(self, f"tag_{block.name}", None)
        if handler is not None:
            result: list[Item] = handler(source, block, scope)
            return result
        if block.name in _MESSAGE_TAGS and block.bodies:
            return self._message(source, block, scope)
        return [i for body in block.bodies for i in self.run(source, body.nodes, scope)]

    def _message(self, source: Source, block: Block, scope: Scope) -> list[Item]:
        role = _ROLE.search(arguments(source.text, block.tag))
        begin = Mark(
            source=source,
            span=block.tag.span,
            role=role[1].lower() if role else None,
            loop=self._loop(),
        )
        return [begin, *self.run(source, block.bodies[0].nodes, scope)]

    def tag_if(self, source: Source, block: Block, scope: Scope) -> list[Item]:
        """Go through every arm; the longest one counts."""
        switches: list[Item] = []
        if not self.loops and not self.branches:
            test = arguments(source.text, block.tag)
            cases = len(block.bodies) + (block.bodies[-1].name != "else")
            value = value_of(test, scope)
            switches.append(
                Switch(source=source, span=block.tag.span, test=test, value=value, cases=cases)
            )
        self.branches += 1
        arms = []
        outcomes: list[dict[str, Value]] = []
        for body in block.bodies:
            inner = scope.child({})
            arms.append(self.run(source, body.nodes, inner))
            outcomes.append(inner.names)
        self.branches -= 1
        for name in {name for outcome in outcomes for name in outcome}:
            set_to = [scope.get(name), *(names.get(name) for names in outcomes)]
            possible = [value for value in set_to if value is not None]
            same = all(value == possible[0] for value in possible)
            scope.names[name] = possible[0] if same else joined(possible)
        return [*switches, *shorter_arms_marked(arms)]

    def tag_for(self, source: Source, block: Block, scope: Scope) -> list[Item]:
        """Go through a loop once, its names taking what is gone through."""
        names, _, iterated = _words(source, block).removesuffix(" recursive").partition(" in ")
        over = replace(value_of(iterated.partition(" if ")[0], scope), text=None)
        self.loops.append(over.origin)
        inner = scope.child(dict.fromkeys(re.findall(r"\w+", names), over))
        items = self.run(source, block.bodies[0].nodes, inner)
        self.loops.pop()
        otherwise = [self.run(source, body.nodes, scope) for body in block.bodies[1:]]
        return [*_window(source, block, over), *shorter_arms_marked([items, *otherwise])]

    def tag_set(self, source: Source, block: Block, scope: Scope) -> list[Item]:
        """Give names the value of an expression, or of the text of the block."""
        stated = arguments(source.text, block.tag)
        if block.bodies:
            items = self.run(source, block.bodies[0].nodes, scope)
            value = joined(item.value for item in items if isinstance(item, Piece))
            self._bind(source, block, stated.split("|")[0].strip(), value, scope)
            return []
        names, _, expression = stated.partition("=")
        value = value_of(expression.strip(), scope)
        for name in names.split(","):
            self._bind(source, block, name.strip(), value, scope)
        return []

    def _bind(self, source: Source, block: Block, name: str, value: Value, scope: Scope) -> None:
        owner, _, attribute = name.partition(".")
        if value.origin is Origin.UNKNOWN:
            return
        if attribute:
            value = joined([scope.get(owner) or CONSTANT, value])
        if value.origin is not Origin.CONSTANT:
            step = Step(source=source, span=block.tag.span, label=f"gives {name} its value")
            value = replace(value, trail=(*value.trail[-MAX_TRAIL:], step))
        scope.names[owner] = value

    def tag_with(self, source: Source, block: Block, scope: Scope) -> list[Item]:
        """Go through a block with names of its own."""
        inner = scope.child({})
        for part in arguments(source.text, block.tag).split(","):
            name, assigned, expression = part.partition("=")
            if assigned:
                inner.names[name.strip()] = value_of(expression.strip(), scope)
        return self.run(source, block.bodies[0].nodes, inner)

    def tag_macro(self, source: Source, block: Block, scope: Scope) -> list[Item]:
        """Keep a macro for where it is called."""
        found = _MACRO.match(_words(source, block))
        if found is not None:
            parameters = re.findall(r"(?:^|,)\s*(\w+)", found["parameters"] or "")
            self.macros[found["name"]] = Macro(source, tuple(parameters), block.bodies[0].nodes)
        return []

    def tag_call(self, source: Source, block: Block, scope: Scope) -> list[Item]:
        """Print a macro that may print this block's body as ``caller()``."""
        said = re.sub(r"^\([^)]*\)\s*", "", arguments(source.text, block.tag))
        tree = parsed(said)
        self.callers.append((source, block.bodies[0].nodes, scope))
        items = None if tree is None else self._called(source, block.tag, tree, scope)
        self.callers.pop()
        return self.run(source, block.bodies[0].nodes, scope) if items is None else items

    def tag_block(self, source: Source, block: Block, scope: Scope) -> list[Item]:
        """Print a block, or what a child has put in its place."""
        name = arguments(source.text, block.tag).split(" ")[0]
        own = (source, block.bodies[0].nodes)
        return self._overriding([*self.overrides.get(name, []), own], scope)

    def _overriding(self, bodies: list[tuple[Source, Sequence[Node]]], scope: Scope) -> list[Item]:
        (source, body), *rest = bodies
        self.parents.append(rest)
        items = self._deeper(source, body, scope)
        self.parents.pop()
        return items

    def tag_include(self, source: Source, block: Block, scope: Scope) -> list[Item]:
        """Print another template of the project."""
        stated = arguments(source.text, block.tag)
        found = self._named_file(source, stated)
        if found is not None:
            return self._followed(found, scope.child({}))
        # The file is not here: its text is taken to be fixed, of a size that is not known.
        value = CONSTANT if _QUOTED.search(stated) else UNKNOWN
        return [self.piece(source, block.tag.span, expression=f"include {stated}", value=value)]

    def tag_import(self, source: Source, block: Block, scope: Scope) -> list[Item]:
        """Take over another template's macros under a name."""
        stated = arguments(source.text, block.tag)
        alias = re.search(r"\bas\s+(\w+)", stated)
        if alias is not None:
            for name, macro in self._macros_of(source, stated).items():
                self.macros[f"{alias[1]}.{name}"] = macro
        return []

    def tag_from(self, source: Source, block: Block, scope: Scope) -> list[Item]:
        """Take over some macros of another template."""
        stated = arguments(source.text, block.tag)
        macros = self._macros_of(source, stated)
        for name, alias in _IMPORTED.findall(stated.partition(" import ")[2]):
            if name in macros:
                self.macros[alias or name] = macros[name]
        return []

    def _macros_of(self, source: Source, stated: str) -> Mapping[str, Macro]:
        found = self._named_file(source, stated)
        if found is None:
            return {}
        own, self.macros = self.macros, {}
        self._followed(found, Scope(self.project.variables))
        given, self.macros = self.macros, own
        return given

    def tag_extends(self, source: Source, block: Block, scope: Scope) -> list[Item]:
        """Print nothing here: the parent was followed, or is not in the project."""
        return []


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


def _summands(tree: nodes.Expr | None) -> list[nodes.Expr | None]:
    """Return the parts of ``a ~ 'text' + b``, in order; a lone part where no text is in it."""
    from jinja2 import nodes

    if isinstance(tree, nodes.Concat):
        return [part for one in tree.nodes for part in _summands(one)]
    if isinstance(tree, nodes.Add):
        parts = [*_summands(tree.left), *_summands(tree.right)]
        if any(isinstance(p, nodes.Const) and isinstance(p.value, str) for p in parts):
            return parts
    return [tree]


def _window(source: Source, block: Block, over: Value) -> Iterator[Observation]:
    """Yield that a loop goes through the last messages only, and so begins elsewhere each turn."""
    window = _WINDOW.search(arguments(source.text, block.tag))
    if window is not None and over.origin is Origin.HISTORY:
        yield Observation(
            kind="history-trimmed-each-turn",
            source=source,
            span=block.tag.span,
            detail=f"only {window[0]} is printed",
            evidence=over.evidence,
            position=Position.HISTORY,
        )


def _words(source: Source, block: Block) -> str:
    """Return what stands behind a tag's name, with single spaces."""
    return " ".join(arguments(source.text, block.tag).split())
