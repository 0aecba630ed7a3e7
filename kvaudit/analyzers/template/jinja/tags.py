"""What each tag of Jinja prints, and what it defines.

One function a tag, taken from the table at the end; tags that are not in it print their bodies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kvaudit.analyzers.template.jinja.expressions import Scope, parsed, value_of
from kvaudit.analyzers.template.jinja.tree import Block, Node, arguments
from kvaudit.analyzers.template.pieces import Item, Mark, Piece, Switch, shorter_arms_marked
from kvaudit.analyzers.template.values import CONSTANT, UNKNOWN, Value, joined
from kvaudit.core.document import Observation, Origin, Position, Step
from kvaudit.core.sources import Source

if TYPE_CHECKING:
    from kvaudit.analyzers.template.jinja.render import Walk

MAX_TRAIL = 5
"""Steps of a value's way that are kept, the last ones."""
QUOTED = re.compile(r"""["']([^"'\n]{1,200})["']""")
"""A name of a file, or the like."""

_MACRO = re.compile(r"(?P<name>\w+) ?(?:\((?P<parameters>.*)\))?$")
_WINDOW = re.compile(r"\w+\[\s*-\s*[\w.]+\s*:\s*\]")
_IMPORTED = re.compile(r"(\w+)(?:\s+as\s+(\w+))?")
_ROLE = re.compile(r"""(?:role\s*=\s*)?["'](\w+)["']""")


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro of this template or of an imported one."""

    source: Source
    parameters: tuple[str, ...]
    body: Sequence[Node]


def _message(walk: Walk, source: Source, block: Block, scope: Scope) -> list[Item]:
    role = _ROLE.search(arguments(source.text, block.tag))
    begin = Mark(
        source=source,
        span=block.tag.span,
        role=role[1].lower() if role else None,
        loop=walk.loop(),
    )
    return [begin, *walk.run(source, block.bodies[0].nodes, scope)]


def _if_tag(walk: Walk, source: Source, block: Block, scope: Scope) -> list[Item]:
    """Go through every arm; the longest one counts."""
    switches: list[Item] = []
    if not walk.loops and not walk.branches:
        test = arguments(source.text, block.tag)
        cases = len(block.bodies) + (block.bodies[-1].name != "else")
        value = value_of(test, scope)
        switches.append(
            Switch(source=source, span=block.tag.span, test=test, value=value, cases=cases)
        )
    walk.branches += 1
    arms = []
    outcomes: list[dict[str, Value]] = []
    for body in block.bodies:
        inner = scope.child({})
        arms.append(walk.run(source, body.nodes, inner))
        outcomes.append(inner.names)
    walk.branches -= 1
    for name in {name for outcome in outcomes for name in outcome}:
        set_to = [scope.get(name), *(names.get(name) for names in outcomes)]
        possible = [value for value in set_to if value is not None]
        same = all(value == possible[0] for value in possible)
        scope.names[name] = possible[0] if same else joined(possible)
    return [*switches, *shorter_arms_marked(arms)]


def _for_tag(walk: Walk, source: Source, block: Block, scope: Scope) -> list[Item]:
    """Go through a loop once, its names taking what is gone through."""
    names, _, iterated = _words(source, block).removesuffix(" recursive").partition(" in ")
    over = replace(value_of(iterated.partition(" if ")[0], scope), text=None)
    walk.loops.append(over.origin)
    inner = scope.child(dict.fromkeys(re.findall(r"\w+", names), over))
    items = walk.run(source, block.bodies[0].nodes, inner)
    walk.loops.pop()
    otherwise = [walk.run(source, body.nodes, scope) for body in block.bodies[1:]]
    return [*_window(source, block, over), *shorter_arms_marked([items, *otherwise])]


def _set_tag(walk: Walk, source: Source, block: Block, scope: Scope) -> list[Item]:
    """Give names the value of an expression, or of the text of the block."""
    stated = arguments(source.text, block.tag)
    if block.bodies:
        items = walk.run(source, block.bodies[0].nodes, scope)
        value = joined(item.value for item in items if isinstance(item, Piece))
        _bind(source, block, stated.split("|")[0].strip(), value, scope)
        return []
    names, _, expression = stated.partition("=")
    value = value_of(expression.strip(), scope)
    for name in names.split(","):
        _bind(source, block, name.strip(), value, scope)
    return []


def _bind(source: Source, block: Block, name: str, value: Value, scope: Scope) -> None:
    owner, _, attribute = name.partition(".")
    if value.origin is Origin.UNKNOWN:
        return
    if attribute:
        value = joined([scope.get(owner) or CONSTANT, value])
    if value.origin is not Origin.CONSTANT:
        step = Step(source=source, span=block.tag.span, label=f"gives {name} its value")
        value = replace(value, trail=(*value.trail[-MAX_TRAIL:], step))
    scope.names[owner] = value


def _with_tag(walk: Walk, source: Source, block: Block, scope: Scope) -> list[Item]:
    """Go through a block with names of its own."""
    inner = scope.child({})
    for part in arguments(source.text, block.tag).split(","):
        name, assigned, expression = part.partition("=")
        if assigned:
            inner.names[name.strip()] = value_of(expression.strip(), scope)
    return walk.run(source, block.bodies[0].nodes, inner)


def _macro_tag(walk: Walk, source: Source, block: Block, scope: Scope) -> list[Item]:
    """Keep a macro for where it is called."""
    found = _MACRO.match(_words(source, block))
    if found is not None:
        parameters = re.findall(r"(?:^|,)\s*(\w+)", found["parameters"] or "")
        walk.macros[found["name"]] = Macro(source, tuple(parameters), block.bodies[0].nodes)
    return []


def _call_tag(walk: Walk, source: Source, block: Block, scope: Scope) -> list[Item]:
    """Print a macro that may print this block's body as ``caller()``."""
    said = re.sub(r"^\([^)]*\)\s*", "", arguments(source.text, block.tag))
    tree = parsed(said)
    walk.callers.append((source, block.bodies[0].nodes, scope))
    items = None if tree is None else walk.called(source, block.tag, tree, scope)
    walk.callers.pop()
    return walk.run(source, block.bodies[0].nodes, scope) if items is None else items


def _block_tag(walk: Walk, source: Source, block: Block, scope: Scope) -> list[Item]:
    """Print a block, or what a child has put in its place."""
    name = arguments(source.text, block.tag).split(" ")[0]
    own = (source, block.bodies[0].nodes)
    return walk.overriding([*walk.overrides.get(name, []), own], scope)


def _include_tag(walk: Walk, source: Source, block: Block, scope: Scope) -> list[Item]:
    """Print another template of the project."""
    stated = arguments(source.text, block.tag)
    found = walk.named_file(source, stated)
    if found is not None:
        return walk.followed(found, scope.child({}))
    # The file is not here: its text is taken to be fixed, of a size that is not known.
    value = CONSTANT if QUOTED.search(stated) else UNKNOWN
    return [walk.piece(source, block.tag.span, expression=f"include {stated}", value=value)]


def _import_tag(walk: Walk, source: Source, block: Block, scope: Scope) -> list[Item]:
    """Take over another template's macros under a name."""
    stated = arguments(source.text, block.tag)
    alias = re.search(r"\bas\s+(\w+)", stated)
    if alias is not None:
        for name, macro in _macros_of(walk, source, stated).items():
            walk.macros[f"{alias[1]}.{name}"] = macro
    return []


def _from_tag(walk: Walk, source: Source, block: Block, scope: Scope) -> list[Item]:
    """Take over some macros of another template."""
    stated = arguments(source.text, block.tag)
    macros = _macros_of(walk, source, stated)
    for name, alias in _IMPORTED.findall(stated.partition(" import ")[2]):
        if name in macros:
            walk.macros[alias or name] = macros[name]
    return []


def _macros_of(walk: Walk, source: Source, stated: str) -> Mapping[str, Macro]:
    found = walk.named_file(source, stated)
    if found is None:
        return {}
    own, walk.macros = walk.macros, {}
    walk.followed(found, Scope(walk.project.variables))
    given, walk.macros = walk.macros, own
    return given


def _extends_tag(walk: Walk, source: Source, block: Block, scope: Scope) -> list[Item]:
    """Print nothing here: the parent was followed, or is not in the project."""
    return []


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


HANDLERS: Mapping[str, Callable[[Walk, Source, Block, Scope], list[Item]]] = {
    "if": _if_tag,
    "for": _for_tag,
    "set": _set_tag,
    "with": _with_tag,
    "macro": _macro_tag,
    "call": _call_tag,
    "block": _block_tag,
    "include": _include_tag,
    "import": _import_tag,
    "from": _from_tag,
    "extends": _extends_tag,
    "chat": _message,
    "message": _message,
}
NEED_A_BODY = frozenset({"chat", "message"})
"""Tags of frameworks that are read only where they hold something."""
