"""The cache keys of one Python file, as documents of observations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvaudit.analyzers.keys.chains import block_hashers, chain_faults
from kvaudit.analyzers.keys.digests import (
    digests_of,
    fed_words,
    hashes_tokens,
    is_key,
    names_prompts,
    speaks_of_prompts,
    speaks_of_text,
)
from kvaudit.analyzers.keys.forms import form_faults, is_fresh, secrets
from kvaudit.analyzers.keys.instances import dropped_self
from kvaudit.analyzers.keys.joins import join_faults, text_faults, untagged
from kvaudit.analyzers.keys.lookups import Helpers, lookup_helpers
from kvaudit.analyzers.keys.missing import missing_fields, omitted_temperature
from kvaudit.analyzers.keys.scopes import Scope, core, scopes_of, words
from kvaudit.analyzers.keys.stores import store_faults
from kvaudit.analyzers.keys.strength import builtin_hash, short_digest
from kvaudit.analyzers.keys.vocabulary import KEY_NAME, KEYS_OF_DATA, NOT_KEYS, PLAIN_KEY
from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.source.python.module import module_of
from kvaudit.core.document import Document, Observation
from kvaudit.core.sources import Source


def key_documents(source: Source) -> list[Document]:
    """Return a document for each function that makes a key with something to observe."""
    module = module_of(source)
    every = scopes_of(module)
    hashers, helpers = block_hashers(every), lookup_helpers(every)
    made = []
    for scope in every:
        found = list(_unique(_faults(scope, every, hashers, helpers)))
        if found:
            name = scope.name or source.path
            made.append(Document(source=source, kind="python", name=name, observations=found))
    return made


def _unique(found: Iterator[Observation]) -> Iterator[Observation]:
    told = set()
    for one in found:
        if (one.kind, one.span) not in told:
            told.add((one.kind, one.span))
            yield one


def _faults(
    scope: Scope, every: Sequence[Scope], hashers: set[str], helpers: Helpers
) -> Iterator[Observation]:
    yield from chain_faults(scope, every, hashers)
    yield from _of_digests(scope)
    yield from _of_written(scope)
    yield from missing_fields(scope, every, helpers)
    yield from omitted_temperature(scope)
    yield from dropped_self(scope)
    yield from store_faults(scope, every)


def _of_digests(scope: Scope) -> Iterator[Observation]:
    for digest in digests_of(scope):
        if hashes_tokens(scope, digest):
            yield from builtin_hash(scope, digest, tokens=True)
            yield from short_digest(scope, digest)
            continue
        if not is_key(scope, digest) or any(is_fresh(scope, fed) for fed in digest.fed):
            continue
        found = fed_words(scope, digest)
        if speaks_of_prompts(scope, found):
            yield from builtin_hash(scope, digest, tokens=False)
            yield from short_digest(scope, digest)
            for fed in digest.fed:
                yield from form_faults(scope, fed)
            yield from join_faults(scope, digest)
        elif PLAIN_KEY.fullmatch(snake_case(scope.name)) and speaks_of_text(found):
            yield from join_faults(scope, digest)


def _of_written(scope: Scope) -> Iterator[Observation]:
    """Yield what is wrong with keys that are no digests, but written out."""
    name = snake_case(scope.name)
    if NOT_KEYS.fullmatch(name) or KEYS_OF_DATA.fullmatch(name) or not KEY_NAME.fullmatch(name):
        return
    yield from untagged(scope)
    for returned in scope.returned():
        made = core(scope, returned)
        spoken = words(scope, made)
        if not names_prompts(scope, spoken):
            if PLAIN_KEY.fullmatch(name) and speaks_of_prompts(scope, spoken):
                yield from text_faults(scope, made)
            continue
        yield from secrets(scope, made)
        yield from form_faults(scope, made)
        yield from text_faults(scope, made)
