"""Options for several replicas behind a router."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from kvaudit.core.errors import UsageError
from kvaudit.core.nearest import did_you_mean

if TYPE_CHECKING:
    from kvaudit.replay.fleet.plan import FleetPlan

FLEET = "Fleet"
MAX_INSTANCES = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetOptions:
    """The replicas, their router, and what they share."""

    instances: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MAX_INSTANCES,
            help="Replicas behind a router, each with the capacity that is given.",
            rich_help_panel=FLEET,
        ),
    ] = None
    router: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="round-robin (the default), least-loaded, session-affinity, prefix-hash, "
            "dynamo, llm-d, aibrix, sglang, or logged: the log's own instance.",
            rich_help_panel=FLEET,
        ),
    ] = None
    router_seed: Annotated[
        int | None,
        typer.Option(help="Decides draws among equals (default: 0).", rich_help_panel=FLEET),
    ] = None
    sharing: Annotated[
        str | None,
        typer.Option(
            metavar="none|pool|broadcast",
            help="What replicas have of each other's KV (default: none).",
            rich_help_panel=FLEET,
        ),
    ] = None
    broadcast_after: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Sessions that ask for a block before it is broadcast (default: 3).",
            rich_help_panel=FLEET,
        ),
    ] = None
    hash_seeds: Annotated[
        str | None,
        typer.Option(
            metavar="same|differ",
            help="Whether replicas hash blocks from one seed, as with PYTHONHASHSEED set.",
            rich_help_panel=FLEET,
        ),
    ] = None

    def plan(self) -> "FleetPlan | None":
        """Return the fleet that is asked for, or None for one replica without a router."""
        from kvaudit.replay.fleet.plan import BROADCAST_AFTER, FleetPlan, HashSeeds, Sharing
        from kvaudit.replay.fleet.router import find_router

        router = self.router or "round-robin"
        kind = find_router(router)
        if self.instances is None and (self.router is None or kind.counts_replicas):
            for name in ("router", "router_seed", "sharing", "broadcast_after", "hash_seeds"):
                if getattr(self, name) is not None:
                    option = "--" + name.replace("_", "-")
                    raise UsageError(f"{option} needs several replicas: say --instances N too")
            return None
        sharing = Sharing(_choice("--sharing", self.sharing or "none", list(Sharing)))
        if self.broadcast_after is not None and sharing is not Sharing.BROADCAST:
            raise UsageError("--broadcast-after means nothing without --sharing broadcast")
        return FleetPlan(
            instances=self.instances,
            router=router,
            sharing=sharing,
            broadcast_after=self.broadcast_after or BROADCAST_AFTER,
            hash_seeds=HashSeeds(
                _choice("--hash-seeds", self.hash_seeds or "same", list(HashSeeds))
            ),
            seed=self.router_seed or 0,
        )


def _choice(option: str, value: str, known: list[str]) -> str:
    if value not in known:
        raise UsageError(f"{option} {value} is not known{did_you_mean(value, known)}")
    return value
