"""Vectors on disk, by the hash of their text: an encoder reads each text once in its life.

They lie in `cache_folder`, in a folder for each encoder. A run writes what it had to make as one
new file, under a temporary name that it then replaces: runs side by side never write to the same
file, and a file is there whole or not at all. Each holds a checksum; one that is damaged counts for
nothing and is taken away. Texts are not kept, only their hashes.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.cache_folder import cache_folder
from kvaudit.core.console import LOGGER
from kvaudit.replay.semantic.encoder import Encoder, Vectors

KEY_BYTES = 16
MAGIC = b"kvaudit vectors 1\n"
_HEADER = len(MAGIC) + 3 * 8
"""Behind the magic: texts, dimensions, CRC-32 of the rest, 64 bits each."""


def encode_all(
    encoder: Encoder, texts: Sequence[str], tell: Callable[[int], None] = lambda done: None
) -> Vectors:
    """Return a vector for each text, from disk where they lie there.

    ``tell`` hears how many texts have been read by the encoder. A disk that cannot be read or
    written costs time and nothing else.
    """
    root = cache_folder()
    if not encoder.cached or root is None:
        return encoder.encode(texts)
    folder = root / "vectors" / _digest(encoder.identity).hex()
    keys = [_digest(text) for text in texts]
    known = _load(folder)
    missing = [i for i, key in enumerate(keys) if key not in known]
    made = _made(encoder, [texts[i] for i in missing], tell)
    if missing:
        _store(folder, [keys[i] for i in missing], made)
    fresh = {keys[i]: made[row] for row, i in enumerate(missing)}
    if not texts:
        return np.empty((0, 1), np.float32)
    return np.stack([known[key] if key in known else fresh[key] for key in keys])


CHUNK_TEXTS = 2048


def _made(
    encoder: Encoder, texts: Sequence[str], tell: Callable[[int], None]
) -> NDArray[np.float32]:
    parts = []
    for start in range(0, len(texts), CHUNK_TEXTS):
        parts.append(encoder.encode(texts[start : start + CHUNK_TEXTS]))
        tell(min(start + CHUNK_TEXTS, len(texts)))
    return np.concatenate(parts) if parts else np.empty((0, 1), np.float32)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()


def _load(folder: Path) -> dict[bytes, NDArray[np.float32]]:
    known: dict[bytes, NDArray[np.float32]] = {}
    with suppress(OSError):
        for path in sorted(folder.glob("*.vectors")):
            try:
                keys, vectors = _parsed(path.read_bytes())
            except ValueError as error:
                LOGGER.warning("%s is damaged (%s) and was taken away", path, error)
                with suppress(OSError):
                    path.unlink()
                continue
            known.update(zip(keys, vectors, strict=True))
    return known


def _parsed(content: bytes) -> tuple[list[bytes], NDArray[np.float32]]:
    if not content.startswith(MAGIC) or len(content) < _HEADER:
        raise ValueError("no header")
    texts, dimensions, checksum = np.frombuffer(content, "<i8", 3, len(MAGIC)).tolist()
    body = memoryview(content)[_HEADER:]
    if texts < 1 or dimensions < 1 or len(body) != texts * (KEY_BYTES + 4 * dimensions):
        raise ValueError("wrong length")
    if zlib.crc32(body) != checksum:
        raise ValueError("wrong checksum")
    end = texts * KEY_BYTES
    keys = [bytes(body[i : i + KEY_BYTES]) for i in range(0, end, KEY_BYTES)]
    return keys, np.frombuffer(body, "<f4", offset=end).reshape(texts, dimensions)


def _store(folder: Path, keys: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
    body = b"".join(keys) + np.ascontiguousarray(vectors, "<f4").tobytes()
    counts = np.array([len(keys), vectors.shape[1], zlib.crc32(body)], "<i8").tobytes()
    name = hashlib.blake2b(body, digest_size=KEY_BYTES).hexdigest()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(MAGIC + counts + body)
        os.replace(file.name, folder / f"{name}.vectors")
    except OSError as error:
        LOGGER.warning("vectors are not kept: %s: %s", folder, error.strerror)
