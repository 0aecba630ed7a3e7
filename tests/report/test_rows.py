"""Per-request files."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from kvaudit.core.errors import UsageError
from kvaudit.report.rows import parquet
from kvaudit.report.rows.writer import COLUMNS, RowWriter

BATCHES = [
    {
        "id": ["a", "b\ud800"],
        "admitted": np.array([True, False]),
        "prompt_tokens": np.array([10, 20], dtype=np.int64),
        "cached_tokens": np.array([0, 16], dtype=np.int32),
    },
    {
        "id": ["é"],
        "admitted": [True],
        "prompt_tokens": [5],
        "cached_tokens": [None],
        "ttft_s": [0.5],
    },
]


def written(path):
    with RowWriter(path) as rows:
        for batch in BATCHES:
            rows.write(batch)
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_rows_read_back_with_null_where_nothing_applies(tmp_path, suffix):
    rows = written(tmp_path / f"rows{suffix}")
    assert [list(row) for row in rows] == [list(COLUMNS)] * 3
    assert [row["id"] for row in rows] == ["a", "b\\ud800", "é"]
    assert [row["admitted"] for row in rows] == [True, False, True]
    assert [row["cached_tokens"] for row in rows] == [0, 16, None]
    assert [row["ttft_s"] for row in rows] == [None, None, 0.5]
    assert {row["semantic_donor"] for row in rows} == {None}


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_equal_rows_are_equal_bytes(tmp_path, suffix):
    for name in "ab":
        written(tmp_path / (name + suffix))
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_an_empty_run_is_a_valid_file(tmp_path, suffix):
    path = tmp_path / f"rows{suffix}"
    with RowWriter(path):
        pass
    if suffix == ".parquet":
        assert pq.read_table(path).num_rows == 0
    else:
        assert path.read_bytes() == b""


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_a_failed_run_leaves_the_old_file(tmp_path, suffix):
    path = tmp_path / f"rows{suffix}"
    path.write_text("old")
    with pytest.raises(AssertionError), RowWriter(path) as rows:
        rows.write({"no such column": [1]})
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_parquet_gathers_small_batches_into_row_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "ROWS_PER_GROUP", 10)
    path = tmp_path / "rows.parquet"
    with RowWriter(path) as rows:
        for _ in range(12):
            rows.write(BATCHES[0])
    assert pq.ParquetFile(path).metadata.num_row_groups == 3


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("rows.csv", r"must end in \.jsonl or \.parquet"),
        ("rows", r"must end in \.jsonl or \.parquet"),
        ("no/rows.jsonl", r"the folder .*no does not exist"),
        ("folder.jsonl", "is a folder; name a file"),
    ],
)
def test_a_path_that_cannot_be_written_is_refused_at_once(tmp_path, name, message):
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(UsageError, match=message):
        RowWriter(tmp_path / name)
