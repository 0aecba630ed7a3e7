"""Options for how an engine schedules requests, and how its model's layers keep KV."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from kvaudit.core.errors import UsageError
from kvaudit.core.nearest import did_you_mean

if TYPE_CHECKING:
    from kvaudit.replay.plan import Plan

SCHEDULE = "Engine"
"""Panel of the help."""

POLICIES = ("fcfs", "priority", "lpm")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleOptions:
    """What of an engine's scheduler and layers can be set."""

    groups: Annotated[
        str | None,
        typer.Option(
            metavar="full,swa:64",
            help="Kinds of layers, each with its own block table: full, swa:WINDOW, "
            "chunked:SIZE, mamba:align, mamba:all (default: full).",
            rich_help_panel=SCHEDULE,
        ),
    ] = None
    retention: Annotated[
        str | None,
        typer.Option(
            metavar="N|dense",
            help="Tokens between places where windows and states stay; 0: prompt ends only "
            "(default: dense).",
            rich_help_panel=SCHEDULE,
        ),
    ] = None
    scheduling_policy: Annotated[
        str | None,
        typer.Option(
            metavar="fcfs|priority|lpm",
            help="Who goes first (default: fcfs); priority is a field of the log (vllm), lpm the "
            "longest prefix (sglang).",
            rich_help_panel=SCHEDULE,
        ),
    ] = None
    watermark: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Share of the blocks that admitting leaves free (default: 0).",
            rich_help_panel=SCHEDULE,
        ),
    ] = None
    long_prefill_token_threshold: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Most tokens of one prefill in a step (default: 0, any number).",
            rich_help_panel=SCHEDULE,
        ),
    ] = None

    def applied(self, plan: "Plan") -> "Plan":
        """Return the plan with what these options say."""
        from kvaudit.replay.models.kv_groups import FULL_ATTENTION, parse_groups

        policy = self.scheduling_policy or "fcfs"
        if policy not in POLICIES:
            raise UsageError(
                f"--scheduling-policy {policy} is not known{did_you_mean(policy, POLICIES)}"
            )
        limits = replace(
            plan.limits,
            by_priority=policy == "priority",
            by_longest_prefix=policy == "lpm",
            watermark=self.watermark or 0.0,
            long_prefill_tokens=self.long_prefill_token_threshold or 0,
        )
        groups = FULL_ATTENTION if self.groups is None else parse_groups(self.groups)
        retention = self._retention_tokens()
        if retention and groups == FULL_ATTENTION:
            raise UsageError(
                "--retention concerns windows and states; name the model's layers with --groups, "
                "such as full,swa:1024"
            )
        return replace(
            plan,
            limits=limits,
            groups=groups,
            retention_tokens=retention,
            retention_asked=self.retention is not None,
        )

    def _retention_tokens(self) -> int | None:
        if self.retention in (None, "dense"):
            return None
        from kvaudit.core.quantities import parse_count

        try:
            return parse_count(self.retention or "")
        except UsageError:
            raise UsageError(
                f"--retention {self.retention}: write a number of tokens from 0 on, or dense"
            ) from None
