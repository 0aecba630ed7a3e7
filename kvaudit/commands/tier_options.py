"""Options for tiers below the engine's own cache."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from kvaudit.core.errors import UsageError
from kvaudit.core.nearest import did_you_mean

if TYPE_CHECKING:
    from kvaudit.replay.tiers import TierKind, TierPlan

TIERS = "Tiers"
_OF_LMCACHE = ("lmcache_chunk_size", "lmcache_cache_policy")


@dataclass(frozen=True, slots=True, kw_only=True)
class TierSizeOptions:
    """What stands below the engine's cache, and when it is written."""

    l2: Annotated[
        str | None,
        typer.Option(
            "--l2",
            metavar="SIZE",
            help="Second tier, host memory (lmcache: disk, or remote:SIZE): 600blocks, 9600tokens, "
            "40GiB or inf; vllm: lmcache:SIZE is LMCache's CPU memory, in chunks.",
            rich_help_panel=TIERS,
        ),
    ] = None
    l3: Annotated[
        str | None,
        typer.Option(
            "--l3",
            metavar="SIZE",
            help="Third tier, disk (lmcache: remote; below lmcache:SIZE disk, or remote:SIZE).",
            rich_help_panel=TIERS,
        ),
    ] = None
    write_policy: Annotated[
        str | None,
        typer.Option(
            metavar="write-through|write-through-selective|write-back",
            help="When a block is copied down: once computed (default), from its second request "
            "on, or when the tier above drops it; lmcache and trtllm have their own.",
            rich_help_panel=TIERS,
        ),
    ] = None
    lmcache_chunk_size: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Below vllm: tokens of LMCache's chunks (default: 256).",
            rich_help_panel=TIERS,
        ),
    ] = None
    lmcache_cache_policy: Annotated[
        str | None,
        typer.Option(
            metavar="lru|lfu|fifo|mru",
            help="Below vllm: what LMCache evicts first (default: lru).",
            rich_help_panel=TIERS,
        ),
    ] = None
    exclusive: Annotated[
        bool,
        typer.Option(
            "--exclusive",
            help="With write-back: a block that is read up leaves the tier below.",
            rich_help_panel=TIERS,
        ),
    ] = False

    def plan(self) -> "TierPlan | None":
        """Return the tiers that are asked for, or None for the engine's own cache alone."""
        self._check()
        if self.l2 is None:
            return None
        from kvaudit.core.quantities import Capacity
        from kvaudit.replay.models.tiers import WritePolicy
        from kvaudit.replay.tiers import TierPlan

        policy = None if self.write_policy is None else self.write_policy.replace("_", "-")
        if policy is not None and policy not in list(WritePolicy):
            raise UsageError(
                f"--write-policy {self.write_policy} is not one{did_you_mean(policy, WritePolicy)}"
            )
        sizes = {"--l2": self.l2} if self.l3 is None else {"--l2": self.l2, "--l3": self.l3}
        named = [_named(size, option) for option, size in sizes.items()]
        plan = TierPlan(
            capacities=tuple(
                Capacity.parse(size, option=option)
                for option, (_, size) in zip(sizes, named, strict=True)
            ),
            kinds=tuple(kind for kind, _ in named),
            policy=None if policy is None else WritePolicy(policy),
            exclusive=self.exclusive,
            chunk_size=self.lmcache_chunk_size,
            chunk_policy=self.lmcache_cache_policy,
        )
        # LMCache has no write policy to name: it is refused with both, where engines are known.
        if plan.exclusive and plan.policy is not WritePolicy.BACK and not plan.is_lmcache:
            raise UsageError(
                f"--exclusive contradicts --write-policy {policy or WritePolicy.THROUGH}, which "
                "copies every block down at once; use --write-policy write-back"
            )
        return plan

    def _check(self) -> None:
        """Refuse what has no tier to apply to."""
        self._check_given("l2", "l3", "write_policy", "exclusive", *_OF_LMCACHE)

    def _check_given(self, tier: str, *names: str) -> None:
        given = [name for name in names if getattr(self, name) not in (None, False)]
        if getattr(self, tier) is None and given:
            option = given[0].replace("_", "-")
            size = "lmcache:SIZE" if given[0] in _OF_LMCACHE else "SIZE"
            raise UsageError(f"--{option} needs a tier to apply to; say --{tier} {size} too")


def _named(size: str, option: str) -> "tuple[TierKind | None, str]":
    """Return what a size is said to be of, as in ``remote:inf``, and the size itself."""
    from kvaudit.replay.tiers import TierKind

    kind, colon, rest = size.partition(":")
    if not colon:
        return None, size
    if kind not in list(TierKind):
        raise UsageError(f"{option} {size}: {kind!r} is no tier{did_you_mean(kind, TierKind)}")
    return TierKind(kind), rest


@dataclass(frozen=True, slots=True, kw_only=True)
class TierOptions(TierSizeOptions):
    """The same, and how fast the tiers are read."""

    l2_bandwidth: Annotated[
        float | None,
        typer.Option(
            "--l2-bandwidth",
            metavar="GB/s",
            help="10^9 bytes a second that are read from the second tier (default: its link).",
            rich_help_panel=TIERS,
        ),
    ] = None
    l3_bandwidth: Annotated[
        float | None,
        typer.Option(
            "--l3-bandwidth",
            metavar="GB/s",
            help="The same of the third tier.",
            rich_help_panel=TIERS,
        ),
    ] = None

    def plan(self) -> "TierPlan | None":
        """Return the tiers that are asked for, or None for the engine's own cache alone."""
        plan = TierSizeOptions.plan(self)
        if plan is None:
            return None
        return replace(plan, bandwidths_gb_s=(self.l2_bandwidth, self.l3_bandwidth))

    def _check(self) -> None:
        """Refuse what has no tier to apply to, and a tier that could never be read."""
        self._check_given("l2", "l3", "l2_bandwidth", "write_policy", "exclusive", *_OF_LMCACHE)
        self._check_given("l3", "l3_bandwidth")
        for name in ("l2_bandwidth", "l3_bandwidth"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise UsageError(
                    f"--{name.replace('_', '-')} {value:g}: a tier is read at more than 0 "
                    "GB/s, and at a finite number of them"
                )
