"""An engine as a configuration starts it: its program, version, flags and environment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from kvaudit.core.sources import Source, Span

UNKNOWN = re.compile(r"\{\{|\$[({A-Za-z_]|<[A-Za-z_-]+>|\x00")
"""What stands for a value that is filled in later."""
_TRUE = {"true", "1", "yes", "on", ""}
_FALSE = {"false", "0", "no", "off"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One flag, key or variable, with the place of its name and value."""

    name: str
    """Without dashes in front, in kebab case; a variable of the environment as it is."""
    value: str | None
    """As text; None where the flag stands alone."""
    span: Span
    written: str
    """The name as written."""
    negated: bool = False
    """It was given as ``--no-NAME``."""

    @property
    def known(self) -> bool:
        """Whether its value stands in the file."""
        return self.value is None or UNKNOWN.search(self.value) is None

    @property
    def on(self) -> bool | None:
        """What a switch says; None where it cannot be told."""
        if self.value is None:
            return not self.negated
        word = self.value.strip().lower()
        if word in _TRUE:
            return not self.negated
        return self.negated if word in _FALSE else None

    @property
    def number(self) -> float | None:
        """The value as a number; None for anything else."""
        try:
            return float(self.value) if self.value is not None else None
        except ValueError:
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One program of an engine, a router or a store, as it will be started."""

    program: str
    """Name of the file in ``data`` that describes it."""
    span: Span
    """Where the program is named."""
    settings: Sequence[Setting] = ()
    environment: Sequence[Setting] = ()
    open_environment: bool = False
    """More variables come from elsewhere, such as a ConfigMap."""
    version: str | None = None
    model: str | None = None
    replicas: int | None = None
    """How many of it run; None where nothing says so."""
    group: str = ""
    """What tells it apart in its file: the name of its container or service."""
    settings_only: bool = False
    """It is a file or map of settings; what starts with them stands elsewhere."""
    chart: str | None = None
    """The Helm chart whose values these are, where its defaults are known."""

    def get(self, *names: str) -> Setting | None:
        """Return the last setting of one of these names, which is the one that counts."""
        found = [setting for setting in self.settings if setting.name in names]
        return found[-1] if found else None

    def variable(self, *names: str) -> Setting | None:
        """Return a variable of the environment."""
        found = [setting for setting in self.environment if setting.name in names]
        return found[-1] if found else None

    def before(self, version: str) -> bool | None:
        """Whether its version is older than another; None where it is not known."""
        if self.version is None:
            return None
        from packaging.version import InvalidVersion, Version

        try:
            return Version(self.version) < Version(version)
        except InvalidVersion:
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What one file starts."""

    source: Source
    invocations: Sequence[Invocation] = field(default_factory=tuple)
    variables: Sequence[Setting] = ()
    """Every variable that the file sets, for whatever program."""

    def running(self, *programs: str) -> list[Invocation]:
        """Return the invocations of some programs."""
        return [run for run in self.invocations if run.program in programs]

    def comment_near(self, span: Span) -> str:
        """Return the comment behind a place and the comment lines right above it.

        One that silences a rule is left out: the rule must speak for it to do so.
        """
        line = self.source.place(span.start).line
        behind = self.source.line(line).partition("#")[2]
        above = []
        while line > 1 and self.source.line(line - 1).lstrip().startswith("#"):
            line -= 1
            above.append(self.source.line(line))
        return " ".join(text for text in [*reversed(above), behind] if "kvaudit" not in text)
