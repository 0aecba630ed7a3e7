"""Where Python code makes a digest, and what is fed into it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from kvaudit.analyzers.keys.scopes import Scope, words
from kvaudit.analyzers.keys.vocabulary import BLOCKS, KEY_NAME, NOT_KEYS, PROMPT, TEXT, TOKENS

_LIBRARY = re.compile(
    r"hashlib\.\w+|xxhash\.\w+|mmh3\.\w+|blake3(\.blake3)?|zlib\.(crc32|adler32)"
    r"|binascii\.crc32|(farmhash|cityhash|metrohash|spookyhash)\.\w+"
    r"|(.*\.)?(sha1|sha256|sha512|md5|xxh64|xxh32|xxh128|xxh3_64|murmur\w*|fnv1a\w*)(_hex|_hexdigest)?"
)


@dataclass(slots=True)
class Digest:
    """A call that hashes, with all that reaches it."""

    call: ast.Call
    function: str
    """With dots, as imports say: ``hashlib.sha256``; ``hash`` is Python's own."""
    fed: list[ast.expr] = field(default_factory=list)
    updates: list[ast.Call] = field(default_factory=list)

    @property
    def builtin(self) -> bool:
        """Whether it is Python's own ``hash``."""
        return self.function == "hash"


def digests_of(scope: Scope) -> list[Digest]:
    """Return the digests that a function makes."""
    found: list[Digest] = []
    by_name: dict[str, Digest] = {}
    for call in scope.calls():
        name = scope.module.dotted(call.func)
        if name == "hash" and _is_own(scope) and len(call.args) == 1:
            found.append(Digest(call, "hash", [call.args[0]]))
        elif _LIBRARY.fullmatch(name) and not isinstance(call.func, ast.Call):
            fed = call.args[1:] if name.endswith(".new") else call.args[:1]
            found.append(Digest(call, name, list(fed)))
    for variable, values in scope.assigned.items():
        for value in values:
            made = next((one for one in found if one.call is value), None)
            if made is not None:
                by_name[variable] = made
    for call in scope.calls():
        target = call.func
        if (
            isinstance(target, ast.Attribute)
            and target.attr == "update"
            and isinstance(target.value, ast.Name)
            and target.value.id in by_name
            and call.args
        ):
            by_name[target.value.id].fed.append(call.args[0])
            by_name[target.value.id].updates.append(call)
    return found


def _is_own(scope: Scope) -> bool:
    module = scope.module
    return not (
        scope.name == "__hash__"
        or "hash" in module.functions
        or "hash" in module.imports
        or "hash" in scope.params
        or "hash" in scope.assigned
    )


def fed_words(scope: Scope, digest: Digest) -> set[str]:
    """Return the names that flow into a digest."""
    found: set[str] = set()
    for expr in digest.fed:
        found |= words(scope, expr)
    return found


def hashes_tokens(scope: Scope, digest: Digest) -> bool:
    """Whether a digest is of a block of tokens."""
    fed = fed_words(scope, digest)
    if not any(TOKENS.fullmatch(word) for word in fed):
        return False
    around = {scope.name, *scope.params, *fed, scope.owner.name if scope.owner else ""}
    return any(BLOCKS.fullmatch(word.lower()) for word in around)


def is_key(scope: Scope, digest: Digest) -> bool:
    """Whether a digest is used as a key: what it is called, or what it is returned by, says so."""
    if NOT_KEYS.fullmatch(scope.name.lower()):
        return False
    return any(KEY_NAME.fullmatch(name) for name in names_of(scope, digest.call))


def names_of(scope: Scope, node: ast.AST) -> Iterator[str]:
    """Yield the names by which a value goes: the variable that holds it, the function."""
    from kvaudit.analyzers.naming import snake_case

    yield snake_case(scope.name)
    for name, values in scope.assigned.items():
        if any(node in ast.walk(value) for value in values):
            yield snake_case(name)


def speaks_of_prompts(scope: Scope, found: set[str]) -> bool:
    """Whether names are those of what a model is asked."""
    return any(PROMPT.fullmatch(word) for word in (*found, scope.name.lower(), *scope.params))


def speaks_of_text(found: set[str]) -> bool:
    """Whether names are those of texts."""
    return any(TEXT.fullmatch(word) for word in found)
