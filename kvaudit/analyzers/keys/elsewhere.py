"""Functions of other files of the project that make the keys which a function asks a cache with."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kvaudit.analyzers.keys.answers import File, called
from kvaudit.analyzers.keys.scopes import Scope, core, walk, words
from kvaudit.analyzers.naming import snake_case


def makers_elsewhere(scope: Scope, key: ast.expr, file: File) -> Iterator[Scope]:
    """Yield the functions of other files that a key is made by."""
    for node in walk(scope.module, core(scope, key)):
        if isinstance(node, ast.Call):
            for made in called(scope, node, file):
                if made.module is not scope.module and made.node is not None:
                    yield made


def words_elsewhere(scope: Scope, key: ast.expr, file: File) -> set[str]:
    """Return the names that such functions put into a key, but for their parameters."""
    found: set[str] = set()
    for maker in makers_elsewhere(scope, key, file):
        own = {snake_case(name) for name in maker.params}
        for returned in maker.returned():
            found |= words(maker, returned) - own
    return found
