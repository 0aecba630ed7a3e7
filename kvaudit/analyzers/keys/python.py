"""The cache keys of one Python file, as documents of observations."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from kvaudit.analyzers.keys.answers import File
from kvaudit.analyzers.keys.chains import block_hashers, chain_faults, unchained
from kvaudit.analyzers.keys.digests import (
    Digest,
    digests_of,
    fed_words,
    hashes_tokens,
    is_key,
    names_prompts,
    speaks_of_prompts,
    speaks_of_text,
)
from kvaudit.analyzers.keys.elsewhere import makers_elsewhere
from kvaudit.analyzers.keys.forms import form_faults, is_fresh, secrets
from kvaudit.analyzers.keys.instances import dropped_self
from kvaudit.analyzers.keys.joins import join_faults, text_faults, untagged
from kvaudit.analyzers.keys.kept import kept_under
from kvaudit.analyzers.keys.lookups import Helpers, lookup_helpers, lookups_of
from kvaudit.analyzers.keys.missing import missing_fields
from kvaudit.analyzers.keys.passed import passed_over
from kvaudit.analyzers.keys.proof import of_form
from kvaudit.analyzers.keys.sampled import omitted_temperature
from kvaudit.analyzers.keys.scopes import Scope, core, scopes_of, words
from kvaudit.analyzers.keys.shown import shown_in
from kvaudit.analyzers.keys.stores import store_faults
from kvaudit.analyzers.keys.strength import builtin_hash, short_digest
from kvaudit.analyzers.keys.vocabulary import KEY_NAME, KEYS_OF_DATA, NOT_KEYS, PLAIN_KEY
from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.reader import Project
from kvaudit.analyzers.source.python.module import module_of
from kvaudit.core.document import Document, Observation
from kvaudit.core.sources import Source


def key_documents(source: Source, project: Project | None = None) -> list[Document]:
    """Return a document for each function that makes a key with something to observe."""
    module = module_of(source)
    every = scopes_of(module)
    hashers, helpers = block_hashers(every), lookup_helpers(every)
    file = File(every, project)
    made = []
    for scope in every:
        found = list(_unique(_faults(scope, file, hashers, helpers)))
        if found:
            name = scope.name or source.path
            made.append(
                Document(source=source, kind="python", name=name, sent=False, observations=found)
            )
    if shown := frozenset(shown_in(file)):
        made.append(
            Document(source=source, kind="python", name=source.path, sent=False, shown=shown)
        )
    return made


def _unique(found: Iterator[Observation]) -> Iterator[Observation]:
    told = set()
    for one in found:
        if (one.kind, one.span) not in told:
            told.add((one.kind, one.span))
            yield one


def _faults(scope: Scope, file: File, hashers: set[str], helpers: Helpers) -> Iterator[Observation]:
    yield from chain_faults(scope, file.every, hashers)
    yield from _of_digests(scope, file)
    yield from _of_written(scope, file)
    yield from _of_makers(scope, file)
    yield from missing_fields(scope, file, helpers)
    yield from omitted_temperature(scope, file)
    yield from dropped_self(scope, file)
    yield from store_faults(scope, file)
    yield from passed_over(scope, file)


def _of_digests(scope: Scope, file: File) -> Iterator[Observation]:
    for digest in digests_of(scope):
        if hashes_tokens(scope, digest):
            unseen = unchained(scope, digest)
            for one in (*builtin_hash(scope, digest, tokens=True), *short_digest(scope, digest)):
                yield replace(one, unseen=unseen)
            continue
        if not is_key(scope, digest) or any(is_fresh(scope, fed) for fed in digest.fed):
            continue
        if found := list(_of_digest(scope, digest)):
            kept = kept_under(scope, digest.call, file)
            yield from (of_form(scope, one, kept) for one in found)


def _of_makers(scope: Scope, file: File) -> Iterator[Observation]:
    """Yield what is wrong with digests that functions of other files make for a look-up here."""
    for lookup in lookups_of(scope):
        key = lookup.keys[0]
        for maker in makers_elsewhere(scope, key, file):
            found = [
                one
                for digest in digests_of(maker)
                if is_key(maker, digest) and not hashes_tokens(maker, digest)
                for one in _of_digest(maker, digest)
            ]
            if found:
                kept = kept_under(scope, key, file)
                yield from (of_form(maker, one, kept) for one in found)


def _of_digest(scope: Scope, digest: Digest) -> Iterator[Observation]:
    found = fed_words(scope, digest)
    if speaks_of_prompts(scope, found):
        yield from builtin_hash(scope, digest, tokens=False)
        yield from short_digest(scope, digest)
        for fed in digest.fed:
            yield from form_faults(scope, fed)
        yield from join_faults(scope, digest)
    elif PLAIN_KEY.fullmatch(snake_case(scope.name)) and speaks_of_text(found):
        yield from join_faults(scope, digest)


def _of_written(scope: Scope, file: File) -> Iterator[Observation]:
    """Yield what is wrong with keys that are no digests, but written out."""
    name = snake_case(scope.name)
    if NOT_KEYS.fullmatch(name) or KEYS_OF_DATA.fullmatch(name) or not KEY_NAME.fullmatch(name):
        return
    returned = scope.returned()
    found = [*untagged(scope), *(one for value in returned for one in _of_returned(scope, value))]
    if found and returned:
        kept = kept_under(scope, returned[-1], file)
        yield from (of_form(scope, one, kept) for one in found)


def _of_returned(scope: Scope, returned: ast.expr) -> Iterator[Observation]:
    made = core(scope, returned)
    spoken = words(scope, made)
    if names_prompts(scope, spoken):
        yield from secrets(scope, made)
        yield from form_faults(scope, made)
        yield from text_faults(scope, made)
    elif PLAIN_KEY.fullmatch(snake_case(scope.name)) and speaks_of_prompts(scope, spoken):
        yield from text_faults(scope, made)
