"""The environment that chat templates expect, closed in and bounded.

As transformers 5 sets it up: an immutable sandbox, trimmed blocks, loop controls, ``tojson``
that leaves text as it is, ``raise_exception``, ``strftime_now`` and the ``generation`` tag,
which here only gives its body. Beside that, the clock stands still, a rendering may neither
take longer nor write more than a limit, and products cannot blow up. Not bounded: the time of
a loop that reads nothing, and the memory of a value that is joined to itself again and again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import jinja2
import jinja2.ext
from jinja2 import nodes
from jinja2.exceptions import SecurityError
from jinja2.parser import Parser
from jinja2.runtime import Context, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment

MAX_SECONDS = 20.0
MAX_CHARS = 256 * 2**20
_MAX_PRODUCT = 2**30
_MAX_BASE, _MAX_EXPONENT = 2**20, 64


class Generation(jinja2.ext.Extension):
    """``{% generation %}`` marks the assistant's text for training; its body is rendered."""

    tags = {"generation"}  # noqa: RUF012 - the type that jinja2 declares

    def parse(self, parser: Parser) -> nodes.Node:
        """Read the block."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller: Macro) -> str:
        return str(caller())


class Sandbox(ImmutableSandboxedEnvironment):
    """A sandbox that gives up after a time."""

    intercepted_binops = frozenset({"*", "**", "%"})
    deadline = float("inf")

    def check_time(self) -> None:
        """Give up once the deadline is past."""
        if time.monotonic() > self.deadline:
            raise SecurityError(f"takes longer than {MAX_SECONDS:g} seconds")

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Look an attribute up, in time."""
        self.check_time()
        return super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Look an item up, in time."""
        self.check_time()
        return super().getitem(obj, argument)

    def call(self, context: Context, obj: Any, *args: Any, **kwargs: Any) -> Any:
        """Call, in time."""
        self.check_time()
        return super().call(context, obj, *args, **kwargs)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Compute a product or a power that is not too large."""
        if not _is_bounded(operator, left, right):
            raise SecurityError(f"operator {operator} could make too large a value")
        return super().call_binop(context, operator, left, right)


def _is_bounded(operator: str, left: Any, right: Any) -> bool:
    if operator == "%":  # formatting can pad to any width
        return not isinstance(left, str)
    sizes = [len(x) if isinstance(x, str | list | tuple) else abs(x) for x in (left, right)]
    if operator == "*":
        return bool(sizes[0] * sizes[1] <= _MAX_PRODUCT)
    return bool(sizes[0] <= _MAX_BASE and sizes[1] <= _MAX_EXPONENT)


def tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Write JSON as transformers does: other scripts unescaped, keys in the order they came."""
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


def raise_exception(message: str) -> None:
    """Let a template refuse a conversation."""
    raise jinja2.TemplateError(message)


def compile_template(source: str, *, now: datetime) -> Callable[[Mapping[str, Any]], str]:
    """Compile a chat template; the result renders variables to text.

    ``now`` is what ``strftime_now`` shows. Raises `jinja2.TemplateSyntaxError`; rendering
    raises `jinja2.TemplateError`, or what Python raises for an operation on wrong types.
    """
    environment = Sandbox(
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[Generation, jinja2.ext.loopcontrols],
    )
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = now.strftime
    template = environment.from_string(source)

    def render(variables: Mapping[str, Any]) -> str:
        environment.deadline = time.monotonic() + MAX_SECONDS
        chunks = []
        left = MAX_CHARS
        for chunk in template.generate(variables):
            environment.check_time()
            left -= len(chunk)
            if left < 0:
                raise SecurityError(f"writes more than {MAX_CHARS} characters")
            chunks.append(chunk)
        return "".join(chunks)

    return render


def takes_parts(source: str) -> bool:
    """Whether the template goes through the parts of a message's content itself.

    vLLM decides the same way which form of content to hand to it: it looks for a loop over
    ``message.content`` or over a variable that was set from it.
    """
    environment = Sandbox(extensions=[Generation, jinja2.ext.loopcontrols])
    tree = environment.parse(source)
    names = {
        node.target.name
        for node in tree.find_all(nodes.Assign)
        if isinstance(node.target, nodes.Name) and _is_content(node.node, frozenset())
    }
    return any(_is_content(loop.iter, frozenset(names)) for loop in tree.find_all(nodes.For))


def _is_content(node: nodes.Node, names: frozenset[str]) -> bool:
    if isinstance(node, nodes.Filter):
        return node.node is not None and _is_content(node.node, names)
    if isinstance(node, nodes.Getattr):
        return node.attr == "content"
    if isinstance(node, nodes.Getitem):
        if isinstance(node.arg, nodes.Slice):
            return _is_content(node.node, names)
        return isinstance(node.arg, nodes.Const) and node.arg.value == "content"
    return isinstance(node, nodes.Name) and node.name in names
