"""Files in, what a run of the linter reports of them out."""

from kvaudit.analyzers.examples import OneFile
from kvaudit.analyzers.profile import Profile
from kvaudit.analyzers.run import look
from kvaudit.analyzers.settle import Terms, settle
from kvaudit.core.sources import Source


def linted(files, rules, project=None):
    """Return the result for a path and a text each, as the command gives it."""
    looked = [
        look(Source(path, text), project or OneFile(), rules, Profile())
        for path, text in files.items()
    ]
    known = [word for rule in rules for word in (rule.name, rule.code)]
    return settle([seen for seen in looked if seen is not None], Terms(rules=rules, known=known))
