"""The values that flow into an expression of JavaScript; as `flow` has it of Python."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from kvaudit.analyzers.keys.ecmascript.seen import short
from kvaudit.analyzers.keys.sourced.reference import DEPTH, Nature, Reference, Steps, each_once
from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.source.ecmascript.bindings import Binding
from kvaudit.analyzers.source.ecmascript.module import Module
from kvaudit.analyzers.source.ecmascript.syntax import FUNCTIONS, WRAPPERS, parameters
from kvaudit.analyzers.source.ecmascript.tree import Node

_CLOCK = re.compile(r"(Date|performance)\.now|Date")
_RANDOM = re.compile(r"(crypto\.)?randomUUID|uuid(v[147])?|v[147]|nanoid|ulid|Math\.random")
_ENCODES = re.compile(
    r"(JSON\.stringify|String|Buffer\.from|encodeURIComponent|createHash|stringify|canonicali[sz]e"
    r"|stableStringify|superjson\.stringify|Object\.(entries|values|assign|freeze)|btoa|Array\.from"
    r"|structuredClone|TextEncoder|Uint8Array|sha1|sha256|sha512|md5|hash|objectHash|hashObject|stableHash"
    r"|xxhash\w*|xxh\w+|murmur\w*|crypto\.(createHash|subtle\.digest)|\w*(Hash|hash)\w*)"
)
_FORMS = frozenset((
    "update", "digest", "toString", "join", "concat", "map", "flatMap", "sort", "toSorted",
    "encode", "hex", "flat", "entries", "values", "then", "getTime", "toISOString", "push",
    "padStart", "reverse", "valueOf", "toJSON", "finish",
))  # fmt: skip
"""Methods that change the form of a value, and nothing of what it says."""
_FILLS = frozenset(("update", "push", "unshift", "append", "write"))
_MODULES = frozenset(("JSON", "Object", "crypto", "Buffer", "Array", "Math", "superjson"))
_GLOBALS = _MODULES | {"undefined", "NaN", "Infinity", "null", "process", "console", "globalThis"}
_MEMBER = "member_expression"


class Bound(NamedTuple):
    """What a parameter is given where the call of its function is followed."""

    arg: Node
    around: Mapping[Node, Bound]


class Flow:
    """What flows in one file."""

    def __init__(self, module: Module) -> None:
        """Take the file."""
        self._module = module
        self._steps = Steps()
        self._open: set[Binding] = set()
        self._methods = {
            module.text(name): node
            for node in module.functions
            if node.kind == "method_definition" and (name := node.get("name")) is not None
        }

    def into(self, exprs: Iterable[Node]) -> list[Reference]:
        """Return what flows into some expressions, each once. Raises `Unreadable`."""
        self._steps = Steps()
        return each_once(one for expr in exprs for one in self._of(expr, {}, DEPTH))

    def _of(self, node: Node, bound: Mapping[Node, Bound], depth: int) -> list[Reference]:
        self._steps.take()
        special = self._special(node.kind)
        if special is not None:
            return special(node, bound, depth)
        return [one for kid in node.kids for one in self._of(kid, bound, depth)]

    def _special(self, kind: str) -> Callable[..., list[Reference]] | None:
        if kind in FUNCTIONS or kind in _NOTHING:
            return _nothing
        readers: dict[str, Callable[..., list[Reference]]] = {
            "identifier": self._name,
            "shorthand_property_identifier": self._name,
            "this": _nothing,
            _MEMBER: self._inside,
            "subscript_expression": self._inside,
            "call_expression": self._call,
            "new_expression": self._call,
            "ternary_expression": self._either,
            "pair": self._pair,
            "binary_expression": self._binary,
        }
        return readers.get(kind)

    def _reference(self, node: Node, word: str, nature: Nature = Nature.VALUE) -> Reference:
        line = self._module.source.place(node.start).line
        return Reference(words=(word,), text=short(self._module, node), line=line, nature=nature)

    def _name(self, node: Node, bound: Mapping[Node, Bound], depth: int) -> list[Reference]:
        name = self._module.text(node)
        if name in _GLOBALS:
            return []
        binding = self._module.resolve(node, name)
        itself = [self._reference(node, snake_case(name))]
        if binding is None or binding in self._open:
            return [] if binding is not None or name.isupper() else itself
        if binding.kind == "param":
            given = self._param(binding, bound, depth)
            return itself if given is None else given
        if binding.kind in ("import", "function", "class"):
            return [] if name.isupper() or binding.kind != "import" else itself
        self._open.add(binding)
        found = self._of_variable(binding, bound, depth)
        self._open.discard(binding)
        return found

    def _param(
        self, binding: Binding, bound: Mapping[Node, Bound], depth: int
    ) -> list[Reference] | None:
        around = bound.get(binding.node)
        if around is not None:
            return self._item(around.arg, binding.path, around.around, depth)
        named = binding.path[-1] if binding.path else binding.name
        if binding.node.parent is not None and binding.node.parent.kind == "arguments":
            return None
        line = self._module.source.place(binding.node.start).line
        made = Reference(words=(snake_case(named),), text=binding.name, line=line)
        return [made] if binding.path else None

    def _of_variable(
        self, binding: Binding, bound: Mapping[Node, Bound], depth: int
    ) -> list[Reference]:
        value = binding.node.get("value", "right")
        found = [] if value is None else self._item(value, binding.path, bound, depth)
        for write in (*binding.writes, *self._fills(binding)):
            right = write.get("right", "arguments")
            found += self._of(right, bound, depth) if right is not None else []
        return found

    def _fills(self, binding: Binding) -> list[Node]:
        """Return the calls that feed a hash: ``h.update(prompt)``."""
        found = []
        for call in self._module.calls:
            function = call.get("function")
            if function is None or function.kind != _MEMBER or call in binding.writes:
                continue
            method, target = function.get("property"), function.get("object")
            while target is not None and target.kind == "call_expression":
                inner = target.get("function")
                target = inner.get("object") if inner is not None else None
            if method is None or target is None or self._module.text(method) not in _FILLS:
                continue
            if self._module.text(target) == binding.name and (
                self._module.resolve(target, binding.name) is binding
            ):
                found.append(call)
        return found

    def _item(
        self, value: Node, path: Sequence[str], bound: Mapping[Node, Bound], depth: int
    ) -> list[Reference]:
        """Return what a value holds under some keys."""
        while value.kind in WRAPPERS and value.kids:
            value = value.kids[0]
        if path and value.kind == "object":
            for pair in value.kids:
                key = pair.get("key") if pair.kind == "pair" else pair
                if key is not None and self._module.text(key).strip("\"'") == path[0]:
                    inner = pair.get("value") or pair
                    return self._item(inner, path[1:], bound, depth)
        return [
            one.below(*map(snake_case, path)) if one.nature is Nature.VALUE else one
            for one in self._of(value, bound, depth)
        ]

    def _inside(self, node: Node, bound: Mapping[Node, Bound], depth: int) -> list[Reference]:
        value, word = node.get("object"), self._word(node)
        if value is None or self._module.dotted(node).startswith(("process.env", "import.meta")):
            return []
        if word.isupper() and len(word) > 1:
            return []  # a setting of the program
        if value.kind == "this":
            return [self._reference(node, snake_case(word))]
        around = self._argument(value, bound)
        if around is not None and word:
            return self._item(around.arg, (word,), around.around, depth)
        found = self._of(value, bound, depth)
        if not word:
            return found
        step = word if word.lstrip("-").isdigit() else snake_case(word)
        return [
            Reference(
                words=(*one.words, step),
                text=short(self._module, node),
                line=one.line,
                nature=one.nature,
            )
            for one in found
        ]

    def _argument(self, value: Node, bound: Mapping[Node, Bound]) -> Bound | None:
        """Return the object that a parameter is given by a call that is followed."""
        if value.kind != "identifier":
            return None
        binding = self._module.resolve(value, self._module.text(value))
        if binding is None or binding.kind != "param" or binding.path:
            return None
        around = bound.get(binding.node)
        return around if around is not None and around.arg.kind == "object" else None

    def _word(self, node: Node) -> str:
        """Return the name or index by which something is taken."""
        named = node.get("property")
        if named is not None:
            return self._module.text(named)
        index = node.get("index")
        if index is None:
            return ""
        if index.kind == "string":
            return self._module.string(index)
        text = self._module.text(index)
        return "-1" if re.fullmatch(r".*\.length\s*-\s*1", text) else text if text.isdigit() else ""

    def _call(self, node: Node, bound: Mapping[Node, Bound], depth: int) -> list[Reference]:
        called, given = node.get("function", "constructor"), node.get("arguments")
        name = self._module.dotted(called)
        args = list(given.kids) if given is not None else []
        if not args and _CLOCK.fullmatch(name):
            return [self._reference(node, "", Nature.CLOCK)]
        if _RANDOM.fullmatch(name):
            return [self._reference(node, "", Nature.RANDOM)]
        followed = self._own(called, args, bound, depth)
        if followed is not None:
            return followed
        found = [one for arg in args for one in self._of(arg, bound, depth)]
        if called is None or called.kind != _MEMBER:
            whole = _ENCODES.fullmatch(name) is not None
            return found if whole else [one.cut_by(short(self._module, node)) for one in found]
        target, method = called.get("object"), self._word(called)
        base = self._of(target, bound, depth) if target is not None else []
        if method == "at" and args and self._module.text(args[0]) == "-1":
            return [one.below("-1") for one in base]
        whole = method in _FORMS or _ENCODES.fullmatch(name) is not None or self._is_digest(target)
        every = [*base, *found]
        return every if whole else [one.cut_by(short(self._module, node)) for one in every]

    def _is_digest(self, node: Node | None) -> bool:
        """Whether what is cut is a digest, of which still all is made."""
        return node is not None and self._module.dotted(node).endswith((".digest", ".toString"))

    def _own(
        self, called: Node | None, args: Sequence[Node], bound: Mapping[Node, Bound], depth: int
    ) -> list[Reference] | None:
        """Return what flows out of a function of the file; None for one of elsewhere."""
        maker = self._function(called) if called is not None and depth else None
        returned = self._module.returned(maker) if maker is not None else []
        if maker is None or not returned:
            return None
        given = {
            param: Bound(arg, bound)
            for param, arg in zip(parameters(maker), args, strict=False)
        }  # fmt: skip
        return [one for expr in returned for one in self._of(expr, given, depth - 1)]

    def _function(self, called: Node) -> Node | None:
        if called.kind == _MEMBER:
            owner, name = called.get("object"), self._word(called)
            return self._methods.get(name) if owner is not None and owner.kind == "this" else None
        binding = self._module.resolve(called, self._module.text(called))
        if binding is None or binding.kind == "import":
            return None
        node = binding.node if binding.kind == "function" else binding.node.get("value")
        return node if node is not None and node.kind in FUNCTIONS else None

    def _either(self, node: Node, bound: Mapping[Node, Bound], depth: int) -> list[Reference]:
        sides = [node.get("consequence"), node.get("alternative")]
        return [one for side in sides if side is not None for one in self._of(side, bound, depth)]

    def _pair(self, node: Node, bound: Mapping[Node, Bound], depth: int) -> list[Reference]:
        value = node.get("value")
        return [] if value is None else self._of(value, bound, depth)

    def _binary(self, node: Node, bound: Mapping[Node, Bound], depth: int) -> list[Reference]:
        sides = [node.get("left"), node.get("right")]
        found = [one for side in sides if side is not None for one in self._of(side, bound, depth)]
        operator = node.get("operator")
        if operator is None or self._module.text(operator) in ("+", "??", "||"):
            return found
        return [one.cut_by(short(self._module, node)) for one in found]


_NOTHING = frozenset((
    "string", "number", "true", "false", "null", "undefined", "regex", "comment",
    "type_annotation", "type_arguments", "property_identifier", "statement_identifier",
))  # fmt: skip


def _nothing(*_: object) -> list[Reference]:
    return []
