"""From groups of a log to the places in a project that wrote them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kvaudit.analyzers.collect import Selection, find_files
from kvaudit.analyzers.divergence.slots import slot_at
from kvaudit.analyzers.location.places import Parted, locations, places
from kvaudit.analyzers.location.project import Prompts, prompt_endings, read_prompts
from kvaudit.analyzers.places import Places
from kvaudit.analyzers.profile import Profile, said_of_variables
from kvaudit.analyzers.ruleset import choose_rules
from kvaudit.analyzers.run import lint_document
from kvaudit.commands.diagnosis import Diagnosis
from kvaudit.core.config import Config
from kvaudit.core.document import Document
from kvaudit.core.findings import Finding
from kvaudit.core.summaries import Note
from kvaudit.core.why import RULES, Cause, DivergenceGroup, Location, WhyReport
from kvaudit.report.figures import plural

_FURTHER: Mapping[Cause, Sequence[str]] = {
    Cause.SHUFFLED_EXAMPLES: ("KV102", "KV107"),
    Cause.TOOL_ORDER: ("KV101", "KV102"),
    Cause.TOOL_SET: ("KV104", "KV106"),
    Cause.HISTORY_REWRITTEN: ("KV108", "KV111", "KV113", "KV114", "KV115"),
    Cause.HISTORY_TRIMMED: ("KV110", "KV111"),
    Cause.ENVIRONMENT_NOT_REPLAYED: ("KV111", "KV203"),
    Cause.REASONING_STRIPPED: ("KV111", "KV113"),
}
"""Rules that find the same in code under another name: a list of tools may be shuffled."""


class ProjectPrompts:
    """The prompts below some paths, which can be read again with more said of their variables."""

    def __init__(self, paths: Sequence[Path], config: Config) -> None:
        """Find the files. Raises `InputError` for a path that does not exist."""
        settings = config.settings
        selection = Selection(
            endings=prompt_endings(),
            include=settings.include,
            exclude=settings.exclude,
            folder=config.folder or Path.cwd(),
        )
        self.said = said_of_variables(settings.variables)
        self._found = find_files(paths, selection)

    def read(self, more: Mapping[str, str] | None = None) -> Prompts:
        """Read them; ``more`` is what further settings would say of variables."""
        return read_prompts(self._found, self.said | said_of_variables(more or {}))


def located(report: WhyReport, diagnosis: Diagnosis, project: ProjectPrompts) -> WhyReport:
    """Return the report with the places of every group, and a note of what was looked through."""
    rules, prompts = _Rules(), project.read()
    groups = [
        replace(group, locations=_locations(group, number, diagnosis, prompts, rules))
        for group, number in zip(report.groups, diagnosis.numbers, strict=True)
    ]
    return replace(report, groups=groups, notes=[*report.notes, *_notes(groups, prompts)])


class _Rules:
    """The lint rules that find a cause in a project's files, as kvaudit brings them."""

    def __init__(self) -> None:
        self._by_code = {rule.code: rule for rule in choose_rules().all}

    def __call__(self, document: Document, cause: Cause) -> Iterable[Finding]:
        """Return what the rules of a cause find in a document."""
        codes = (*([RULES[cause][0]] if cause in RULES else []), *_FURTHER.get(cause, ()))
        rules = [self._by_code[code] for code in codes if code in self._by_code]
        return lint_document(document, rules, Profile()) if rules else ()


def _locations(
    group: DivergenceGroup,
    number: int,
    diagnosis: Diagnosis,
    prompts: Prompts,
    rules: _Rules,
) -> Sequence[Location]:
    parted = None if number < 0 else _parted(group, number, diagnosis)
    if parted is None or not group.lost_tokens:
        return ()
    found = places(parted, prompts.documents, rules) or places(parted, prompts.further, rules)
    rule = RULES[group.cause][1] if group.cause in RULES else None
    names = Places(Path.cwd())
    return [
        replace(each, published=names.in_repository(each.path)) for each in locations(found, rule)
    ]


def _parted(group: DivergenceGroup, number: int, diagnosis: Diagnosis) -> Parted | None:
    """Return where the pair of a group's example parts; None for a log without texts."""
    found = diagnosis.found
    story = found.story(found.examples[number])
    pair = found.parting(story.number, story.relative) if story.chars >= 0 else None
    if pair is None:
        return None
    mine, _, where = pair
    slot = slot_at(where.later, where.earlier, where.offset)
    return Parted(
        cause=group.cause,
        text=where.later,
        start=slot.start,
        end=slot.start + len(slot.later),
        prompt="\n".join(diagnosis.rendered(mine)),
    )


def _notes(groups: Sequence[DivergenceGroup], prompts: Prompts) -> list[Note]:
    costly = [group for group in groups if group.lost_tokens]
    met = sum(bool(group.locations) for group in costly)
    text = (
        f"--source: {plural(len(prompts.documents), 'prompt')} in {plural(prompts.files, 'file')}; "
        f"of {plural(len(costly), 'group')} with lost tokens, written there: {met:,}"
    )
    skipped = [
        Note(
            topic="source",
            text=f"--source: not read, {plural(count, 'file')}: {reason}",
            count=count,
        )
        for reason, count in prompts.skipped.items()
    ]
    return [Note(topic="source", text=text), *skipped]
