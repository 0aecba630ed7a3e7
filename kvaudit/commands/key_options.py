"""Options of `kvaudit keys`: the candidate keys, what decides that a hit is wrong, what fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kvaudit.core.errors import UsageError
from kvaudit.core.findings import Severity
from kvaudit.core.foreign import CALL_LIMIT_S, is_function
from kvaudit.core.nearest import did_you_mean

if TYPE_CHECKING:
    from kvaudit.core.keys import KeysReport

KEYS = "Keys"
NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyOptions:
    """Which keys are held against the log."""

    key: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELDS|MODULE:FUNCTION",
            help="A key: fields joined by commas, or a function of yours that is called with one "
            "record and returns the key; may be repeated.",
            rich_help_panel=KEYS,
        ),
    ] = None
    from_source: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH",
            help="Read the keys that Python, JavaScript and TypeScript files build, and hold each "
            "against the log; may be repeated. Nothing is executed.",
            rich_help_panel=KEYS,
        ),
    ] = None
    matters: Annotated[
        str | None,
        typer.Option(
            metavar="FIELDS",
            help="Further fields, or columns of the log, that make a hit wrong if they differ.",
            rich_help_panel=KEYS,
        ),
    ] = None
    may_differ: Annotated[
        str | None,
        typer.Option(
            metavar="FIELDS",
            help="Fields in which two requests may differ and share an answer even so, such as "
            "user.",
            rich_help_panel=KEYS,
        ),
    ] = None
    keys_only: Annotated[
        bool,
        typer.Option(
            "--keys-only",
            help="Leave out what tenants share in the prefix cache.",
            rich_help_panel=KEYS,
        ),
    ] = False
    timeout: Annotated[
        float,
        typer.Option(
            min=0.1,
            metavar="SECONDS",
            help="What one call of a function may take.",
            rich_help_panel=KEYS,
        ),
    ] = CALL_LIMIT_S
    fail_on: Annotated[
        str,
        typer.Option(
            metavar="error|warning|never",
            help="Exit 1 for a key with wrong hits (error), or also for one with splits (warning).",
        ),
    ] = Severity.WARNING.value

    def chosen(self) -> list[ChosenKey]:
        """Return the keys in the order given, each once."""
        made = dict.fromkeys(text.strip() for text in self.key or ())
        return [_chosen(text) for text in made]

    def judged_by(self) -> tuple[str, ...]:
        """Return the fields that matter, in their order."""
        from kvaudit.analyzers.keys.logged.fields import MATTERS

        more, spared = words(self.matters), words(self.may_differ)
        both = [name for name in more if name in spared]
        if both:
            raise UsageError(f"--matters and --may-differ both name {both[0]}")
        fields = tuple(dict.fromkeys((*MATTERS, *more)))
        for name in spared:
            if name not in fields:
                raise UsageError(
                    f"--may-differ {name}: is no field that matters{did_you_mean(name, fields)}"
                )
        return tuple(name for name in fields if name not in spared)

    def least(self) -> Severity | None:
        """Return the severity from which the command fails; None where none does."""
        known = (Severity.ERROR.value, Severity.WARNING.value, NEVER)
        if self.fail_on not in known:
            raise UsageError(
                f"--fail-on {self.fail_on}: is no severity{did_you_mean(self.fail_on, known)}"
            )
        return None if self.fail_on == NEVER else Severity(self.fail_on)

    def fails(self, report: KeysReport) -> bool:
        """Return whether a report is bad enough to fail."""
        from kvaudit.core.keys import worst_severity

        least, worst = self.least(), worst_severity(report)
        return least is not None and worst is not None and worst.rank >= least.rank


@dataclass(frozen=True, slots=True)
class ChosenKey:
    """One ``--key``: either fields or a function."""

    text: str
    fields: tuple[str, ...]

    @property
    def is_function(self) -> bool:
        """Whether the user's code makes it."""
        return not self.fields


def words(text: str | None) -> tuple[str, ...]:
    """Return the names of a list parted by commas, each once."""
    return tuple(dict.fromkeys(part.strip() for part in (text or "").split(",") if part.strip()))


def _chosen(text: str) -> ChosenKey:
    if is_function(text):
        return ChosenKey(text, ())
    fields = words(text)
    if not fields:
        raise UsageError("--key: name fields, such as model,tenant,messages, or MODULE:FUNCTION")
    return ChosenKey(",".join(fields), fields)


def columns_among(fields: Sequence[str]) -> tuple[str, ...]:
    """Return the names that are no fields of the record: the log may have them as columns."""
    from kvaudit.analyzers.keys.logged.fields import known_fields

    return tuple(dict.fromkeys(name for name in fields if name not in known_fields()))


def check_columns(option: str, asked: Sequence[str], absent: Sequence[str]) -> None:
    """Raise `UsageError` for a name that is neither a field nor a column of the log."""
    from kvaudit.analyzers.keys.logged.fields import known_fields

    for name in asked:
        if name in absent:
            of_code = ", and no MODULE:FUNCTION" if ":" in name else ""
            raise UsageError(
                f"{option}: {name} is neither a field of the record nor a column of this log"
                f"{of_code}{did_you_mean(name, known_fields())}"
            )
