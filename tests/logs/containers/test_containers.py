"""The same records out of every container, and what is refused."""

import csv
import gzip
import io
import json
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvaudit.core.errors import InputError
from kvaudit.logs.containers import delimited, document
from kvaudit.logs.containers.lines import Lines, TooLong
from kvaudit.logs.containers.open import reader_of
from kvaudit.logs.format import BadRecord
from kvaudit.logs.read import LogReader
from kvaudit.logs.source import open_source

ROWS = [
    {"id": "a", "arrived_s": "1.5", "prompt": 'two\nlines, "quoted"'},
    {"id": "b", "arrived_s": "2", "prompt": "übung"},
]


def gz(data):
    return gzip.compress(data, mtime=0)  # no clock in the name of a test


def as_csv(delimiter=",", terminator="\r\n"):
    file = io.StringIO()
    writer = csv.DictWriter(file, list(ROWS[0]), delimiter=delimiter, lineterminator=terminator)
    writer.writeheader()
    writer.writerows(ROWS)
    return file.getvalue().encode()


def as_parquet(table=None):
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS) if table is None else table, file)
    return file.getvalue()


CONTAINERS = {
    "jsonl": b"".join(json.dumps(row).encode() + b"\n" for row in ROWS),
    "array": json.dumps(ROWS).encode(),
    "array-pretty": json.dumps(ROWS, indent=2).encode(),
    "array-of-lines": b"[\n" + b",\n".join(json.dumps(r).encode() for r in ROWS) + b"\n]\n",
    "object-with-list": json.dumps({"data": ROWS, "total": 2, "tags": ["x"]}).encode(),
    "object-with-list-pretty": json.dumps({"meta": {"rows": ROWS}}, indent=1).encode(),
    "one-after-the-other": b"\n".join(json.dumps(row, indent=2).encode() for row in ROWS),
    "csv": as_csv(),
    "csv-unix": as_csv(terminator="\n").rstrip(b"\n"),
    "tsv": as_csv("\t"),
    "semicolons": as_csv(";"),
    "parquet": as_parquet(),
    "junk-first": b'nd of a line"}\n' + b"".join(json.dumps(r).encode() + b"\n" for r in ROWS),
}


@pytest.mark.parametrize("data", CONTAINERS.values(), ids=CONTAINERS)
def test_the_same_requests_from_every_container(tmp_path, data):
    path = tmp_path / "log"
    path.write_bytes(data)
    reader = LogReader([path], max_broken_share=0.5)
    found = [(r.id, r.arrived_s, r.prompt) for r in reader]
    assert found == [("a", 1.5, 'two\nlines, "quoted"'), ("b", 2.0, "übung")]
    assert reader.bytes_read == reader.size_bytes


def test_an_object_alone_is_one_record(tmp_path):
    path = tmp_path / "log.json"
    path.write_text(json.dumps(ROWS[0], indent=2))
    assert [request.id for request in LogReader([path])] == ["a"]


REFUSED = [
    (json.dumps(ROWS, indent=2)[:-20], "not JSON: .* it may be cut off"),
    ('{\n "id": "a",\n "arrived_s" 1\n}', "not JSON: Expecting ':' delimiter at line 3, column 14"),
    ("[" * 100_000, "nested too deeply"),
    ("Dear all\nplease find attached\n", "neither JSON nor CSV"),
    ("a,b\nfoo,bar\n", "no log format.* a, b;"),
    ("Who am I?,5\nfoo,bar\n", r"no log format.* \[9 characters, #\w+\], 5;"),
    ('id,arrived_s,prompt\na,1,x\nb,2,"never closed\nand on\n', "the record on line 3 has no end"),
    ("id,arrived_s,prompt\na,1,x\nb", "the record on line 3 has no end"),
]


@pytest.mark.parametrize(("text", "says"), REFUSED)
def test_what_is_refused(tmp_path, text, says):
    path = tmp_path / "log"
    path.write_text(text)
    with pytest.raises(InputError, match=says):
        list(LogReader([path]))


def test_a_document_over_the_limit_says_how_to_split_it(tmp_path):
    path = tmp_path / "log.json"
    path.write_bytes(CONTAINERS["array"])
    with pytest.raises(InputError, match=r"jq -c '\.\[\]' .*log.json > log.jsonl"):
        list(document.read(open_source(path), max_bytes=50))


def test_broken_csv_rows(tmp_path):
    path = tmp_path / "log.csv"
    rows = [b"id,arrived_s", b"a,1", b"b,1,2", b'"c"x,1', b"\xff,1", b"", b"d,"]
    path.write_bytes(b"\n".join(rows))
    records = list(delimited.read(open_source(path), ","))
    found = {n: str(r) if isinstance(r, BadRecord) else r for n, r in records}
    assert found == {
        2: {"id": "a", "arrived_s": "1"},
        3: "3 cells under 2 column names",
        4: "not CSV: ',' expected after '\"'",
        5: "not valid UTF-8",
        7: {"id": "d", "arrived_s": None},
    }


def test_two_columns_of_one_name_are_refused(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("id,prompt,,,prompt\na,one,,,two\n")
    with pytest.raises(InputError, match=r"log\.csv has more than one column named prompt; rename"):
        list(delimited.read(open_source(path), ","))


def test_a_csv_cell_may_be_long(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("arrived_s,prompt\n1," + "x" * 1_000_000 + "\n")
    (request,) = LogReader([path])
    assert len(request.prompt) == 1_000_000


def test_parquet_values_as_json_would_have_them(tmp_path):
    table = pa.table(
        {
            "token_ids": pa.array([[1, 2], None, []], pa.list_(pa.int32())),
            "messages": [
                [{"role": "user", "content": "hi", "tool_calls": None}],
                [{"role": "assistant", "content": None, "tool_calls": [{"id": "t"}]}],
                None,
            ],
            "at": pa.array([1_793_523_600_000_000_123] * 3, pa.timestamp("ns", tz="UTC")),
            "blob": pa.array([b"text", b"\xff", None], pa.binary()),
            "cost": pa.array([Decimal("1.5")] * 3),
            "headers": pa.array([[("a", "b")]] * 3, pa.map_(pa.string(), pa.string())),
        }
    )
    path = tmp_path / "log"
    path.write_bytes(as_parquet(table))
    source = open_source(path)
    rows = [row for _, row in reader_of(source, ())(source)]
    assert [None if r["token_ids"] is None else list(r["token_ids"]) for r in rows] == [
        [1, 2],
        None,
        [],
    ]
    assert rows[0]["messages"] == [{"role": "user", "content": "hi"}]
    assert rows[1]["messages"] == [{"role": "assistant", "tool_calls": [{"id": "t"}]}]
    assert rows[0]["at"] == datetime(2026, 11, 1, 9, tzinfo=UTC)
    assert rows[0]["headers"] == {"a": "b"}
    assert rows[0]["cost"] == 1.5
    assert [row["blob"] for row in rows] == ["text", b"\xff", None]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (as_parquet()[:-9], "damaged or cut off"),
        (as_parquet()[:40], "damaged or cut off"),
        (b"PAR1" + bytes(50) + b"PAR1", "damaged or cut off"),
        (gz(as_parquet()), "a Parquet file inside a compressed one"),
        (as_parquet(pa.table({"colour": ["red"], "size": [1]})), "colour, size; say where"),
    ],
)
def test_parquet_that_is_refused(tmp_path, data, says):
    path = tmp_path / "log.parquet"
    path.write_bytes(data)
    with pytest.raises(InputError, match=says):
        list(LogReader([path]))


def test_parquet_without_rows_is_an_empty_log(tmp_path):
    path = tmp_path / "log.parquet"
    path.write_bytes(as_parquet(pa.table({"prompt": pa.array([], pa.string())})))
    assert list(LogReader([path])) == []


chunked = st.lists(st.binary(max_size=12).map(lambda b: b.replace(b"\x00", b"\n")), max_size=12)


@given(chunked, st.integers(1, 30))
def test_lines_are_those_of_the_whole_text(chunks, limit):
    expected = b"".join(chunks).split(b"\n")
    if not expected[-1]:
        expected.pop()
    found = list(Lines(chunks, limit))
    assert len(found) == len(expected)
    for line, text in zip(found, expected, strict=True):
        if len(text) > limit:
            assert isinstance(line, TooLong)
            assert line.size == len(text)
        else:
            assert line == text


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes_are_read_or_refused(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("fuzz") / "log"
    for prefix in (b"", b"a,arrived_s\n", b'{"arrived_s": 1}\n', b"\xff\xfe", b"[", b"PAR1"):
        path.write_bytes(prefix + data)
        reader = LogReader([path], max_broken_share=0.5)
        try:
            requests = list(reader)
        except InputError:
            continue
        assert len(requests) + reader.broken == reader.records
