"""Chat templates rendered with the place in the template that printed each piece.

The environment is that of `kvaudit.tokens.jinja_sandbox`, with narrower bounds, since a linter
meets templates that nobody asked it to trust: each loop looks at the clock, joined text and
padding have a largest size, and filters that chat templates do not use are not there.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import jinja2
import jinja2.ext
from jinja2 import meta, nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.exceptions import SecurityError
from jinja2.lexer import TokenStream
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.utils import Namespace

from kvaudit.analyzers.probe.bounds import (
    FILTERS,
    MAX_CHARS,
    TEXT_METHODS,
    check_method,
    check_size,
    weigh,
)
from kvaudit.tokens.jinja_sandbox import Sandbox, raise_exception

MAX_SECONDS = 2.0
"""What one rendering may take."""

_TICK = "_kvaudit_tick"
_OPENING = frozenset({"variable_begin", "block_begin", "comment_begin", "raw_begin", "data"})
_FILTERS = frozenset(
    {"abs", "attr", "capitalize", "count", "d", "default", "dictsort", "e", "escape", "first"}
    | {"float", "groupby", "int", "items", "join", "last", "length", "list", "lower", "map", "max"}
    | {"min", "reject", "rejectattr", "replace", "reverse", "round", "safe", "select", "sort"}
    | {"selectattr", "string", "sum", "title", "tojson", "trim", "unique", "upper", "indent"}
)
REFUSALS = (
    jinja2.TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What a template raises that cannot render a conversation."""


class Chunk(NamedTuple):
    """Where in the output a piece ends, and where in the template its tag begins."""

    end: int
    offset: int


@dataclass(frozen=True, slots=True)
class Trace:
    """A rendered text, and what printed it."""

    text: str
    chunks: list[Chunk]

    def offset_of(self, position: int) -> int:
        """Return where in the template the tag begins that printed a character."""
        index = bisect_right(self.chunks, position, key=lambda chunk: chunk.end)
        return self.chunks[min(index, len(self.chunks) - 1)].offset if self.chunks else 0


class TracedTemplate:
    """A compiled chat template that says what printed what."""

    def __init__(self, source: str, now: datetime) -> None:
        """Compile; raises `jinja2.TemplateSyntaxError`."""
        self._environment = _Environment(source, now)
        unix = source.replace("\r\n", "\n")
        self.names = meta.find_undeclared_variables(self._environment.parse(unix))
        self._template = self._environment.from_string(unix)

    def render(self, variables: Mapping[str, Any]) -> Trace:
        """Render; raises one of `REFUSALS`."""
        self._environment.deadline = time.monotonic() + MAX_SECONDS
        context = self._template.new_context(dict(variables))
        generator: Any = self._template.root_render_func(context)
        parts: list[str] = []
        chunks: list[Chunk] = []
        length = 0
        for part in generator:
            self._environment.check_time()
            length += len(part)
            if length > MAX_CHARS:
                raise SecurityError(f"writes more than {MAX_CHARS} characters")
            line = self._template.get_corresponding_lineno(generator.gi_frame.f_lineno)
            parts.append(part)
            chunks.append(Chunk(length, self._environment.original_offset(line - 1)))
        return Trace("".join(parts), chunks)


class _Namespace(Namespace):
    """A namespace that does not write out what it holds, which may be itself."""

    def __repr__(self) -> str:
        return "<Namespace>"


class _Generation(jinja2.ext.Extension):
    """``{% generation %}`` marks the answer for training; its body is rendered as it stands."""

    tags = {"generation"}  # noqa: RUF012 - the type that jinja2 declares

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _Generator(CodeGenerator):
    """Writes code in which every piece of output, and every turn of a loop, can be told apart."""

    def visit_Output(self, node: nodes.Output, frame: Frame) -> None:
        for child in node.nodes:
            self.newline(child)
            super().visit_Output(nodes.Output([child], lineno=child.lineno), frame)

    def visit_For(self, node: nodes.For, frame: Frame) -> None:
        tick = nodes.Call(nodes.Name(_TICK, "load"), [], [], None, None, lineno=node.lineno)
        body = [nodes.ExprStmt(tick, lineno=node.lineno), *node.body]
        traced = nodes.For(
            node.target, node.iter, body, node.else_, node.test, node.recursive, lineno=node.lineno
        )
        traced.set_environment(self.environment)
        super().visit_For(traced, frame)

    def visit_List(self, node: nodes.List, frame: Frame) -> None:
        self.write("environment.weighed(")
        super().visit_List(node, frame)
        self.write(")")

    def visit_Tuple(self, node: nodes.Tuple, frame: Frame) -> None:
        if node.ctx != "load":
            super().visit_Tuple(node, frame)
            return
        self.write("environment.weighed(")
        super().visit_Tuple(node, frame)
        self.write(")")

    def visit_Dict(self, node: nodes.Dict, frame: Frame) -> None:
        self.write("environment.weighed(")
        super().visit_Dict(node, frame)
        self.write(")")

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:
        self.write("environment.concatenated((")
        for child in node.nodes:
            self.visit(child, frame)
            self.write(", ")
        self.write("))")


class _Environment(Sandbox):
    """The sandbox, with offsets in place of line numbers and a size for every value."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})
    code_generator_class = _Generator

    def __init__(self, source: str, now: datetime) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[_Generation, jinja2.ext.loopcontrols],
        )
        self.filters = {name: f for name, f in self.filters.items() if name in _FILTERS}
        self.filters |= FILTERS
        self.globals = {
            **{name: self.globals[name] for name in ("range", "joiner")},
            "dict": lambda **items: self.weighed(items),
            "namespace": _Namespace,
            _TICK: self.check_time,
            "raise_exception": raise_exception,
            "strftime_now": now.strftime,
        }
        self._removed = [i - n for n, i in enumerate(_returns(source))]

    def original_offset(self, offset: int) -> int:
        """Return where a character of the text with LF stands in the file."""
        return offset + bisect_right(self._removed, offset)

    def _tokenize(
        self, source: str, name: str | None, filename: str | None = None, state: str | None = None
    ) -> TokenStream:
        # The only use that jinja2 makes of a token's line is to carry it into nodes and from
        # there into the table of code lines, so it may as well be an offset.
        stream = self.lexer.tokeniter(source, name, filename, state)
        return TokenStream(self.lexer.wrap(_placed(source, stream), name, filename), name, filename)

    def concatenated(self, values: tuple[Any, ...]) -> str:
        """Join values to text, as ``~`` does."""
        texts = [str(value) for value in values]
        check_size(sum(map(len, texts)))
        return "".join(texts)

    def weighed(self, value: Any) -> Any:
        """Return a value, unless it would be too large when written out."""
        weigh(value)
        return value

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Look an attribute up; text has only methods whose result is bounded."""
        if isinstance(obj, str) and attribute not in TEXT_METHODS:
            return self.undefined(obj=obj, name=attribute)
        return super().getattr(obj, attribute)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Compute where the result has a bounded size."""
        if operator == "+":
            if hasattr(left, "__len__") and hasattr(right, "__len__"):
                check_size(len(left) + len(right))
                return self.weighed(left + right)
            return left + right
        if operator == "*":
            for sized, times in ((left, right), (right, left)):
                if isinstance(sized, list | tuple):
                    raise SecurityError("lists are not repeated here")
                if isinstance(sized, str):
                    check_size(len(sized) * int(times))
        return super().call_binop(context, operator, left, right)

    def call(self, context: Context, obj: Any, *args: Any, **kwargs: Any) -> Any:
        """Call where neither the arguments nor what a text method makes of them are too large."""
        text = getattr(obj, "__self__", None)
        if isinstance(text, str):
            check_method(text, getattr(obj, "__name__", ""), args)
        return super().call(context, obj, *args, **kwargs)


def _returns(source: str) -> Iterator[int]:
    at = source.find("\r\n")
    while at >= 0:
        yield at
        at = source.find("\r\n", at + 2)


def _placed(source: str, stream: Iterator[tuple[int, str, str]]) -> Iterator[tuple[int, str, str]]:
    """Give each token the offset of its tag, plus one, in place of its line.

    White-space control drops text between tokens; nothing else is dropped, so each token is
    found at the first place behind the one before.
    """
    at = tag = 0
    for _, kind, value in stream:
        at = source.index(value, at)
        if kind in _OPENING:
            tag = at
        at += len(value)
        yield tag + 1, kind, value
