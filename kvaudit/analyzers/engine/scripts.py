"""Text of shell scripts, Dockerfiles and units into what it starts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from kvaudit.analyzers.engine.flags import assignments, invoked
from kvaudit.analyzers.engine.invocation import Deployment, Invocation, Setting
from kvaudit.analyzers.engine.programs import version_of_image, version_of_pin
from kvaudit.analyzers.engine.shell_variables import filled
from kvaudit.analyzers.engine.words import Word
from kvaudit.core.sources import Source

MAX_RUNS = 200
"""More than a person starts from one file."""


def started(
    source: Source,
    commands: Iterable[Sequence[Word]],
    *,
    image: str = "",
    variables: Sequence[Setting] = (),
    assumed: str | None = None,
) -> Deployment:
    """Return what commands start, one after the other; what is exported holds for those behind."""
    environment = list(variables)
    runs: list[Invocation] = []
    for command in filled(commands):
        if sets_only(command):
            environment += assignments(command)
        run = invoked(command, assumed) if len(runs) < MAX_RUNS else None
        if run is not None:
            environment_here = (*environment, *run.environment)
            version = version_of_image(run.program, image) if image else None
            pinned = version_of_pin(run.program, source.text)
            runs.append(
                replace(run, environment=environment_here, version=run.version or version or pinned)
            )
    everything = {setting.span: setting for setting in [*environment, *_of_runs(runs)]}
    return Deployment(source=source, invocations=runs, variables=list(everything.values()))


def sets_only(command: Sequence[Word]) -> bool:
    """Whether a command does nothing but set variables."""
    return command[0].text == "export" or all("=" in word.text for word in command)


def _of_runs(runs: Iterable[Invocation]) -> Iterator[Setting]:
    for run in runs:
        yield from run.environment
