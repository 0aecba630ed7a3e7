"""Where an engine's KV goes beyond its own memory: connectors, remote stores, who shares them."""

from __future__ import annotations

import re

from kvaudit.analyzers.engine.invocation import Deployment, Invocation, Setting

# Multi-process LMCache keeps the prefix itself: its keys are BLAKE3 and know the salt.
_MULTI_PROCESS = re.compile(r"LMCacheMP")
_SHARED = re.compile(r"MooncakeStoreConnector|SharedStorageConnector")
_KEEPS = re.compile(r"LMCache|Offloading|MooncakeStore|SharedStorage")
_NOTHING = ("", "null", "none", "~")
_LMCACHE_IMAGE = re.compile(
    r"\blmcache/vllm-openai[\"']?(?::|\s+tag:\s*[\"']?)(?:v?(\d+)\.(\d+)\.(\d+)|(\d{4}-\d\d-\d\d))?"
)
_SHA256_UNTIL = (0, 3, 2)
_SHA256_UNTIL_DAY = "2025-07-15"
"""LMCache's v1/token_database.py calls hashlib up to 0.3.2, of this day, and from 0.3.3 on the
function that pre_caching_hash_algorithm names, builtin where it names none."""


def connector(run: Invocation) -> Setting | None:
    """Return the setting that names a KV connector."""
    return run.get("kv-transfer-config", "kv-connector")


def owns_prefix(run: Invocation) -> bool:
    """Whether an external connector keeps the prefix, so that the engine's own cache may be off."""
    given = connector(run)
    return given is not None and _MULTI_PROCESS.search(given.value or "") is not None


def keeps_prefix(run: Invocation) -> bool:
    """Whether a connector keeps KV beside the engine, so that a prefix is loaded, if not found."""
    given = connector(run)
    return given is not None and _KEEPS.search(given.value or "") is not None


def uses_lmcache(run: Invocation) -> bool:
    """Whether the engine uses LMCache inside its own process."""
    given = connector(run)
    if given is not None and "LMCache" in (given.value or ""):
        return not owns_prefix(run)
    lmcache = run.get("enable-lmcache")
    return lmcache is not None and lmcache.on is True


def lmcache_uses_sha256(text: str) -> bool:
    """Whether all images of LMCache in a file are of a version that made its keys with SHA-256."""
    found = _LMCACHE_IMAGE.findall(text)
    return bool(found) and all(
        "" < day <= _SHA256_UNTIL_DAY
        if not major
        else (int(major), int(minor), int(patch)) <= _SHA256_UNTIL
        for major, minor, patch, day in found
    )


def lmcache_setting(run: Invocation, name: str) -> Setting | None:
    """Return a setting of LMCache, from its file or from the environment of an engine."""
    if run.program == "lmcache":
        return run.get(name)
    return run.variable(f"LMCACHE_{name.replace('-', '_').upper()}")


def remote_store(run: Invocation) -> Setting | None:
    """Return what says that other processes read this one's KV by its keys."""
    if owns_prefix(run):
        return None
    url = lmcache_setting(run, "remote-url")
    if url is not None and (url.value or "").strip().lower() not in _NOTHING:
        return url
    peers = lmcache_setting(run, "enable-p2p")
    if peers is not None and peers.on is True and peers.value is not None:
        return peers
    given = connector(run)
    if given is not None and _SHARED.search(given.value or ""):
        return given
    return None


def shares_store(deployment: Deployment) -> bool:
    """Whether the replicas of a deployment share KV."""
    return any(remote_store(run) is not None for run in deployment.invocations)


def copies(run: Invocation, deployment: Deployment) -> int | None:
    """Return how many processes of the kind of ``run`` there are; None where it is not said."""
    alike = [other for other in deployment.invocations if other.program == run.program]
    if any(other.replicas is None for other in alike):
        return len(alike) if len(alike) > 1 else None
    return sum(other.replicas or 0 for other in alike)
