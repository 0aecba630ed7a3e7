"""A project in memory, and shorthand for what readers give."""

import pytest

from kvaudit.analyzers.run import documents_of
from kvaudit.core.sources import Source


class MemoryProject:
    """Files by name, found by their whole name."""

    def __init__(self, files=None, variables=None):
        self.files = files or {}
        self.variables = variables or {}

    def sibling(self, source, name):
        return Source(name, self.files[name]) if name in self.files else None

    def module(self, source, dotted):
        return None


@pytest.fixture
def read():
    """Return the documents in a text: read(text, name, other files, variables)."""

    def read_text(text, name="system.jinja", files=None, variables=None):
        return documents_of(Source(name, text), MemoryProject(files, variables))

    return read_text


@pytest.fixture
def parts(read):
    """Return what a text's only document holds: (text or expression, origin, position)."""

    def parts_of(text, *rest, **named):
        (document,) = read(text, *rest, **named)
        return [
            (s.text if s.expression is None else s.expression, str(s.origin), s.position.name)
            for s in document.segments
        ]

    return parts_of
