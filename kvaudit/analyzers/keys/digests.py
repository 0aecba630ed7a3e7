"""Where Python code makes a digest, and what is fed into it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from kvaudit.analyzers.keys.scopes import Scope, core, scope_of, walk, words
from kvaudit.analyzers.keys.vocabulary import (
    ABOUT_MODELS,
    BLOCKS,
    CREDENTIALS,
    KEY_NAME,
    KEY_WORD,
    MEASURE,
    NOT_KEYS,
    PROMPT,
    TEXT,
    TOKENS,
    WHOLE,
)
from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.source.python.module import Function

_LIBRARY = re.compile(
    r"hashlib\.\w+|xxhash\.\w+|mmh3\.\w+|blake3(\.blake3)?|zlib\.(crc32|adler32)"
    r"|binascii\.crc32|(farmhash|cityhash|metrohash|spookyhash)\.\w+"
    r"|(.*\.)?(sha1|sha256|sha512|md5|xxh64|xxh32|xxh128|xxh3_64|murmurhash\w*|fnv1a\w*)(_hex|_hexdigest)?"
)
HASHER_NAME = re.compile(
    r"_?((compute|make|get|gen|generate|create)_)?(args?|text|string|str|data|content|dict|prompt)?_?hash(_(args?|text|string|data|content|dict|prompt|object))?"
)
"""What a function of another file is called that hashes what it is given, and does no more."""
_ABOUT = 3
"""So often must a file speak of models before what it hashes is taken for what they are asked."""


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
        elif _only_hashes(scope, call, name):
            found.append(Digest(call, name, list(call.args)))
    of_call: dict[ast.AST, Digest] = {one.call: one for one in found}
    for variable, values in scope.assigned.items():
        for value in values:
            if value in of_call:
                by_name[variable] = of_call[value]
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


def _only_hashes(scope: Scope, call: ast.Call, name: str) -> bool:
    """Whether a call is of a function that hashes its argument: of this file, or so called."""
    last = name.rsplit(".", 1)[-1]
    if scope.name == last or not call.args:
        return False
    made = scope.module.functions.get(last) or _method(scope, name)
    if made is not None:
        if made not in scope.hashing:
            scope.hashing[made] = _gives_digest(scope_of(made, None, scope.top))
        return scope.hashing[made]
    return last in scope.module.imports and HASHER_NAME.fullmatch(last) is not None


def _method(scope: Scope, name: str) -> Function | None:
    """Return the method of a class of the file that ``self.name`` or ``Class.name`` means."""
    root, _, last = name.rpartition(".")
    owner = scope.owner if root in ("self", "cls") else scope.module.classes.get(root)
    for node in owner.body if owner is not None else ():
        if isinstance(node, Function) and node.name == last:
            return node
    return None


def _gives_digest(made: Scope) -> bool:
    """Whether a function hashes a parameter of its own before anything else."""
    for call in made.calls():
        if call.args and _LIBRARY.fullmatch(made.module.dotted(call.func)):
            fed = core(made, call.args[0])
            return isinstance(fed, ast.Name) and fed.id in made.params
    return False


def fed_words(scope: Scope, digest: Digest) -> set[str]:
    """Return the names that flow into a digest."""
    found: set[str] = set()
    for expr in digest.fed:
        found |= words(scope, expr)
    return found


def hashes_tokens(scope: Scope, digest: Digest) -> bool:
    """Whether a digest is of a block of tokens."""
    if _chains_slices(scope, digest):
        return True
    fed = fed_words(scope, digest)
    if not any(TOKENS.fullmatch(word) for word in fed):
        return False
    # A class may be of prefixes without hashing blocks; one of blocks or of KV does.
    owner = snake_case(scope.owner.name) if scope.owner else ""
    around = {scope.name.lower(), owner.replace("prefix", ""), *scope.params, *(fed - {"prefix"})}
    return any(BLOCKS.fullmatch(word.lower()) for word in around)


def _chains_slices(scope: Scope, digest: Digest) -> bool:
    """Whether a digest is of itself and of the next slice of a list: blocks, however called."""
    inside = [node for fed in digest.fed for node in walk(scope.module, fed)]
    names = {node.id for node in inside if isinstance(node, ast.Name)}
    return not names.isdisjoint(scope.holders(digest.call)) and any(
        isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "tuple"
        and any(isinstance(inner, ast.Slice) for inner in ast.walk(node))
        for node in inside
    )


def is_key(scope: Scope, digest: Digest) -> bool:
    """Whether a digest is used as a key: what it is called, or what it is returned by, says so.

    What is called a hash or a fingerprint may be a checksum or an identity as well. It is a key
    where its function speaks of a cache, or is made for it in a file that does.
    """
    if NOT_KEYS.fullmatch(snake_case(scope.name)):
        return False
    called = list(names_of(scope, digest.call))
    names = [name for name in called if KEY_NAME.fullmatch(name)]
    if any(KEY_WORD.fullmatch(name) for name in called):
        return True
    if digest.builtin and not names_prompts(scope, fed_words(scope, digest)):
        return False  # made to see whether something changed since
    if KEY_NAME.fullmatch(snake_case(scope.name)) and "cach" in scope.module.source.text.lower():
        return True
    return bool(names) and _speaks_of_a_cache(scope)


def _speaks_of_a_cache(scope: Scope) -> bool:
    names = [scope.name, *scope.params, *scope.assigned]
    names += [node.attr for node in scope.nodes if isinstance(node, ast.Attribute)]
    return any("cach" in name.lower() or "memo" in name.lower() for name in names)


def names_of(scope: Scope, node: ast.AST) -> Iterator[str]:
    """Yield the names by which a value goes: the variable that holds it, the function."""
    yield snake_case(scope.name)
    yield from map(snake_case, scope.holders(node))


def names_prompts(scope: Scope, found: set[str]) -> bool:
    """Whether what a model is asked is among names, or what a function is given."""
    return any(_is_prompt(word) for word in (*found, scope.name.lower(), *scope.params))


def speaks_of_prompts(scope: Scope, found: set[str]) -> bool:
    """Whether names are those of what a model is asked, or of texts in a file about models."""
    if names_prompts(scope, found):
        return True
    if any(CREDENTIALS.fullmatch(word) for word in found):
        return False
    spoken = any(TEXT.fullmatch(word) or word in WHOLE for word in found)
    said = 1 if "cache" in scope.name.lower() else _ABOUT
    return spoken and _is_about_models(scope, said)


def _is_prompt(word: str) -> bool:
    return PROMPT.fullmatch(word) is not None and MEASURE.fullmatch(word) is None


def _is_about_models(scope: Scope, often: int) -> bool:
    spoken = ABOUT_MODELS.finditer(scope.module.source.text)
    return sum(1 for _ in islice(spoken, often)) == often


def speaks_of_text(found: set[str]) -> bool:
    """Whether names are those of texts."""
    return any(TEXT.fullmatch(word) for word in found)
