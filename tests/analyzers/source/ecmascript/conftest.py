"""A project in memory, and shorthand for what the reader gives."""

import posixpath

import pytest

from kvaudit.analyzers.profile import Profile
from kvaudit.analyzers.run import documents_of, lint_document
from kvaudit.core.rulebook import load_rules
from kvaudit.core.sources import Source

RULES = load_rules()


class MemoryProject:
    """Files by path, found beside the one that asks or from the root."""

    def __init__(self, files=None):
        self.files = files or {}
        self.variables = {}

    def sibling(self, source, name):
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(source.path), name))
        for path in (beside, name):
            if path in self.files:
                return Source(path, self.files[path])
        return None

    def module(self, source, dotted):
        return None


@pytest.fixture
def project():
    """Return a project of files, by path: project(files)."""
    return MemoryProject


@pytest.fixture
def read():
    """Return the documents in a text: read(text, name, other files)."""

    def read_text(text, name="agent.ts", files=None):
        return documents_of(Source(name, text), MemoryProject(files))

    return read_text


@pytest.fixture
def origins(read):
    """Return what the changing expressions of a text are: (expression, origin)."""

    def origins_of(text, *rest):
        return [
            (s.expression, str(s.origin))
            for document in read(text, *rest)
            for s in document.segments
            if s.expression is not None
        ]

    return origins_of


@pytest.fixture
def codes(read):
    """Return what is found in a text: (code, severity), each once."""

    def codes_of(text, *rest):
        return {
            (finding.code, str(finding.severity))
            for document in read(text, *rest)
            for finding in lint_document(document, RULES, Profile())
        }

    return codes_of


@pytest.fixture
def kinds(read):
    """Return what was observed in a text: (kind, the text it points at)."""

    def kinds_of(text, *rest):
        return [
            (o.kind, o.source.text[o.span.start : o.span.end])
            for document in read(text, *rest)
            for o in document.observations
        ]

    return kinds_of
