"""Counts, bytes and capacities as typed."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvaudit.core.errors import UsageError
from kvaudit.core.quantities import Capacity, CapacityUnit, format_bytes, parse_bytes, parse_count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("512", 512),
        ("1_000", 1000),
        ("20k", 20_000),
        ("20K", 20_480),
        ("1.5k", 1500),
        ("2m", 2_000_000),
        ("2M", 2 * 2**20),
        ("1g", 10**9),
        (" 7 ", 7),
    ],
)
def test_counts(text, count):
    assert parse_count(text) == count


@pytest.mark.parametrize("text", ["", "k", "-1", "1e3", "12 apples", "1.2.3", "20kb", "²"])
def test_what_is_no_count_is_refused(text):
    with pytest.raises(UsageError, match="is not a count"):
        parse_count(text)


def test_a_fraction_of_a_token_is_refused():
    with pytest.raises(UsageError, match=r"'1\.0005k' is 1000\.5, which is not a whole number"):
        parse_count("1.0005k")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("40GiB", 40 * 2**30),
        ("40GB", 40 * 10**9),
        ("40gb", 40 * 10**9),
        ("1.5 TiB", 3 * 2**39),
        ("512MiB", 2**29),
        ("1kB", 1000),
        ("64B", 64),
        ("64 bytes", 64),
    ],
)
def test_bytes(text, count):
    assert parse_bytes(text) == count


@pytest.mark.parametrize(
    ("text", "capacity"),
    [
        ("600blocks", Capacity(600, CapacityUnit.BLOCKS)),
        ("1 block", Capacity(1, CapacityUnit.BLOCKS)),
        ("20k blocks", Capacity(20_000, CapacityUnit.BLOCKS)),
        ("9600tokens", Capacity(9600, CapacityUnit.TOKENS)),
        ("40GiB", Capacity(40 * 2**30, CapacityUnit.BYTES)),
        ("INF", Capacity(None)),
    ],
)
def test_capacities(text, capacity):
    assert Capacity.parse(text) == capacity


@pytest.mark.parametrize("text", ["600", "40G", "", "many", "-1blocks", "600 pages"])
def test_a_capacity_without_a_unit_says_how_to_write_one(text):
    with pytest.raises(UsageError, match="write"):
        Capacity.parse(text)


def test_capacity_in_blocks():
    size = {"block_size": 16, "kv_bytes_per_token": 131_072}
    assert Capacity.parse("600blocks").to_blocks(**size) == 600
    assert Capacity.parse("9615tokens").to_blocks(**size) == 600
    assert Capacity.parse("320GiB").to_blocks(**size) == 163_840
    assert Capacity.parse("inf").to_blocks(**size) is None


def test_bytes_need_a_model():
    with pytest.raises(UsageError, match=r"capacity of 40 GiB .* add --model NAME"):
        Capacity.parse("40GiB").to_blocks(block_size=16, kv_bytes_per_token=None)


@pytest.mark.parametrize("text", ["0blocks", "15tokens", "1MiB"])
def test_less_than_one_block_is_refused(text):
    with pytest.raises(UsageError, match="holds no block: one block is 16 tokens"):
        Capacity.parse(text).to_blocks(block_size=16, kv_bytes_per_token=131_072)


def test_one_block_is_enough():
    assert Capacity.parse("16tokens").to_blocks(block_size=16, kv_bytes_per_token=None) == 1


@given(st.text(max_size=12))
def test_any_text_is_a_quantity_or_a_sentence(text):
    for parse in (parse_count, parse_bytes, Capacity.parse):
        with contextlib.suppress(UsageError):
            parse(text)


def test_bytes_for_a_reader():
    assert [format_bytes(n) for n in (0, 1023, 1536, 40 * 2**30, 5 * 2**50)] == [
        "0 B",
        "1,023 B",
        "1.5 KiB",
        "40 GiB",
        "5,120 TiB",
    ]
