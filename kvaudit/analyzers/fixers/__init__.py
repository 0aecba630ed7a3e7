"""One fixer a file; a rule names one under ``fix``, and it says how a finding is mended."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

from kvaudit.core.errors import UsageError
from kvaudit.core.findings import Finding, Fix
from kvaudit.core.nearest import did_you_mean
from kvaudit.core.rulebook import Rule

Fixer = Callable[[Finding], Fix | None]
"""Returns None where it is not sure of what the text does."""


@cache
def all_fixers() -> Mapping[str, Fixer]:
    """Return every fixer by name: the module's name with dashes."""
    names = sorted(
        module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")
    )
    return {
        name.replace("_", "-"): importlib.import_module(f"{__name__}.{name}").fix for name in names
    }


def with_fix(finding: Finding, rule: Rule) -> Finding:
    """Return a finding with the fix that its rule's fixer has for it."""
    fixer = find_fixer(rule)
    fix = None if fixer is None or finding.fix is not None else fixer(finding)
    return finding if fix is None else replace(finding, fix=fix)


def find_fixer(rule: Rule) -> Fixer | None:
    """Return the fixer that a rule names, if it names one. Raises `UsageError`."""
    if rule.fix is None:
        return None
    known = all_fixers()
    if rule.fix not in known:
        raise UsageError(
            f"{rule.path}: fix {rule.fix!r} does not exist{did_you_mean(rule.fix, known)}"
        )
    return known[rule.fix]
