"""Whether a rule file speaks of things that exist: its check, what that is told, readers, fixer.

All of it is looked at before a run, so that a slip in a rule is said once, with its file, and
does not come up as a fault in each file that is linted.
"""

from __future__ import annotations

from kvaudit.analyzers.check import find_check
from kvaudit.analyzers.fixers import find_fixer
from kvaudit.analyzers.parameters import slips
from kvaudit.analyzers.reader import all_readers
from kvaudit.core.errors import UsageError
from kvaudit.core.nearest import did_you_mean
from kvaudit.core.rulebook import Rule

ANY = "any"
"""Stands for every reader."""


def vet(rule: Rule) -> None:
    """Raise `UsageError` for the first thing that a rule names and that does not exist."""
    slip = next(slips(rule.params, find_check(rule).parameters), None)
    if slip is not None:
        raise UsageError(f"{rule.path}: {slip}")
    find_fixer(rule)
    known = [ANY, *(reader.name for reader in all_readers())]
    for name in rule.inputs:
        if name not in known:
            nearest = did_you_mean(name, known) or f"; known: {', '.join(known)}"
            raise UsageError(f"{rule.path}: inputs: {name!r} is no reader{nearest}")
