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
from kvaudit.analyzers.inspection import Inspection, Piped, endings, names_of
from kvaudit.analyzers.places import Places
from kvaudit.analyzers.profile import Profile, said_of_variables
from kvaudit.analyzers.ruleset import Ruleset, check_names, choose_rules, packaged_folders
from kvaudit.analyzers.settle import Terms
from kvaudit.commands.lint_options import (
    FileOptions,
    KnownOptions,
    RuleOptions,
    TrafficOptions,
    VerdictOptions,
)
from kvaudit.core.config import Config
from kvaudit.core.console import LOGGER
from kvaudit.core.errors import UsageError
from kvaudit.core.findings import Severity
from kvaudit.core.nearest import did_you_mean
from kvaudit.core.settings import Settings

STDIN = Path("-")
NEVER = "never"


@dataclass(frozen=True, slots=True)
class Asked:
    """What a call asks for."""

    paths: Sequence[Path]
    files: FileOptions
    rules: RuleOptions
    traffic: TrafficOptions
    known: KnownOptions
    isolated: bool


def prepare(asked: Asked, config: Config) -> Inspection:
    """Return what is to be linted, by what, and what is left out of the result."""
    settings = config.settings
    rules = _rules(asked, settings)
    piped = _piped(asked)
    places = Places(Path.cwd())
    settings_folder = config.folder or places.folder
    found = find_files(_paths(asked), _selection(asked.files, config))
    task = Task(
        rules=rules.used,
        profile=_profile(asked.traffic, settings),
        variables=said_of_variables(settings.variables),
        names=names_of(found),
    )
    since = asked.known.since
    terms = Terms(
        rules=rules.used,
        known=rules.known,
        place=places.in_project,
        published=places.in_repository,
        pattern_place=lambda path: places.from_folder(path, settings_folder),
        per_file=settings.rules.per_file,
        baseline=_baseline(asked, settings),
        new_lines=new_lines(since, Path.cwd()) if since is not None else None,
        reasons=settings.lint.require_reasons,
    )
    return Inspection(found=found, task=task, terms=terms, piped=piped)


def words(values: Sequence[str] | None) -> tuple[str, ...]:
    """Return what a repeated option names, commas taken apart."""
    parts = (word.strip() for value in values or () for word in value.split(","))
    return tuple(word for word in parts if word)


def least_severity(verdict: VerdictOptions, settings: Settings) -> Severity | None:
    """Return the severity from which a run fails; None where none does."""
    word = verdict.fail_on or settings.lint.fail_on
    known = [*(severity.value for severity in Severity), NEVER]
    if word not in known:
        raise UsageError(f"--fail-on {word}: is no severity{did_you_mean(word, known)}")
    return None if word == NEVER else Severity(word)


def _rules(asked: Asked, settings: Settings) -> Ruleset:
    folders = (*map(Path, settings.rules.folders), *(asked.rules.rules or ()))
    chosen = choose_rules(
        () if asked.isolated else (*packaged_folders(), *folders),
        select=words(asked.rules.select) or settings.rules.select,
        ignore=(*settings.rules.ignore, *words(asked.rules.ignore)),
        severity=settings.rules.severity,
    )
    for pattern, names in settings.rules.per_file.items():
        check_names(chosen, names, f"rules.per-file {pattern!r}")
    return chosen


def _profile(traffic: TrafficOptions, settings: Settings) -> Profile:
    said = settings.lint
    isolate = traffic.isolate or said.isolate
    if isolate not in ("none", "tenant"):
        raise UsageError(f"--isolate {isolate}: say none or tenant")
    provider = traffic.provider or said.provider
    if provider is not None:
        _warn_of_unknown(provider)
    return Profile(
        provider=provider,
        model=traffic.model or said.model or settings.model,
        multi_turn=said.multi_turn if traffic.multi_turn is None else traffic.multi_turn,
        isolate_tenants=isolate == "tenant",
        retention_days=(
            said.retention_days if traffic.retention_days is None else traffic.retention_days
        ),
        block_tokens=said.block_tokens,
    )


def _warn_of_unknown(provider: str) -> None:
    """Say that nothing is known of a provider: it may be a slip, and it may be a new one."""
    from kvaudit.cost.providers.facts import all_providers

    if provider.lower() not in all_providers():
        LOGGER.warning(
            "provider %s: kvaudit knows no limits of it, so rules about them say nothing%s",
            provider,
            did_you_mean(provider, all_providers()),
        )


def _paths(asked: Asked) -> list[Path]:
    paths = [path for path in asked.paths if path != STDIN]
    if not paths and not asked.paths and asked.files.stdin_filename is None:
        return [Path()]
    return paths


def _piped(asked: Asked) -> Piped | None:
    if STDIN not in asked.paths and asked.files.stdin_filename is None:
        return None
    name = asked.files.stdin_filename
    return Piped(name and name.replace("\\", "/"), sys.stdin.buffer.read())


def _selection(files: FileOptions, config: Config) -> Selection:
    settings = config.settings
    return Selection(
        endings=endings(),
        include=settings.include,
        exclude=(*settings.exclude, *(files.exclude or ())),
        force_exclude=files.force_exclude or settings.force_exclude,
        folder=config.folder or Path.cwd(),
    )


def _baseline(asked: Asked, settings: Settings) -> Baseline | None:
    if asked.known.write_baseline is not None or asked.isolated:
        return None
    named = asked.known.baseline or (settings.lint.baseline and Path(settings.lint.baseline))
    return Baseline.read(named) if named else None
