"""Options of a sweep: what is varied, and how the result is told apart."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kvaudit.commands.fleet_options import MAX_INSTANCES, FleetOptions
from kvaudit.commands.planning import NAMESPACE_FIELDS
from kvaudit.core.errors import UsageError
from kvaudit.core.nearest import did_you_mean
from kvaudit.core.quantities import MAX_BLOCK_TOKENS

if TYPE_CHECKING:
    from kvaudit.core.quantities import Capacity
    from kvaudit.replay.curve_passes import SweepPlan
    from kvaudit.replay.fleet.plan import FleetPlan
    from kvaudit.replay.plan import Plan
    from kvaudit.replay.semantic.policy import SemanticPolicy

SWEEP = "Sweep"
"""A panel of the help."""

_SUFFIX = re.compile(r"(?P<number>[\d_.]+)\s*(?P<suffix>.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepOptions:
    """What a sweep varies."""

    capacities: Annotated[
        str | None,
        typer.Option(
            metavar="512,4096,16384blocks",
            help="Capacities, in this order; the last unit is that of all (default: a grid up to "
            "the working set).",
            rich_help_panel=SWEEP,
        ),
    ] = None
    block_sizes: Annotated[
        str | None,
        typer.Option(
            metavar="16,32,64",
            help="Also at these tokens a block, page or chunk, with what partial blocks lose.",
            rich_help_panel=SWEEP,
        ),
    ] = None
    policies: Annotated[
        str | None,
        typer.Option(
            metavar="lru,fifo",
            help="Also under these policies of the engine.",
            rich_help_panel=SWEEP,
        ),
    ] = None
    instances: Annotated[
        str | None,
        typer.Option(
            metavar="1,2,4",
            help="Also as so many replicas behind a router, each with the capacity.",
            rich_help_panel=SWEEP,
        ),
    ] = None
    router: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Their router, as for replay (default: round-robin).",
            rich_help_panel=SWEEP,
        ),
    ] = None
    by: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD|hour",
            help="A curve for each tenant, user, session, instance, ... or hour of the log.",
            rich_help_panel=SWEEP,
        ),
    ] = None
    semantic: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="POLICY.toml",
            help="Sweep the threshold of a semantic cache instead; may be repeated.",
            rich_help_panel=SWEEP,
        ),
    ] = None
    thresholds: Annotated[
        str | None,
        typer.Option(
            metavar="0.95,0.9,0.85",
            help="Thresholds, on the policy's scale and in this order (default: cosines from "
            "0.99 to 0.71, and the policy's own).",
            rich_help_panel=SWEEP,
        ),
    ] = None
    optimal: Annotated[
        bool,
        typer.Option(
            "--optimal/--no-optimal",
            help="The cache that knows the future, as the upper line.",
            rich_help_panel=SWEEP,
        ),
    ] = True

    def plan(self, cache: Plan) -> SweepPlan:
        """Return what is asked for. Raises `UsageError` for what cannot be read."""
        from kvaudit.replay.curve_passes import SweepPlan

        return SweepPlan(
            cache=cache,
            capacities=parse_capacities(self.capacities) if self.capacities is not None else (),
            block_sizes=parse_whole("--block-sizes", self.block_sizes or "", MAX_BLOCK_TOKENS),
            policies=tuple(dict.fromkeys(_parts(self.policies or ""))),
            fleets=self._fleets(),
            grouped_by=self.by,
            optimal=self.optimal,
        )

    def _fleets(self) -> tuple[FleetPlan, ...]:
        if self.router is not None and self.instances is None:
            raise UsageError("--router needs several replicas: say --instances 1,2,4 too")
        counts = parse_whole("--instances", self.instances or "", MAX_INSTANCES)
        fleets = (FleetOptions(instances=n, router=self.router).plan() for n in counts)
        return tuple(fleet for fleet in fleets if fleet is not None)

    def semantic_policies(self) -> list[tuple[Path, SemanticPolicy]]:
        """Return the policies whose thresholds are swept, checked; none where none is named."""
        if not self.semantic:
            if self.thresholds is not None:
                raise UsageError("--thresholds are a semantic cache's: say --semantic POLICY.toml")
            return []
        from kvaudit.replay.semantic.policy_file import load_policy

        others = {
            "--capacities": self.capacities,
            "--block-sizes": self.block_sizes,
            "--policies": self.policies,
            "--instances": self.instances,
            "--by": self.by,
        }
        for option, value in others.items():
            if value is not None:
                raise UsageError(f"--semantic sweeps a threshold and nothing else: drop {option}")
        return [(path, load_policy(path)) for path in self.semantic]

    def chosen_thresholds(self) -> list[float] | None:
        """Return the thresholds that are named, each once; None where none are."""
        if self.thresholds is None:
            return None
        try:
            found = list(dict.fromkeys(float(part) for part in _parts(self.thresholds)))
        except ValueError:
            raise UsageError(
                f"--thresholds {self.thresholds}: write numbers, such as 0.95,0.9,0.85"
            ) from None
        if not found:
            raise UsageError("--thresholds names none; write numbers, such as 0.95,0.9,0.85")
        return found

    @property
    def group_field(self) -> str | None:
        """Return the field of the record that groups requests; None for none, and for hours."""
        if self.by is None or self.by == "hour":
            return None
        if self.by not in NAMESPACE_FIELDS:
            raise UsageError(
                f"--by {self.by}: requests cannot be told apart by that"
                f"{did_you_mean(self.by, (*NAMESPACE_FIELDS, 'hour'))}"
            )
        return self.by


def parse_capacities(text: str) -> tuple[Capacity, ...]:
    """Read ``512,4096,16384blocks``: a number without a unit takes that of the last one."""
    from kvaudit.core.quantities import Capacity

    parts = _parts(text)
    if not parts:
        raise UsageError("--capacities names none; write 512,4096,16384blocks")
    last = next((part for part in reversed(parts) if part.lower() != "inf"), "inf")
    match = _SUFFIX.fullmatch(last)
    if match is None and last != "inf":
        Capacity.parse(last, option="--capacities")
    suffix = match["suffix"] if match is not None else ""
    if match is not None and not suffix:
        raise UsageError(
            f"--capacities {text}: the last one has no unit; write blocks, tokens or GiB behind "
            "it, such as 512,4096,16384blocks"
        )
    bare = [part for part in parts if re.fullmatch(r"[\d_.]+", part)]
    return tuple(
        Capacity.parse(part + suffix if part in bare else part, option="--capacities")
        for part in parts
    )


def parse_whole(option: str, text: str, most: int) -> tuple[int, ...]:
    """Read ``16,32,64``; each number is kept once."""
    numbers = []
    for part in _parts(text):
        if not part.isdecimal() or not 1 <= int(part) <= most:
            raise UsageError(f"{option} {part}: write whole numbers from 1 to {most:,}")
        numbers.append(int(part))
    return tuple(dict.fromkeys(numbers))


def check_bounded(engine: str | None) -> None:
    """Refuse an engine whose cache has no capacity. Raises `UsageError`."""
    from kvaudit.replay.engine import find_engine

    if engine is not None and find_engine(engine).provider is not None:
        raise UsageError(
            f"--engine {engine}: a provider's cache forgets by time and not for want of room, so "
            "it has no curve; kvaudit replay --ttl compares its lifetimes"
        )


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
