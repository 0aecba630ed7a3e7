"""Keys of KV that differ between the processes that are to share it."""

from __future__ import annotations

from collections.abc import Iterator

from kvaudit.analyzers.engine.faults import seen
from kvaudit.analyzers.engine.invocation import Deployment, Invocation
from kvaudit.analyzers.engine.stores import (
    connector,
    copies,
    lmcache_setting,
    lmcache_uses_sha256,
    remote_store,
    uses_lmcache,
)
from kvaudit.core.document import Observation

SEED = "PYTHONHASHSEED"
_ALGORITHM = "pre-caching-hash-algorithm"
_STABLE_SINCE = "0.30.0"
"""vLLM's first key no longer hangs on the seed from 0.29 or 0.30 on (PR #51875)."""


def look(deployment: Deployment) -> Iterator[Observation]:
    """Yield stores whose readers do not compute the same keys."""
    for run in deployment.invocations:
        store = remote_store(run)
        if store is None or _is_old(run, deployment):
            continue
        if run.program == "lmcache":
            algorithm = lmcache_setting(run, _ALGORITHM)
            is_builtin = algorithm is None or algorithm.value == "builtin"
            if is_builtin and store.known and not _is_fixed(deployment):
                detail = _builtin(store.written, algorithm is not None)
                yield seen(deployment, "external-hash-algorithm", store.span, detail)
        else:
            yield from _seed(deployment, run)


def _is_old(run: Invocation, deployment: Deployment) -> bool:
    """Whether LMCache is so old that it hashes tokens with SHA-256, whatever the seed.

    The keys of a file may say so: those of 0.1 are called otherwise.
    """
    if run.get("local-device", "pipelined-backend") is not None:
        return True
    by_lmcache = run.program == "lmcache" or uses_lmcache(run)
    return by_lmcache and lmcache_uses_sha256(deployment.source.text)


def _is_fixed(deployment: Deployment) -> bool:
    """Whether the file gives engines a seed, with which Python's hash is the same in all of them.

    ``None``, which was hashed by its address, is of no concern since Python 3.12, as in the images.
    """
    seeds = [one for one in deployment.variables if one.name == SEED]
    return bool(seeds) and all((one.value or "random") != "random" for one in seeds)


def _builtin(store: str, named: bool) -> str:
    by = "is builtin" if named else "is left to its default, builtin"
    return f"{store} is shared, and the algorithm of its keys {by}: Python's hash()"


def _seed(deployment: Deployment, run: Invocation) -> Iterator[Observation]:
    store = remote_store(run)
    assert store is not None
    seed, count = run.variable(SEED), copies(run, deployment)
    if count == 1 or _is_stable(run):
        return
    if seed is not None and seed.value == "random":
        detail = f"{SEED} is random, and {store.written} is shared"
        yield seen(deployment, "hash-seed-differs", seed.span, detail)
    elif seed is None and not run.open_environment:
        kind = "hash-seed-differs" if count is not None else "hash-seed-perhaps-differs"
        detail = f"{store.written} is shared, and {SEED} is not set"
        yield seen(deployment, kind, store.span, detail)


def _is_stable(run: Invocation) -> bool:
    """Whether the keys are the same in every process; LMCache's own hang on the seed still."""
    given = connector(run)
    algorithm = run.get("prefix-caching-hash-algo")
    if given is None or "LMCache" in (given.value or ""):
        return False
    random_still = algorithm is not None and "xxhash" in (algorithm.value or "")
    return run.before(_STABLE_SINCE) is False and not random_still
