"""vLLM's block keys against bytes written out by hand from the formats it uses."""

import hashlib
import sys

import pytest
import xxhash

from kvaudit.core.errors import MissingExtra, UsageError
from kvaudit.replay.engine_keys import Adapter, KeyAlgorithm, VllmKeys


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def pickled(body: bytes) -> bytes:
    """Protocol 5: header, a frame with its length, the body, stop."""
    body += b"."
    return b"\x80\x05\x95" + len(body).to_bytes(8, "little") + body


def pickled_text(text: str) -> bytes:
    return b"\x8c" + bytes([len(text)]) + text.encode() + b"\x94"


def pickled_block(parent: bytes, extra: bytes = b"N") -> bytes:
    """(parent, (7, 300, 70000, 0), extra): one, two and four byte integers."""
    tokens = b"(K\x07M\x2c\x01J\x70\x11\x01\x00K\x00t\x94"
    return pickled(b"C\x20" + parent + b"\x94" + tokens + extra + b"\x87\x94")


def cbor_block(parent: bytes, extra: bytes = b"\xf6") -> bytes:
    tokens = b"\x84\x07\x19\x01\x2c\x1a\x00\x01\x11\x70\x00"
    return (
        b"\x83"
        + bytes([0x40 + len(parent)] if len(parent) < 24 else [0x58, len(parent)])
        + (parent + tokens + extra)
    )


def cbor_text(text: str) -> bytes:
    return bytes([0x60 + len(text)]) + text.encode()


TOKENS = [7, 300, 70000, 0]
FIRST = sha256(pickled(pickled_text("vllm-none-hash")))


def test_a_chain_of_full_blocks():
    keys = VllmKeys(version="0.33.0").chain([*TOKENS, *TOKENS, 1], block_size=4)
    first = sha256(pickled_block(FIRST))
    assert keys == [first, sha256(pickled_block(first))]


def test_cbor():
    keys = VllmKeys(algorithm=KeyAlgorithm.SHA256_CBOR, hash_seed="0")
    first = sha256(cbor_block(sha256(cbor_text("0"))))
    assert keys.chain(TOKENS, block_size=4) == [first]


def test_xxhash_of_the_same_bytes():
    digest = xxhash.xxh3_128_digest
    seed = digest(cbor_text("0"))
    keys = VllmKeys(algorithm=KeyAlgorithm.XXHASH_CBOR, hash_seed="0")
    assert keys.chain(TOKENS, block_size=4) == [digest(cbor_block(seed))]
    keys = VllmKeys(algorithm=KeyAlgorithm.XXHASH, hash_seed="0")
    pickled_seed = digest(pickled(pickled_text("0")))
    body = pickled_block(pickled_seed + bytes(16)).replace(
        b"C\x20" + pickled_seed + bytes(16), b"C\x10" + pickled_seed
    )
    body = body[:3] + (len(body) - 11).to_bytes(8, "little") + body[11:]
    assert keys.chain(TOKENS, block_size=4) == [digest(body)]


def test_adapter_and_salt_tagged_since_0_31():
    keys = VllmKeys(version="0.31.0").chain(
        TOKENS * 2, block_size=4, adapter=Adapter("a", "/p"), salt="s"
    )
    adapter = pickled_text("lora") + pickled_text("a") + pickled_text("/p") + b"\x87\x94"
    salt = pickled_text("cache_salt") + pickled_text("s") + b"\x86\x94"
    first = sha256(pickled_block(FIRST, adapter + salt + b"\x86\x94"))
    assert keys == [first, sha256(pickled_block(first, adapter + b"\x85\x94"))]


def test_adapter_and_salt_of_one_name_collide_before_0_31():
    old = VllmKeys(version="0.30.0")
    with_salt = old.chain(TOKENS, block_size=4, salt="x")
    assert old.chain(TOKENS, block_size=4, adapter=Adapter("x")) == with_salt
    assert with_salt == [sha256(pickled_block(FIRST, pickled_text("x") + b"\x85\x94"))]


def test_adapters_have_numbers_before_0_12():
    keys = VllmKeys(version="0.11.0", hash_seed="0")
    first = sha256(pickled(pickled_text("0")))
    expected = sha256(pickled_block(first, b"K\x05\x85\x94"))
    assert keys.chain(TOKENS, block_size=4, adapter=Adapter("a", number=5)) == [expected]
    with pytest.raises(UsageError, match="adapter's number"):
        keys.chain(TOKENS, block_size=4, adapter=Adapter("a"))


@pytest.mark.parametrize(
    ("version", "algorithm"),
    [("0.28.0", KeyAlgorithm.SHA256), ("0.33.0", KeyAlgorithm.XXHASH)],
)
def test_keys_that_differ_from_process_to_process_are_refused(version, algorithm):
    with pytest.raises(UsageError, match="PYTHONHASHSEED"):
        VllmKeys(version=version, algorithm=algorithm)


@pytest.mark.parametrize("version", ["0.10.2", "0.34.0"])
def test_releases_whose_keys_are_not_known_are_refused(version):
    with pytest.raises(UsageError, match=r"only those of 0\.11\.0 to 0\.33\.0"):
        VllmKeys(version=version)


def test_xxhash_is_younger_than_0_12():
    with pytest.raises(UsageError, match="use sha256"):
        VllmKeys(version="0.12.0", algorithm=KeyAlgorithm.XXHASH, hash_seed="0")


def test_a_missing_package_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "cbor2", None)
    with pytest.raises(MissingExtra, match=r"kvaudit\[keys\]"):
        VllmKeys(algorithm=KeyAlgorithm.SHA256_CBOR)
