"""What Python code says about where requests go: keys of affinity, and salts of caches."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kvaudit.analyzers.engine.unsalted import unsalted
from kvaudit.analyzers.source.python.module import Module, module_of
from kvaudit.core.document import Document, Observation
from kvaudit.core.sources import Source

_ROUTES = re.compile(
    r"affinit|sticky|route_?key|routing_?key|session_?key|(?:pick|choose|select)_?(?:replica|worker"
    r"|backend|pod|endpoint|deployment)",
    re.IGNORECASE,
)
_HASHES = re.compile(r"hash|digest|sha\d|md5|blake|xxh|crc32|dumps", re.IGNORECASE)
_NEWEST = re.compile(r"messages|conversation|history|chat_log", re.IGNORECASE)
_FRESH = re.compile(
    r"(?:^|\.)(?:uuid[14]|token_hex|token_urlsafe|token_bytes|urandom|random|randint|randbytes"
    r"|time|time_ns|now|utcnow)$"
)


def routing_documents(source: Source) -> list[Document]:
    """Return one document with what is wrong; none where nothing is. Raises `Unreadable`."""
    module = module_of(source)
    found = [*_affinities(module), *_salts(module), *unsalted(module)]
    if not found:
        return []
    return [
        Document(source=source, kind="python", name=source.path, sent=False, observations=found)
    ]


def _affinities(module: Module) -> Iterator[Observation]:
    """Yield keys of affinity with the whole conversation in them, which no two requests share."""
    for function in ast.walk(module.tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if not _ROUTES.search(function.name):
            continue
        for call in ast.walk(function):
            if isinstance(call, ast.Call) and _HASHES.search(_dotted(call.func)):
                held = next((n for n in _whole_values(call.args) if _NEWEST.fullmatch(n)), None)
                if held is not None:
                    detail = f"{function.name} hashes {held}, the newest message among them"
                    yield _seen(module, call, "affinity-of-newest", detail)
                    break


def _whole_values(nodes: list[ast.expr]) -> Iterator[str]:
    """Yield names of values that are taken whole: ``messages``, and not ``messages[0]``."""
    waiting: list[ast.AST] = list(nodes)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Subscript):
            if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
                yield node.slice.value
        elif isinstance(node, ast.Call) and _is_get(node):
            yield str(node.args[0].value)  # type: ignore[attr-defined]
        else:
            waiting += ast.iter_child_nodes(node)


def _is_get(node: ast.Call) -> bool:
    return (
        isinstance(node.func, ast.Attribute)
        and node.func.attr == "get"
        and bool(node.args)
        and isinstance(node.args[0], ast.Constant)
    )


def _salts(module: Module) -> Iterator[Observation]:
    """Yield salts that are new with each request."""
    for node in ast.walk(module.tree):
        values: list[ast.expr] = []
        if isinstance(node, ast.keyword) and node.arg == "cache_salt":
            values = [node.value]
        elif isinstance(node, ast.Dict):
            values = [
                value
                for key, value in zip(node.keys, node.values, strict=True)
                if isinstance(key, ast.Constant) and key.value == "cache_salt"
            ]
        for value in values:
            for part in ast.walk(value):
                if isinstance(part, ast.Call) and _FRESH.search(_dotted(part.func)):
                    detail = f"cache_salt is {' '.join(ast.unparse(value).split())[:60]}"
                    yield _seen(module, value, "salt-per-request", detail)
                    break


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return ""


def _seen(module: Module, node: ast.expr, kind: str, detail: str) -> Observation:
    return Observation(kind=kind, source=module.source, span=module.span(node), detail=detail)
