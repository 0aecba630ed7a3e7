"""What one engine is to a replay: its defaults, its rules in words, and its cache models.

An engine is one module in ``kvaudit/replay/engines`` that defines ``ENGINE``; the folder is
the list.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

from kvaudit.core.errors import UsageError
from kvaudit.core.nearest import did_you_mean
from kvaudit.replay import engines
from kvaudit.replay.curve_rows import CurveRules, full_block_rows
from kvaudit.replay.models.kv_groups import FULL_ATTENTION, KvGroup
from kvaudit.replay.models.step_limits import SERVER_LIMITS, StepLimits
from kvaudit.replay.models.tiers import WritePolicy
from kvaudit.replay.models.trtllm_retention import DEFAULT_OPTIONS, TrtllmOptions
from kvaudit.replay.outcomes import CacheModel

if TYPE_CHECKING:
    from kvaudit.cost.steps import StepCost
    from kvaudit.replay.tiers import TierRules

LMCACHE_CHUNK = 256
"""Tokens of a chunk of LMCache's, by default."""
LMCACHE_POLICIES = ("lru", "lfu", "fifo", "mru")
"""What LMCache can evict first; the default stands first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSettings:
    """How one cache is set up; what the user left open is filled in."""

    version: str | None
    block_size: int
    """Tokens of a block."""
    capacity_blocks: int | None
    """None is unbounded."""
    policy: str
    eagle: bool
    schedule: str
    """How requests meet: ``sequential``, ``steps`` or ``timed``."""
    small: bool
    """Whether the log is so small that plain Python is quicker than loading compiled code."""
    model: str | None = None
    """Model in place of those that requests name, where the rules differ by model."""
    lifetime: str | None = None
    """A provider's lifetime in place of what requests ask for."""
    retain_s: float | None = None
    """How long a session's blocks are passed over by eviction; None for no such hint."""
    limits: StepLimits = SERVER_LIMITS
    """What one step of the engine may hold."""
    groups: tuple[KvGroup, ...] = FULL_ATTENTION
    """The model's kinds of layers, which share the engine's blocks."""
    retention_tokens: int | None = None
    """How sparsely windows and states are kept; None keeps all that a hit could use."""
    keeps_partial: bool = False
    """Whether a prompt's partial last block is kept too, where the engine leaves that open."""
    saves_decoded: bool = False
    """Whether chunks that decoding fills are kept too, where the engine leaves that open."""
    trtllm: TrtllmOptions = DEFAULT_OPTIONS
    """What TensorRT-LLM's cache is told beside its sizes."""
    lower_blocks: tuple[int | None, ...] = ()
    """Blocks of each tier that the engine's own model moves blocks to; None is unbounded."""
    has_disk: bool = True
    """Whether the first of LMCache's is a disk, and not the remote store."""
    write: WritePolicy = WritePolicy.THROUGH
    """When that model copies blocks down."""
    chunk_size: int = LMCACHE_CHUNK
    """Tokens of a chunk of the LMCache that stands below."""
    chunk_policy: str = LMCACHE_POLICIES[0]
    """What it evicts first."""
    step_cost: StepCost | None = None
    """How long a step takes; None unless it is ``timed``."""


class KeyChain(Protocol):
    """Computes the keys that a running engine gives to blocks."""

    def __call__(
        self, token_ids: Sequence[int], block_size: int, lora: str | None, salt: str | None
    ) -> list[bytes]:
        """Return the keys of all full blocks of a request's tokens."""
        ...


def replayed_only(settings: CacheSettings) -> CurveRules:
    """Return the rules of an engine whose curve is replayed capacity by capacity.

    Its rows serve the clairvoyant cache only, of which they ask no less than any engine could.
    """
    rows = partial(
        full_block_rows,
        block_tokens=settings.block_size,
        last_token_hits=True,
        last_output_stays=True,
    )
    return CurveRules(rows=rows, is_stack=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """An engine whose prefix cache can be replayed."""

    name: str
    title: str
    """One line for help and documentation."""
    newest_version: str | None
    """None for a cache that no release has."""
    block_size: int
    """The engine's own default, in tokens."""
    policies: tuple[str, ...]
    """What may be evicted first; the default stands first."""
    clairvoyant_policies: frozenset[str]
    """Those that must see the whole log before they can evict."""
    schedules: tuple[str, ...]
    """How requests can meet; the default stands first."""
    eagle: bool
    """Whether it can be told that a drafter needs the last block's hidden states."""
    partial_blocks: bool
    """Whether the partial last block of a prompt is kept and can be hit."""
    may_keep_partial: bool = False
    """Whether it can be told to do that."""
    may_connect_lmcache: bool = False
    """Whether LMCache can stand below its own cache."""
    has_remote: bool = False
    """Whether the last of its own tiers is a remote store, which may also be the only one."""
    may_save_decoded: bool = False
    """Whether it can be told to keep blocks that end in generated tokens."""
    definition: str
    """What counts as a hit, as a clause."""
    exactness: Callable[[CacheSettings], str]
    """What the figures are: exact for what, bounded by what."""
    build: Callable[[CacheSettings], CacheModel]
    tiers: TierRules | None = None
    """How it uses tiers below its cache; None where that is not modelled."""
    needs_tokens: bool = False
    """Whether a log of block hashes cannot be replayed."""
    shared_across: frozenset[str] = frozenset()
    """Fields that its keys leave out, though KV differs between their values."""
    curve: Callable[[CacheSettings], CurveRules] = replayed_only
    """How one pass gives the hits of every capacity, where it can."""
    own_keys: Callable[[str, str], KeyChain] | None = None
    """Makes the engine's own keys from a version and what ``--engine-keys`` says."""
    provider: str | None = None
    """Whose hosted cache it is; None for an engine that one runs oneself."""
    is_trtllm: bool = False
    """Whether it takes what only TensorRT-LLM's cache is told."""
    retains: bool = False
    """Whether hints to keep a session's blocks can be modelled."""
    chat_template: str | None = None
    """The chat template that the rules need; None where any will do."""
    layer_groups: bool = False
    """Whether it can be told the model's kinds of layers."""
    remarks: Callable[[CacheSettings], Sequence[str]] = lambda _: ()
    """What must be said of a replay with these settings, in sentences."""

    def keeps_partial(self, settings: CacheSettings) -> bool:
        """Whether partial last blocks of more than one token are kept and can be hit."""
        kept = self.may_keep_partial and settings.keeps_partial
        return (self.partial_blocks or kept) and settings.block_size > 1

    def needs_whole_log(self, settings: CacheSettings) -> bool:
        """Whether the cache must be given the log as one batch."""
        foresees = settings.policy in self.clairvoyant_policies
        return (
            settings.schedule != "sequential"
            or settings.groups != FULL_ATTENTION
            or (foresees and settings.capacity_blocks is not None)
        )


def engine_names() -> list[str]:
    """Return the names of all engines, without importing any: those of their modules."""
    return sorted(module.name for module in pkgutil.iter_modules(engines.__path__))


def find_engine(name: str) -> Engine:
    """Return the engine of that name, or raise `UsageError` with the nearest one."""
    known = engine_names()
    if name not in known:
        raise UsageError(f"--engine {name} is not modelled{did_you_mean(name, known)}")
    engine: Engine = importlib.import_module(f"{engines.__name__}.{name}").ENGINE
    return engine


def check_choice(
    engine: Engine, *, version: str | None, policy: str | None, schedule: str | None, eagle: bool
) -> None:
    """Refuse what an engine does not have, naming what it has. Raises `UsageError`."""
    if version is not None and engine.newest_version is None:
        raise UsageError(f"--engine {engine.name} has no versions; leave out --engine-version")
    if eagle and not engine.eagle:
        raise UsageError(f"--eagle means nothing to --engine {engine.name}; leave it out")
    if policy is not None and policy not in engine.policies:
        raise UsageError(
            f"--engine {engine.name} does not evict by {policy}"
            f"{did_you_mean(policy, engine.policies)}"
        )
    if schedule is not None and schedule not in engine.schedules:
        raise UsageError(
            f"--engine {engine.name} is not modelled with --schedule {schedule}"
            f"{did_you_mean(schedule, engine.schedules)}"
        )
