"""A simulated cache and the real one that does what it decides, request by request.

The simulated cache says what is held and what is evicted; the executor holds just that in real
tiers, under digests of the text, and finds there what it can. Its hits are counted, not believed:
they are what was read, and are held against what the simulated cache says.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray

from kvaudit.core.errors import UsageError
from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.batches import take
from kvaudit.replay.blocks import BlockBatch, known_full_blocks
from kvaudit.replay.device.checks import Checked
from kvaudit.replay.device.executor import Executor, Prompt, Run
from kvaudit.replay.device.files import FileTier
from kvaudit.replay.device.outcomes import joined_outcomes, only, same_hits
from kvaudit.replay.device.room import is_out_of_memory
from kvaudit.replay.device.tiers import Pool
from kvaudit.replay.models.tiers import LowerTiers, Tier
from kvaudit.replay.outcomes import CacheModel, CacheOutcome
from kvaudit.replay.tiers import OwnTiers, TieredCache

SAMPLE_SEED = 0
"""Of which requests are checked."""
EARLY = 4
"""Half of the checks fall on the first so many requests a check."""


@runtime_checkable
class HoldsKeys(CacheModel, Protocol):
    """A cache that can name the keys of the blocks it holds."""

    def held_keys(self) -> Collection[int]:
        """Return the keys that a later request could hit; negative ones stand for no text."""
        ...


@runtime_checkable
class HoldsBelow(HoldsKeys, Protocol):
    """A cache with tiers of its own below it, that can name what each of them holds."""

    def held_below(self) -> Sequence[Collection[int]]:
        """Return the keys of each tier below, the fastest first, each the oldest first."""
        ...

    @property
    def storage(self) -> Tier | None:
        """Return the last tier, where that can hold what an earlier run left."""
        ...


@dataclass(slots=True)
class Executed:
    """What the run found so far."""

    requests: int = 0
    not_admitted: int = 0
    """Too large for the cache: an engine refuses them too."""
    reason: str | None = None
    """Why it ended before the log did."""
    differing: list[str] = field(default_factory=list)
    """Ids of requests whose real hits are not those of the simulated cache."""
    checked: dict[int, Checked] = field(default_factory=dict)
    """By number of the request."""
    pool_bytes: list[tuple[int, int]] = field(default_factory=list)
    device_bytes: list[tuple[int, int]] = field(default_factory=list)
    leaked_blocks: int = 0


class DeviceCache:
    """Serves a whole log, given as one batch, on a device."""

    def __init__(
        self,
        simulated: CacheModel,
        executor: Executor,
        *,
        block: int,
        whole_prompt: bool,
        checks: int,
        time_limit_s: float,
    ) -> None:
        """Take the cache that decides, and what does it; ``checks`` requests are also checked.

        ``whole_prompt`` says that a prompt may be read to its end, and then has one token computed
        again. Raises `UsageError` for a cache that cannot say what it holds.
        """
        self.simulated = simulated
        self.executor = executor
        self.executed = Executed()
        self._block, self._whole_prompt = block, whole_prompt
        self._checks, self._time_limit_s = checks, time_limit_s
        self._lower: LowerTiers | None = None
        first: CacheModel = simulated
        if isinstance(simulated, TieredCache):
            assert isinstance(simulated.lower, LowerTiers)
            first, self._lower = simulated.first, simulated.lower
        elif isinstance(simulated, OwnTiers):
            first = simulated.first
        if not isinstance(first, HoldsKeys):
            raise UsageError(
                "--device runs a model behind --engine vllm and sglang, one request after the "
                "other; leave out --model to hash and match only"
            )
        self._first = first
        self._digests: dict[int, bytes] = {}

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve the requests one after the other until the time is up; simulate the rest."""
        served = [*self._prompts(prompts, blocks)]
        self._find_files()
        self._check_lengths(prompts, served)
        checked = sampled(len(served), self._checks)
        began = time.monotonic()
        self._warm_up([served[number].prompt_tokens for number in sorted(checked)])
        outcomes = []
        for number, prompt in enumerate(served):
            if self.executed.reason is None and time.monotonic() - began > self._time_limit_s:
                self.executed.reason = f"the time limit of {self._time_limit_s:g} s was reached"
            alone = np.array([number])
            outcome = self.simulated.replay(take(prompts, alone), only(blocks, number))
            outcome = replace(outcome, measured_ttft_s=np.array([np.nan]))
            if self.executed.reason is None:
                outcome = self._execute(
                    number, prompts.requests[number].id, prompt, outcome, number in checked
                )
            outcomes.append(outcome)
        self._set_ages()
        return joined_outcomes(outcomes)

    def _prompts(self, prompts: PromptBatch, blocks: BlockBatch) -> Iterator[Prompt]:
        """Yield the requests with the digests of their blocks, which are noted by key."""
        known = known_full_blocks(prompts, blocks, self._block).tolist()
        for i, full in enumerate(known):
            units = prompts.units[prompts.offsets[i] : prompts.offsets[i + 1]]
            tokens = int(prompts.prompt_tokens[i])
            name = prompts.namespace_names[prompts.namespaces[i]]
            digests = [*_chain(name, units, self._block, full)]
            keys = blocks.keys[blocks.key_offsets[i] :][:full].tolist()
            self._digests.update(zip(keys, digests, strict=True))
            usable = (tokens if self._whole_prompt else tokens - 1) // self._block
            yield Prompt(
                units=units,
                prompt_tokens=tokens,
                digests=digests,
                usable_blocks=min(usable, full),
            )

    def _execute(
        self, number: int, name: str, prompt: Prompt, outcome: CacheOutcome, measured: bool
    ) -> CacheOutcome:
        """Run one request and return what it really found."""
        done = self.executed
        if not outcome.admitted[0]:
            done.not_admitted += 1
            return outcome
        if isinstance(self._first, HoldsBelow):  # it may leave what it holds below where it is
            hits = int(outcome.hit_blocks[0])
            prompt = replace(prompt, usable_blocks=min(prompt.usable_blocks, hits))
        try:
            off_first = bool(len(done.checked) % 2)
            run = self.executor.serve(prompt, measured=measured, off_first=off_first)
            self.executor.hold(self._held())
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            done.reason = f"memory ran out at request {name}: {_first_sentence(error)}"
            return outcome
        done.requests += 1
        if run.checked is not None:
            done.checked[number] = run.checked
        self._note_memory(number)
        real = self._as_outcome(run, outcome)
        if not same_hits(real, outcome):
            done.differing.append(name)
        return real

    def _as_outcome(self, run: Run, outcome: CacheOutcome) -> CacheOutcome:
        tokens = np.array(run.hit_tokens, np.int64)[:, None]
        hits = tokens.sum(axis=0)
        return replace(
            outcome,
            cached_tokens=hits,
            hit_blocks=-(-hits // self._block),
            tier_tokens=None if outcome.tier_tokens is None else tokens,
            measured_ttft_s=np.array([run.on_s]),
        )

    def _check_lengths(self, prompts: PromptBatch, served: Sequence[Prompt]) -> None:
        """Raise `UsageError` where the model has no place for a token."""
        most = self.executor.prefill.model.most_tokens
        for request, prompt in zip(prompts.requests, served, strict=True):
            if most is not None and len(prompt.units) > most:
                raise UsageError(
                    f"--model {self.executor.prefill.model.name}: request {request.id} has "
                    f"{len(prompt.units):,} tokens, and the model has {most:,} positions; name a "
                    "model that takes longer prompts, or leave out --device"
                )

    def _warm_up(self, lengths: Sequence[int]) -> None:
        """Run the longest prompt that is measured once before; where it has no room, it ends."""
        if not lengths:
            return
        try:
            self.executor.warm_up(max(lengths))
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            self.executed.reason = (
                f"memory ran out at a prompt of {max(lengths):,} tokens: {_first_sentence(error)}"
            )

    def _held(self) -> list[Collection[bytes]]:
        """Return the digests that each tier is to hold, the oldest first where it knows."""
        keys = [self._first.held_keys()]
        if isinstance(self._first, HoldsBelow):
            keys += self._first.held_below()
        elif self._lower is not None:
            keys += [tier.held for tier in self._lower.tiers]
        digests = self._digests
        return [{digests[key]: None for key in held if key in digests}.keys() for held in keys]

    def _note_memory(self, number: int) -> None:
        pool = self.executor.places[0]
        assert isinstance(pool, Pool)
        done = self.executed
        done.pool_bytes.append((number, pool.used_blocks * pool.block_bytes))
        done.leaked_blocks = pool.used_blocks - sum(map(pool.holds, self._held()[0]))
        device = self.executor.prefill.model.device
        if device.type == "cuda":
            done.device_bytes.append((number, torch.cuda.memory_allocated(device)))

    def _file_tier(self) -> FileTier | None:
        last = self.executor.places[-1]
        return last if isinstance(last, FileTier) else None

    def _find_files(self) -> None:
        """Let the simulated tier begin with what an earlier run left in files."""
        files = self._file_tier()
        tier = self._lower.tiers[-1] if self._lower is not None else None
        if isinstance(self._first, HoldsBelow):
            tier = self._first.storage
        if files is None or tier is None:
            return
        keys = {digest: key for key, digest in self._digests.items()}
        for number, digest in enumerate(files.found_at_start):
            # Text that this log does not hold still takes room.
            key = keys.get(digest, _FOREIGN - number)
            self._digests[key] = digest
            tier.put([key])
        files.keep(self._held()[-1])

    def _set_ages(self) -> None:
        files = self._file_tier()
        if files is not None and self.executed.reason is None:
            files.set_ages([digest for digest in self._held()[-1] if files.holds(digest)])


_FOREIGN = -(2**40)
"""Keys of blocks in files that the log does not hold; below all that models make up."""


def sampled(requests: int, checks: int) -> set[int]:
    """Return the numbers of the requests that are checked, the same for the same log.

    Half of them are among the first of a long log: a run may end before it does, and would
    otherwise end with next to nothing checked.
    """
    sample = np.random.default_rng(SAMPLE_SEED)
    early = sample.permutation(min(requests, EARLY * checks))[: (checks + 1) // 2].tolist()
    rest = [n for n in sample.permutation(requests).tolist() if n not in set(early)]
    return {*early, *rest[: checks - len(early)]}


def _first_sentence(error: Exception) -> str:
    return str(error).split(". ")[0].splitlines()[0]


def _chain(namespace: str, units: NDArray[np.int32], block: int, full: int) -> Iterator[bytes]:
    """Yield a digest for each full block, of all text up to its end in its namespace."""
    digest = hashlib.sha256(namespace.encode()).digest()
    for start in range(0, full * block, block):
        digest = hashlib.sha256(digest + units[start : start + block].tobytes()).digest()
        yield digest
