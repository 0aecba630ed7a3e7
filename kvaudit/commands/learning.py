"""From the values that a log has of a project's variables to settings that say how they change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from kvaudit.analyzers.location.learned import Learned, learn, variables_of
from kvaudit.analyzers.profile import said_of_variables
from kvaudit.commands.diagnosis import Diagnosis
from kvaudit.commands.locating import ProjectPrompts
from kvaudit.core.why import LearnedVariable, WhyReport


def learned(report: WhyReport, diagnosis: Diagnosis, project: ProjectPrompts) -> WhyReport:
    """Return the report with what the log says of the project's variables.

    Proposed is only what the linter would then believe, and what the settings do not say already.
    """
    numbers = diagnosis.found.columns()["number"].tolist()
    prompts = project.read()
    variables = variables_of([*prompts.documents, *prompts.further])
    seen = learn(variables, numbers, diagnosis.asked)
    proposed: dict[str, LearnedVariable] = {}
    for naming in (_whole, _last):  # some readers know a variable by the last part of its name
        named = _by_name(seen, naming)
        levels = {name: each.level.name.lower() for name, each in named.items()}
        wanted = said_of_variables(levels)
        prompts = project.read(levels)
        read = {
            (s.source.path, *s.span): s.origin
            for document in (*prompts.documents, *prompts.further)
            for s in document.segments
        }
        for name, each in named.items():
            segment = each.variable.segment
            believed = read.get((segment.source.path, *segment.span)) is wanted[name]
            told = any(naming(each) in proposed for naming in (_whole, _last))
            if believed and not told and project.said.get(name) is not wanted[name]:
                proposed[name] = _proposal(name, each)
    return replace(report, variables=[proposed[name] for name in sorted(proposed)])


def _whole(each: Learned) -> str:
    return each.variable.name


def _last(each: Learned) -> str:
    return each.variable.name.rpartition(".")[2]


def _by_name(seen: Sequence[Learned], naming: Callable[[Learned], str]) -> dict[str, Learned]:
    """Return what was learned by name; of several places the most volatile decides."""
    found: dict[str, Learned] = {}
    for each in seen:
        known = found.get(naming(each))
        if known is None or each.level > known.level:
            found[naming(each)] = each
    return found


def _proposal(name: str, each: Learned) -> LearnedVariable:
    segment = each.variable.segment
    return LearnedVariable(
        name=name,
        level=each.level.name.lower(),
        said=segment.origin.value,
        requests=each.requests,
        values=each.values,
        path=segment.source.path,
        line=segment.source.place(segment.span.start).line,
    )
