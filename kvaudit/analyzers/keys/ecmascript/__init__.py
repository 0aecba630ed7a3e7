"""Cache keys in JavaScript and TypeScript: what is hashed, against what the file sends."""

from __future__ import annotations

from kvaudit.analyzers.keys.ecmascript.chains import chain_faults, hashes_tokens
from kvaudit.analyzers.keys.ecmascript.digests import fed_into, is_digest, is_key, names_of
from kvaudit.analyzers.keys.ecmascript.forms import form_faults
from kvaudit.analyzers.keys.ecmascript.kept import kept_under, shown_in
from kvaudit.analyzers.keys.ecmascript.proof import held_to
from kvaudit.analyzers.keys.ecmascript.sent import missing_fields, tenant_missing
from kvaudit.analyzers.keys.ecmascript.written import written_faults, written_keys
from kvaudit.analyzers.source.ecmascript.module import module_of
from kvaudit.core.document import Document
from kvaudit.core.sources import Source

__all__ = ["is_key", "key_documents", "names_of"]


def key_documents(source: Source, kind: str) -> list[Document]:
    """Return a document for each key of prompts that something is to be said of."""
    module = module_of(source)
    made = []
    for call in module.calls:
        if not is_digest(module, call):
            continue
        fed = fed_into(call)
        if hashes_tokens(module, call, fed):
            found = list(chain_faults(module, call, fed))
        elif is_key(module, call):
            faults = [
                *form_faults(module, call, fed),
                *missing_fields(module, call, fed),
                *tenant_missing(module, call, fed),
            ]
            found = list(held_to(module, fed, faults, kept_under(module, call))) if faults else []
        else:
            continue
        if found:
            name = next(names_of(module, call), source.path)
            document = Document(source=source, kind=kind, name=name, sent=False, observations=found)
            made.append(document)
    for key in written_keys(module):
        if found := written_faults(module, key):
            name = next(names_of(module, key), source.path)
            document = Document(source=source, kind=kind, name=name, sent=False, observations=found)
            made.append(document)
    if shown := frozenset(shown_in(module)):
        made.append(Document(source=source, kind=kind, name=source.path, sent=False, shown=shown))
    return made
