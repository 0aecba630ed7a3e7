"""Options for a semantic cache in front of the model."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kvaudit.commands.options import CacheOptions

if TYPE_CHECKING:
    from kvaudit.core.settings import Settings
    from kvaudit.replay.semantic.policy import SemanticPolicy

SEMANTIC = "Semantic cache"


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticOptions:
    """The policy of a semantic cache, and what it may get wrong."""

    semantic: Annotated[
        Path | None,
        typer.Option(
            metavar="POLICY.toml",
            help="Replay a semantic cache too; a prefix cache sees what it misses, where an "
            "engine, capacity or model is named.",
            rich_help_panel=SEMANTIC,
        ),
    ] = None
    fail_over: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=LIMIT",
            help="Exit 1 if a figure exceeds a limit, such as false-hit-rate=0.02; may be "
            "repeated.",
            rich_help_panel=SEMANTIC,
        ),
    ] = None

    def policy(self) -> "SemanticPolicy | None":
        """Return the policy that is named, checked; None where none is."""
        from kvaudit.core.errors import UsageError
        from kvaudit.replay.semantic.policy_file import load_policy

        if self.semantic is not None:
            return load_policy(self.semantic)
        if self.fail_over:
            raise UsageError(
                "--fail-over holds a semantic cache against a limit: say --semantic POLICY.toml too"
            )
        return None


def has_prefix_cache(cache: CacheOptions, settings: "Settings") -> bool:
    """Return whether a prefix cache is asked for beside a semantic one."""
    named = (cache.engine, cache.capacity, cache.model, settings.engine.kind, settings.model)
    bounded = settings.capacity != type(settings).model_fields["capacity"].default
    return bounded or any(value is not None for value in named)
