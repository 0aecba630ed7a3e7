"""From what a call of `kvaudit lint` says, and the settings, to what is to be done."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kvaudit.analyzers.baseline import Baseline
from kvaudit.analyzers.changed import new_lines
from kvaudit.analyzers.collect import Selection, find_files
from kvaudit.analyzers.files import Task
from kvaudit.analyzers.inspection import Inspection, Piped, endings, names_of, place_in
from kvaudit.analyzers.profile import Profile, said_of_variables
from kvaudit.analyzers.project import project_root
from kvaudit.analyzers.ruleset import Ruleset, check_names, choose_rules, packaged_folders
from kvaudit.analyzers.settle import Terms
from kvaudit.core.config import Config, load_config
from kvaudit.core.errors import UsageError
from kvaudit.core.findings import Severity
from kvaudit.core.nearest import did_you_mean
from kvaudit.core.settings import Settings

STDIN = Path("-")
NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """The options of a call; None where it leaves them to the settings."""

    paths: Sequence[Path] = ()
    stdin_filename: str | None = None
    exclude: Sequence[str] = ()
    force_exclude: bool = False
    select: Sequence[str] = ()
    ignore: Sequence[str] = ()
    rules: Sequence[Path] = ()
    provider: str | None = None
    model: str | None = None
    multi_turn: bool | None = None
    isolate: str | None = None
    retention_days: float | None = None
    since: str | None = None
    baseline: Path | None = None
    without_baseline: bool = False
    fail_on: str | None = None
    config: Sequence[str] = ()
    isolated: bool = False


def prepare(choices: Choices) -> tuple[Inspection, Severity | None]:
    """Return what is to be linted, and the severity from which the run fails."""
    config = load_config(choices.config, isolated=choices.isolated)
    settings = config.settings
    least = _least(choices.fail_on or settings.lint.fail_on)
    rules = _rules(choices, settings)
    piped = _piped(choices)
    root = project_root(Path.cwd())
    found = find_files(_paths(choices), _selection(choices, config))
    task = Task(
        rules=rules.used,
        profile=_profile(choices, settings),
        variables=said_of_variables(settings.variables),
        names=names_of(found),
    )
    terms = Terms(
        rules=rules.used,
        known=rules.known,
        place=lambda path: place_in(root, path),
        per_file=settings.rules.per_file,
        baseline=_baseline(choices, settings),
        new_lines=new_lines(choices.since, Path.cwd()) if choices.since is not None else None,
        reasons=settings.lint.require_reasons,
    )
    return Inspection(found=found, task=task, terms=terms, piped=piped), least


def words(values: Sequence[str] | None) -> tuple[str, ...]:
    """Return what a repeated option names, commas taken apart."""
    parts = (word.strip() for value in values or () for word in value.split(","))
    return tuple(word for word in parts if word)


def _least(word: str) -> Severity | None:
    known = [*(severity.value for severity in Severity), NEVER]
    if word not in known:
        raise UsageError(f"--fail-on {word}: is no severity{did_you_mean(word, known)}")
    return None if word == NEVER else Severity(word)


def _rules(choices: Choices, settings: Settings) -> Ruleset:
    own = () if choices.isolated else (*map(Path, settings.rules.folders), *choices.rules)
    chosen = choose_rules(
        own if choices.isolated else (*packaged_folders(), *own),
        select=choices.select or settings.rules.select,
        ignore=(*settings.rules.ignore, *choices.ignore),
        severity=settings.rules.severity,
    )
    for pattern, names in settings.rules.per_file.items():
        check_names(chosen, names, f"rules.per-file {pattern!r}")
    return chosen


def _profile(choices: Choices, settings: Settings) -> Profile:
    said = settings.lint
    isolate = choices.isolate or said.isolate
    if isolate not in ("none", "tenant"):
        raise UsageError(f"--isolate {isolate}: say none or tenant")
    return Profile(
        provider=choices.provider or said.provider,
        model=choices.model or said.model or settings.model,
        multi_turn=said.multi_turn if choices.multi_turn is None else choices.multi_turn,
        isolate_tenants=isolate == "tenant",
        retention_days=(
            said.retention_days if choices.retention_days is None else choices.retention_days
        ),
    )


def _paths(choices: Choices) -> list[Path]:
    paths = [path for path in choices.paths if path != STDIN]
    if not paths and not choices.paths and choices.stdin_filename is None:
        return [Path()]
    return paths


def _piped(choices: Choices) -> Piped | None:
    if STDIN not in choices.paths and choices.stdin_filename is None:
        return None
    name = (choices.stdin_filename or "<stdin>").replace("\\", "/")
    return Piped(name, sys.stdin.buffer.read())


def _selection(choices: Choices, config: Config) -> Selection:
    settings = config.settings
    return Selection(
        endings=endings(),
        include=settings.include,
        exclude=(*settings.exclude, *choices.exclude),
        force_exclude=choices.force_exclude or settings.force_exclude,
        folder=config.folder or Path.cwd(),
    )


def _baseline(choices: Choices, settings: Settings) -> Baseline | None:
    if choices.without_baseline or choices.isolated:
        return None
    named = choices.baseline or (settings.lint.baseline and Path(settings.lint.baseline))
    return Baseline.read(named) if named else None
