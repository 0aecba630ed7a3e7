"""The keys vLLM itself computes for blocks, byte for byte, to compare with a running engine.

A replay does not need them (`kvaudit.replay.blocks` numbers blocks without hashing); they
are for looking a block up in an engine's events or in a store that engines share. Read from
``vllm/v1/core/kv_cache_utils.py`` and ``vllm/utils/hashing.py`` of 0.11.0 to 0.20.2, 0.22.0
to 0.25.0 and 0.28.0 to 0.33.0. Requests with images or prompt embeddings are left out: where
an image's tokens stand is not in a log.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from kvaudit.core.errors import UsageError
from kvaudit.core.extras import load
from kvaudit.replay.models.vllm_releases import NEWEST, parse_release

OLDEST = "0.11.0"
"""Before, keys were integers."""

_ADAPTER_NAMES = (0, 12, 0)  # before, an adapter was keyed by its number
_XXHASH = (0, 13, 0)
_FIXED_FIRST_KEY = (0, 29, 0)  # before, random where PYTHONHASHSEED is not set
_TAGGED = (0, 31, 0)  # before, an adapter and a salt of the same name had the same key
_FIXED_SEED = "vllm-none-hash"


class KeyAlgorithm(StrEnum):
    """vLLM's ``--prefix-caching-hash-algo``: how a block is written, and what hashes that."""

    SHA256 = "sha256"
    SHA256_CBOR = "sha256_cbor"
    XXHASH = "xxhash"
    XXHASH_CBOR = "xxhash_cbor"


class Adapter(NamedTuple):
    """A LoRA adapter as the engine knows it; which fields are needed depends on the release."""

    name: str
    path: str | None = None
    number: int | None = None


class VllmKeys:
    """Computes the block keys of one vLLM release and configuration."""

    def __init__(
        self,
        *,
        version: str = NEWEST,
        algorithm: KeyAlgorithm = KeyAlgorithm.SHA256,
        hash_seed: str | None = None,
    ) -> None:
        """Take ``hash_seed`` from the engine's environment variable PYTHONHASHSEED.

        Raises `UsageError` where the engine's keys differ from process to process.
        """
        self.version = version
        self._release = parse_release(version)
        if not parse_release(OLDEST) <= self._release < (*parse_release(NEWEST)[:2], 1 << 30):
            raise UsageError(
                f"the block keys of vLLM {version} are not known, only those of {OLDEST} to "
                f"{NEWEST}; name one of these with --engine-version"
            )
        self._hash = self._hasher(algorithm)
        self._first_key = self._hash(self._seed(algorithm, hash_seed))

    def chain(
        self,
        token_ids: Sequence[int],
        *,
        block_size: int,
        adapter: Adapter | None = None,
        salt: str | None = None,
    ) -> list[bytes]:
        """Return the keys of all full blocks of a request's tokens."""
        keys: list[bytes] = []
        parent = self._first_key
        named = [] if adapter is None else [self._adapter_key(adapter)]
        for start in range(0, len(token_ids) - block_size + 1, block_size):
            # The salt enters the first block only and reaches the others through the chain.
            extra = named + ([self._salt_key(salt)] if salt and start == 0 else [])
            tokens = tuple(token_ids[start : start + block_size])
            parent = self._hash((parent, tokens, tuple(extra) or None))
            keys.append(parent)
        return keys

    def _adapter_key(self, adapter: Adapter) -> object:
        if self._release < _ADAPTER_NAMES:
            return self._known(adapter.number, "number")
        if self._release < _TAGGED:
            return adapter.name
        return ("lora", adapter.name, self._known(adapter.path, "path"))

    def _known(self, value: object | None, what: str) -> object:
        if value is None:
            raise UsageError(
                f"vLLM {self.version} keys blocks by an adapter's {what}, which the log does "
                "not hold; keys of requests with adapters cannot be computed"
            )
        return value

    def _salt_key(self, salt: str) -> object:
        return salt if self._release < _TAGGED else ("cache_salt", salt)

    def _hasher(self, algorithm: KeyAlgorithm) -> Callable[[Any], bytes]:
        if algorithm in (KeyAlgorithm.XXHASH, KeyAlgorithm.XXHASH_CBOR):
            if self._release < _XXHASH:
                raise UsageError(f"vLLM {self.version} has no {algorithm}; use sha256")
            digest: Callable[[bytes], bytes] = load("xxhash", extra="keys").xxh3_128_digest
        else:

            def digest(data: bytes) -> bytes:
                return hashlib.sha256(data).digest()

        if algorithm in (KeyAlgorithm.SHA256_CBOR, KeyAlgorithm.XXHASH_CBOR):
            dumps = load("cbor2", extra="keys").dumps
            return lambda value: digest(dumps(value, canonical=True))
        return lambda value: digest(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))

    def _seed(self, algorithm: KeyAlgorithm, hash_seed: str | None) -> str:
        if hash_seed is not None:
            return hash_seed
        cryptographic = algorithm in (KeyAlgorithm.SHA256, KeyAlgorithm.SHA256_CBOR)
        if cryptographic and self._release >= _FIXED_FIRST_KEY:
            return _FIXED_SEED
        raise UsageError(
            f"vLLM {self.version} with {algorithm} starts every process from a random key "
            "unless PYTHONHASHSEED is set; give the value it was set to"
        )
