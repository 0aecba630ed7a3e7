"""Python source in, what the rules say of it out."""

from kvaudit.analyzers.arbitration import arbitrate, settled
from kvaudit.analyzers.profile import Profile
from kvaudit.analyzers.run import documents_of, lint_document
from kvaudit.core.findings import Severity
from kvaudit.core.rulebook import load_rules
from kvaudit.core.sources import Source

RULES = load_rules()


class Files:
    """A project of the modules that a test names."""

    def __init__(self, **modules):
        self.variables = {}
        self.modules = {name: Source(f"{name}.py", text) for name, text in modules.items()}

    def sibling(self, source, name):
        return None

    def module(self, source, dotted):
        return self.modules.get(dotted.lstrip("."))

    def mentions(self, source, name, *, elsewhere=False):
        return not elsewhere


def documents(text, **modules):
    return documents_of(Source("prompts.py", text), Files(**modules))


def segments(text, **modules):
    return [s for d in documents(text, **modules) for s in d.segments]


def found(text, *, related=False, **modules):
    """Codes of what is reported at warning and above, and the texts that they point at."""
    every = [
        f
        for d in documents(text, **modules)
        for f in settled(d, lint_document(d, RULES, Profile()))
    ]
    told = [f for f in arbitrate(every) if f.severity is not Severity.INFO]
    if related:
        return [(f.code, _written(f), [_written(r) for r in f.related]) for f in told]
    return [(f.code, _written(f)) for f in told]


def _written(place):
    return place.source.text[place.span.start : place.span.end]
