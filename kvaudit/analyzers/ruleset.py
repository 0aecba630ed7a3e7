"""Which rules a run looks for: kvaudit's own, those of packages and folders, minus what is ignored.

An installed package adds rules with an entry point of the group ``kvaudit.rules`` whose value is
the dotted name of a folder of rule files. The folder is found without importing anything, since
a name on the path may belong to the audited project.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

from kvaudit.analyzers.vetting import vet
from kvaudit.core.errors import UsageError
from kvaudit.core.findings import Severity
from kvaudit.core.nearest import did_you_mean
from kvaudit.core.rulebook import Rule, load_rules, names_of

GROUP = "kvaudit.rules"
OF_USERS = "KV8"
"""How the codes begin that are left to rules of a user's own."""


@dataclass(frozen=True, slots=True)
class Ruleset:
    """Every rule there is, and those that are looked for."""

    all: Sequence[Rule]
    used: Sequence[Rule]

    @property
    def known(self) -> list[str]:
        """Return every name and code."""
        return [word for rule in self.all for word in (rule.name, rule.code)]


def choose_rules(
    folders: Sequence[Path] = (),
    *,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    severity: Mapping[str, str] | None = None,
) -> Ruleset:
    """Load all rules and choose among them. Raises `UsageError` for a name that is no rule."""
    rules = load_rules(folders)
    wanted = _named(rules, select, "select")
    left_out = _named(rules, ignore, "ignore")
    said = [
        (_named(rules, [word], "rules.severity"), Severity(level))
        for word, level in (severity or {}).items()
    ]
    # One rule's own severity counts before that of its family.
    said.sort(key=lambda entry: -len(entry[0]))
    graver = {name: level for names, level in said for name in names}
    used = [
        replace(
            rule,
            severity=graver.get(rule.name, rule.severity),
            insisted=rule.name in graver or rule.code.startswith(OF_USERS),
        )
        for rule in rules
        if (not wanted or rule.name in wanted) and rule.name not in left_out
    ]
    for rule in used:
        vet(rule)
    return Ruleset(rules, used)


def check_names(rules: Ruleset, words: Iterable[str], said_by: str) -> None:
    """Raise `UsageError` for a word that is the name or code of no rule."""
    _named(rules.all, words, said_by)


def packaged_folders() -> list[Path]:
    """Return the folders of rules that installed packages bring, by name."""
    found = []
    for point in sorted(metadata.entry_points(group=GROUP), key=lambda point: point.name):
        if point.dist is None:
            continue
        folder = Path(str(point.dist.locate_file(point.value.replace(".", "/"))))
        if not folder.is_dir():
            raise UsageError(
                f"the package {point.dist.name} says that it brings rules in {point.value}, "
                "and there is no such folder; --isolated leaves them out"
            )
        found.append(folder)
    return found


def _named(rules: Sequence[Rule], words: Iterable[str], said_by: str) -> set[str]:
    """Return the names of the rules that words mean."""
    found = set()
    for word in words:
        names = names_of(rules, word)
        if not names:
            known = [each for rule in rules for each in (rule.name, rule.code)]
            raise UsageError(f"{said_by}: {word} is no rule{did_you_mean(word, known)}")
        found |= names
    return found
