"""Semantic caches in Python: calls that set up a product, and look-ups of one's own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kvaudit.analyzers.keys.scopes import Scope, core, scopes_of
from kvaudit.analyzers.keys.seen import seen_at, short
from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.semantic.given import Given, Setup
from kvaudit.analyzers.semantic.languages import is_english_encoder, is_of_other_script
from kvaudit.analyzers.semantic.own_lookups import lookup_faults
from kvaudit.analyzers.semantic.products import product_of_call
from kvaudit.analyzers.semantic.setup import judged
from kvaudit.analyzers.source.python.module import Module, module_of
from kvaudit.core.document import Document, Observation
from kvaudit.core.sources import Source


def semantic_documents(source: Source) -> list[Document]:
    """Return a document for each function in which something is to be said."""
    module = module_of(source)
    made = []
    for scope in scopes_of(module):
        found = [*_setups(scope), *lookup_faults(scope)]
        if found:
            name = scope.name or source.path
            made.append(
                Document(source=source, kind="python", name=name, sent=False, observations=found)
            )
    if made:
        beside = list(_language(module))
        if beside:
            made.append(
                Document(
                    source=source, kind="python", name=source.path, sent=False, observations=beside
                )
            )
    return made


def _language(module: Module) -> Iterator[Observation]:
    """Yield an encoder of English in a file whose texts are of another script."""
    docs = {id(node.value) for node in ast.walk(module.tree) if isinstance(node, ast.Expr)}
    texts = {
        node: node.value
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
    }
    other = next((node for node, text in texts.items() if is_of_other_script(text)), None)
    encoder = next((node for node, text in texts.items() if is_english_encoder(text)), None)
    if other is None or encoder is None:
        return
    line = module.source.place(module.span(other).start).line
    yield Observation(
        kind="encoder-lacks-language",
        source=module.source,
        span=module.span(encoder),
        detail=f"{texts[encoder]} was trained on English, and line {line} is in another script",
    )


def _setups(scope: Scope) -> Iterator[Observation]:
    for call in scope.calls():
        if not call.keywords and not call.args:
            continue
        yield from _of_call(scope, call)


def _of_call(scope: Scope, call: ast.Call) -> Iterator[Observation]:
    module = scope.module
    named = {word.arg: word.value for word in call.keywords if word.arg is not None}
    values = {name: _literal(scope, value) for name, value in named.items()}
    product = product_of_call(module.dotted(call.func), values, module.source.text)
    if product is None:
        return
    # What else is to be known of a setting takes a walk through all that its names are given.
    given = {
        name: Given(
            module.span(value),
            values[name],
            module.dotted(value).rsplit(".", 1)[-1],
            _varies(scope, value),
        )
        for name, value in named.items()
    }
    yield from judged(
        Setup(
            product=product,
            source=module.source,
            place=module.span(call.func),
            given=given,
            is_open=any(word.arg is None for word in call.keywords),
        )
    )
    for word in call.keywords:
        if word.arg in product.apart and (made := _hashed(scope, word.value)) is not None:
            yield seen_at(
                scope,
                word.value,
                "scope-too-narrow",
                f"{word.arg} is {short(scope, made)}: each question has an index of its own",
            )


def _literal(scope: Scope, value: ast.expr) -> object:
    value = core(scope, value)
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
        inner = value.operand
        known = getattr(inner, "value", None)
        return -known if isinstance(known, int | float) else None
    return value.value if isinstance(value, ast.Constant) else None


_SETTINGS = re.compile(r"(\w+_)?(settings|config|cfg|conf|args|options|env|environ)")


_NAMES_AWAY = 4
"""Names that are followed from a value to what it is given."""


def _varies(scope: Scope, value: ast.expr) -> bool:
    """Whether a value is taken from settings or the environment.

    A parameter is not: who calls may well give the limit that belongs to it. Each name is followed
    once, from where it is met first: names given each other make as many ways as one likes.
    """
    met: set[str] = set()
    reached = [value]
    for _ in range(_NAMES_AWAY + 1):
        nodes = [node for expr in reached for node in ast.walk(expr)]
        if any(_is_setting(scope, node) for node in nodes):
            return True
        names = {node.id for node in nodes if isinstance(node, ast.Name)} - met
        met |= names
        reached = [given for name in names for given in scope.given(name)]
    return False


def _is_setting(scope: Scope, node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute | ast.Subscript):
        name = getattr(node.value, "id", getattr(node.value, "attr", ""))
        return _SETTINGS.fullmatch(snake_case(name)) is not None
    return isinstance(node, ast.Call) and scope.module.dotted(node.func) == "os.getenv"


def _hashed(scope: Scope, value: ast.expr) -> ast.expr | None:
    """Return the digest of a request's text that a value is, where it is one."""
    made = core(scope, value)
    for node in ast.walk(made):
        if isinstance(node, ast.Call) and _is_digest(scope.module.dotted(node.func)):
            text = " ".join(
                getattr(inner, "id", getattr(inner, "attr", "")) for inner in ast.walk(node)
            )
            if _asked(text):
                return made
    return None


def _asked(text: str) -> bool:
    return any(word in text for word in ("question", "prompt", "query", "messages", "text"))


def _is_digest(name: str) -> bool:
    return name.rsplit(".", 1)[-1] in ("sha256", "sha1", "md5", "sha512", "blake2b", "hash")
