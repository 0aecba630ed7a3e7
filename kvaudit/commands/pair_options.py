"""Options for trying a policy, or a cache of the user's own, on labelled pairs."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import typer

from kvaudit.core.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class PairOptions:
    """Pairs, and what is tried on them."""

    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.jsonl",
            help="Try the policy on labelled pairs: a, b, same_answer. Without it and without a "
            "log: on bundled near-miss traps.",
        ),
    ] = None
    check: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:FUNCTION",
            help="Try your own cache on the pairs instead: called with two texts, true or an "
            "answer is served.",
        ),
    ] = None
    train_verifier: Annotated[
        Path | None,
        typer.Option(
            metavar="OUT.json", help="Train a verifier on the pairs of --pairs; policies name it."
        ),
    ] = None
    max_wrong: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Exit 1 if a larger share of the different pairs is served."
        ),
    ] = None

    def refuse_beside_a_log(self) -> None:
        """Raise `UsageError` for any of them: a log makes no sense of it."""
        for option in fields(self):
            if getattr(self, option.name) is not None:
                name = option.name.replace("_", "-")
                raise UsageError(f"--{name} tries pairs: leave out the log")
