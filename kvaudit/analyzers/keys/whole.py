"""Whether each part of a key is seen for what it is, and is no digest of anything unknown."""

from __future__ import annotations

import ast
import re

from kvaudit.analyzers.keys.answers import File, called
from kvaudit.analyzers.keys.digests import HASHER_NAME
from kvaudit.analyzers.keys.lookups import makers
from kvaudit.analyzers.keys.scopes import Scope, walk
from kvaudit.analyzers.naming import snake_case

_KNOWN = re.compile(
    r"(hashlib|xxhash|mmh3|json|base64|hmac|zlib|binascii|os\.path|pathlib|orjson)\..*"
    r"|str|repr|bytes|len|sorted|tuple|list|dict|set|frozenset|int|round|float|Path|hash|zip|map"
    r"|isinstance|issubclass|getattr|enumerate|type|bool|any|all|min|max|reversed"
)
"""Functions that add nothing of their own to what they are given."""
_METHODS = frozenset((
    "encode", "hexdigest", "digest", "update", "join", "strip", "lower", "upper", "format", "copy",
    "items", "keys", "values", "dumps", "model_dump", "dict", "append", "extend", "replace", "get",
    "casefold", "model_dump_json", "to_dict", "split", "startswith", "rstrip", "lstrip",
    "model_json_schema", "json", "to_json", "isoformat", "tolist",
))  # fmt: skip
_OPAQUE = re.compile(
    r"(\w+_)?(hash|digest|fingerprint|signature|sig|key|prefix|suffix|namespace|ns|salt|uid|scope"
    r"|extras?|metadata|meta|identity)|id|name|version|tag|state|kind"
)
"""Names of values that may hold anything, such as the digest of all settings."""


def is_whole(scope: Scope, key: ast.expr, file: File, depth: int = 3) -> bool:
    """Whether each part of a key is seen for what it is."""
    seen: set[str] = set()
    stack: list[ast.AST] = [key]
    while stack:
        nodes = list(walk(scope.module, stack.pop()))
        names = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        for node in nodes:
            if isinstance(node, ast.Name) and node.id not in seen:
                seen.add(node.id)
                stack += scope.given(node.id)
            if id(node) not in names and _is_opaque(scope, node):
                return False
            if isinstance(node, ast.Call) and not _is_known(scope, node, file, depth):
                return False
    return True


def _is_opaque(scope: Scope, node: ast.AST) -> bool:
    if isinstance(node, ast.Name):
        is_fixed = node.id.isupper() or bool(scope.given(node.id))
        return not is_fixed and _OPAQUE.fullmatch(snake_case(node.id)) is not None
    of_self = isinstance(node, ast.Attribute) and getattr(node.value, "id", "") in ("self", "cls")
    return of_self and _OPAQUE.fullmatch(snake_case(getattr(node, "attr", ""))) is not None


def _is_known(scope: Scope, call: ast.Call, file: File, depth: int) -> bool:
    name = scope.module.dotted(call.func)
    last = name.rsplit(".", 1)[-1]
    if _KNOWN.fullmatch(name) or HASHER_NAME.fullmatch(last):
        return True
    made = [one for one in makers(scope, call, file.of(scope).every) if one.node is not None]
    made = made or called(scope, call, file)
    if made:
        return depth > 0 and all(
            is_whole(one, value, file, depth - 1) for one in made for value in one.returned()
        )
    return isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS
