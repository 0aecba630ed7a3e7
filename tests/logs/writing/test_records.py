"""The record reads back equal from every container; bytes depend on the requests alone."""

import gzip
import json
from array import array

import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from kvaudit.core.errors import InputError, UsageError
from kvaudit.core.requests import Request
from kvaudit.logs.read import LogReader
from kvaudit.logs.writing.records import check_suffix, write_records
from tests.logs.strategies import requests

SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet")
SIMPLE = [Request(id=f"r{i}", arrived_s=i / 3, prompt="a" * i) for i in range(10)]


@settings(max_examples=60)
@given(st.lists(requests, min_size=1, max_size=4), st.sampled_from(SUFFIXES))
def test_a_record_reads_back_equal(tmp_path_factory, written, suffix):
    path = tmp_path_factory.mktemp("round") / f"log{suffix}"
    write_records(written, path)
    reader = LogReader([path])
    assert list(reader) == written
    assert reader.format_name == "record"
    assert reader.broken == 0


def test_media_that_were_not_hashed_stay_so(tmp_path):
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    written = [Request(id="a", messages=[{"role": "user", "content": [image]}])]
    write_records(written, tmp_path / "log.jsonl")
    assert list(LogReader([tmp_path / "log.jsonl"])) == written


def test_half_a_surrogate_pair_and_huge_integers_are_no_crash(tmp_path):
    path = tmp_path / "log.jsonl"
    write_records([Request(id="\ud800", seed=10**30)], path)
    assert json.loads(path.read_text()) == {"id": "\ud800", "arrived_s": None, "seed": 10**30}
    for broken in (Request(id="\ud800"), Request(id="a", seed=10**30)):
        with pytest.raises(InputError, match=r"write \.jsonl instead"):
            write_records([broken], tmp_path / "log.parquet")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_same_requests_give_the_same_bytes(tmp_path, suffix):
    paths = [tmp_path / f"{name}{suffix}" for name in "ab"]
    for path in paths:
        write_records(SIMPLE, path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_compression_is_what_the_name_says(tmp_path):
    for suffix in (".jsonl", ".jsonl.gz", ".jsonl.zst"):
        write_records(SIMPLE, tmp_path / f"log{suffix}")
    plain = (tmp_path / "log.jsonl").read_bytes()
    assert gzip.decompress((tmp_path / "log.jsonl.gz").read_bytes()) == plain
    unpacked = zstandard.ZstdDecompressor().decompressobj()
    assert unpacked.decompress((tmp_path / "log.jsonl.zst").read_bytes()) == plain


def test_what_is_none_is_left_out(tmp_path):
    write_records([Request(id="a", token_ids=array("i", [1, 2]))], tmp_path / "log.jsonl")
    row = json.loads((tmp_path / "log.jsonl").read_text())
    assert row == {"id": "a", "arrived_s": None, "token_ids": [1, 2]}


def test_parquet_comes_in_groups(tmp_path, monkeypatch):
    monkeypatch.setattr("kvaudit.logs.writing.records._ROWS_A_GROUP", 3)
    write_records(SIMPLE, tmp_path / "log.parquet")
    assert pq.ParquetFile(tmp_path / "log.parquet").num_row_groups == 4
    assert list(LogReader([tmp_path / "log.parquet"])) == SIMPLE


def test_a_failure_leaves_the_old_file(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("old")

    def failing():
        yield SIMPLE[0]
        raise InputError("cut off")

    with pytest.raises(InputError, match="cut off"):
        write_records(failing(), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["log", "log.csv", "log.jsonl.bz2", "log.gz"])
def test_a_name_that_does_not_say_what_to_write(tmp_path, name):
    with pytest.raises(UsageError, match=r"must end in \.parquet, \.jsonl"):
        check_suffix(tmp_path / name)
