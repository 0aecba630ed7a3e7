"""What a check is, and how grave its findings are."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple, Protocol

from kvaudit.analyzers import checks
from kvaudit.analyzers.parameters import Parameters
from kvaudit.analyzers.profile import Profile
from kvaudit.core.document import Document, Evidence
from kvaudit.core.errors import UsageError
from kvaudit.core.findings import Finding, Severity
from kvaudit.core.nearest import did_you_mean
from kvaudit.core.rulebook import Rule


class Check(Protocol):
    """Looks at one document for the rules that name it."""

    def __call__(self, document: Document, rule: Rule, profile: Profile) -> Iterable[Finding]:
        """Return the breaches of ``rule``; ``rule.params`` say what to look for."""


_COUNTS_HITS = re.compile(
    r"cache_?(read|creation)|cached_?tokens|cache_?write_?tokens", re.IGNORECASE
)


class KnownCheck(NamedTuple):
    """A check, and what it is told by the rules that name it."""

    check: Check
    parameters: Parameters
    what: str
    """What it finds, as a sentence."""


@cache
def all_checks() -> Mapping[str, KnownCheck]:
    """Return every check by name: the module's name with dashes."""
    names = sorted(module.name for module in pkgutil.iter_modules(checks.__path__))
    modules = {name: importlib.import_module(f"{checks.__name__}.{name}") for name in names}
    return {
        name.replace("_", "-"): KnownCheck(
            module.check, module.PARAMETERS, (module.__doc__ or "").partition("\n")[0]
        )
        for name, module in modules.items()
    }


def find_check(rule: Rule) -> KnownCheck:
    """Return the check that a rule names. Raises `UsageError`."""
    known = all_checks()
    if rule.check not in known:
        raise UsageError(
            f"{rule.path}: check {rule.check!r} does not exist{did_you_mean(rule.check, known)}"
        )
    return known[rule.check]


def graded(severity: Severity, evidence: Evidence, document: Document) -> Severity:
    """Lower a severity for evidence by name only, and for tests and examples.

    A test that counts what a cache gives back makes prompts differ, or share, on purpose.
    """
    if evidence is Evidence.NAME:
        severity = severity.lowered()
    if not document.low_stakes:
        return severity
    counts = _COUNTS_HITS.search(document.source.text) is not None
    return severity.lowered().lowered() if counts else severity.lowered()
