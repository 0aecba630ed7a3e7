"""Options for several replicas behind a router."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from kvaudit.core.errors import UsageError
from kvaudit.core.nearest import did_you_mean

if TYPE_CHECKING:
    from kvaudit.replay.fleet.invalidation import Invalidation
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

    invalidate: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHEN:all|some=K|none[:REASON]",
            help="All KV so far is invalid from a time (90s, 10m, 2h) or before a request (500) "
            "on, and all, the first K or no replicas drop it; may be repeated.",
            rich_help_panel=FLEET,
        ),
    ] = None

    def plan(self) -> "FleetPlan | None":
        """Return the fleet that is asked for, or None for one replica without a router."""
        from kvaudit.replay.fleet.plan import BROADCAST_AFTER, FleetPlan, HashSeeds, Sharing
        from kvaudit.replay.fleet.router import find_router

        router = self.router or "round-robin"
        kind = find_router(router)
        events = [parse_invalidation(text) for text in self.invalidate or ()]
        instances = self.instances
        if instances is None and events and self.router is None:
            instances = 1  # what becomes of one cache can be asked without a fleet
        if instances is None and (self.router is None or kind.counts_replicas):
            for name in ("router", "router_seed", "sharing", "broadcast_after", "hash_seeds"):
                if getattr(self, name) is not None:
                    option = "--" + name.replace("_", "-")
                    raise UsageError(f"{option} needs several replicas: say --instances N too")
            return None
        sharing = Sharing(_choice("--sharing", self.sharing or "none", list(Sharing)))
        if self.broadcast_after is not None and sharing is not Sharing.BROADCAST:
            raise UsageError("--broadcast-after means nothing without --sharing broadcast")
        if events and sharing is Sharing.BROADCAST:
            raise UsageError("--invalidate is not modelled with --sharing broadcast; use pool")
        return FleetPlan(
            instances=instances,
            invalidations=events,
            router=router,
            sharing=sharing,
            broadcast_after=self.broadcast_after or BROADCAST_AFTER,
            hash_seeds=HashSeeds(
                _choice("--hash-seeds", self.hash_seeds or "same", list(HashSeeds))
            ),
            seed=self.router_seed or 0,
        )


def parse_invalidation(text: str) -> "Invalidation":
    """Read ``WHEN:REACH[:REASON]``: ``10m:all``, ``500:some=2:prompt change``."""
    from kvaudit.replay.fleet.invalidation import Invalidation

    when, _, rest = text.partition(":")
    reach, _, reason = rest.partition(":")
    time = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h)", when)
    some = re.fullmatch(r"some=(\d+)", reach)
    if not (time or re.fullmatch(r"[1-9]\d*", when)) or not (some or reach in ("all", "none")):
        raise UsageError(
            f"--invalidate {text}: write it as WHEN:REACH, a time (90s, 10m, 2h) or the number "
            "of a request, and all, some=K or none, such as 10m:some=2:model reload"
        )
    return Invalidation(
        at_request=None if time else int(when),
        at_s=float(time[1]) * {"s": 1, "m": 60, "h": 3600}[time[2]] if time else None,
        reach=int(some[1]) if some else None if reach == "all" else 0,
        reason=reason.strip() or "reload",
    )


def _choice(option: str, value: str, known: list[str]) -> str:
    if value not in known:
        raise UsageError(f"{option} {value} is not known{did_you_mean(value, known)}")
    return value
