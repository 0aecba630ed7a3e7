"""LogReader on the files people have: good ones, bad ones, and ones that are no logs at all."""

import gzip
import json
import os
import re
import threading

import pytest
import zstandard

from kvaudit.core.errors import InputError, UsageError
from kvaudit.logs.containers.lines import MAX_LINE_BYTES
from kvaudit.logs.read import LogReader

ROWS = [{"id": f"r{i}", "arrived_s": float(i), "prompt": "a" * i} for i in range(300)]
JSONL = b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)


def write(tmp_path, data, name="log.jsonl"):
    path = tmp_path / name
    path.write_bytes(data)
    return path


def ids(path, **options):
    return [request.id for request in LogReader([path], **options)]


EXPECTED = [row["id"] for row in ROWS]


def gz(data):
    return gzip.compress(data, mtime=0)  # no clock in the name of a test


def zst(data, frames=1):
    size = -(-len(data) // frames)
    parts = [data[i : i + size] for i in range(0, len(data), size)]
    return b"".join(zstandard.compress(part) for part in parts)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(JSONL, id="plain"),
        pytest.param(JSONL.rstrip(b"\n"), id="no-final-newline"),
        pytest.param(JSONL.replace(b"\n", b"\r\n"), id="crlf"),
        pytest.param(JSONL.replace(b"\n", b"\n\n \n"), id="empty-lines"),
        pytest.param(b"\xef\xbb\xbf" + JSONL, id="bom"),
        pytest.param(JSONL.decode().encode("utf-16"), id="utf-16"),
        pytest.param(b"\xfe\xff" + JSONL.decode().encode("utf-16-be"), id="utf-16-be"),
        pytest.param(gz(JSONL), id="gzip"),
        pytest.param(gz(JSONL[:500]) + gz(JSONL[500:]), id="gzip-members"),
        pytest.param(gz(JSONL) + bytes(512), id="gzip-padded"),
        pytest.param(zst(JSONL), id="zstd"),
        pytest.param(zst(JSONL, frames=7), id="zstd-frames"),
    ],
)
def test_the_same_log_however_it_is_packed(tmp_path, data):
    # The name tells nothing: compression and encoding are seen in the bytes.
    assert ids(write(tmp_path, data, "log.txt")) == EXPECTED


def test_reading_again_gives_the_same(tmp_path):
    reader = LogReader([write(tmp_path, JSONL)])
    first, second = list(reader), list(reader)
    assert first == second
    assert reader.records == 300
    assert reader.bytes_read == reader.size_bytes == len(JSONL)


def test_files_are_read_one_after_the_other(tmp_path):
    paths = [
        write(tmp_path, JSONL, "a.jsonl"),
        write(tmp_path, b'{"token_ids": [1, 2]}\n', "b.jsonl"),
    ]
    reader = LogReader(paths)
    assert [request.id for request in reader] == [*EXPECTED, "301"]
    assert reader.format_name == "record, token-ids"


def test_a_pipe_is_read_twice(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(JSONL,))
    writer.start()
    reader = LogReader([path])
    writer.join()
    assert [len(list(reader)), len(list(reader))] == [300, 300]


def test_limit_stops_early(tmp_path):
    reader = LogReader([write(tmp_path, JSONL)], limit=3)
    assert [request.id for request in reader] == ["r0", "r1", "r2"]


@pytest.mark.parametrize("data", [b"", b"\n \n\r\n", gz(b""), b"\xef\xbb\xbf"])
def test_an_empty_log_yields_nothing_and_says_so(tmp_path, data):
    reader = LogReader([write(tmp_path, data)])
    assert list(reader) == []
    assert [note.topic for note in reader.notes] == ["empty"]


BROKEN = [
    (b'{"arrived_s": 1, "prompt": "x', "not JSON"),
    (b"[1, 2]", "a JSON list, not an object"),
    (b"17", "a JSON number, not an object"),
    (b'{"arrived_s": 1, "prompt": "\xff"}', "not valid UTF-8 at byte 29"),
    (bytes(40), "NUL bytes"),
    (b'{"arrived_s": "yesterday"}', "arrived_s is not a point in time"),
    (b'{"arrived_s": 1, "prompt": NaN, "model": "\\ud800"}', "half a surrogate pair"),
    (b'{"arrived_s": 1, "messages": [1]}', "messages holds something that is not an object"),
    (b"[" * 5000, "not JSON"),
]


@pytest.mark.parametrize(("line", "reason"), BROKEN)
def test_a_broken_record_is_named_counted_and_skipped(tmp_path, line, reason):
    path = write(tmp_path, JSONL[: len(JSONL) // 2] + b"\n" + line + b"\n" + JSONL)
    cut = JSONL[: len(JSONL) // 2].count(b"\n") + 1
    reader = LogReader([path], max_broken_share=0.1)
    list(reader)
    assert reader.broken == 2  # the line that was cut in half, and this one
    assert reader.broken_examples[1].startswith(f"{path}:{cut + 1}: {reason}")


def test_a_reason_quotes_the_log_only_when_asked_and_never_a_secret(tmp_path):
    line = b'{"arrived_s": "sk-abcdefghijklmnopqrst\\u001b[2J, said Ada to nobody in particular"}\n'
    path = write(tmp_path, JSONL + line)
    shy, open_ = LogReader([path]), LogReader([path], show_text=True)
    list(shy)
    list(open_)
    assert re.search(r"point in time: \[61 characters, #[0-9a-f]{6}\]$", shy.broken_examples[0])
    shown = open_.broken_examples[0].partition("point in time: ")[2]
    assert shown == "[key]\\x1b[2J, said Ada to nobody in part"


def test_nan_is_a_missing_value(tmp_path):
    (request,) = LogReader([write(tmp_path, b'{"arrived_s": NaN, "model": "m"}\n')])
    assert request.arrived_s is None


def test_more_than_one_percent_broken_is_an_error_at_the_end(tmp_path):
    path = write(tmp_path, JSONL + b"{]\n" * 4)
    reader = LogReader([path])
    with pytest.raises(InputError, match=r"4 of 304 records are broken.*log.jsonl:301: not JSON"):
        list(reader)
    assert len(list(LogReader([path], max_broken_share=0.02))) == 300


def test_a_hopeless_log_is_given_up_early(tmp_path):
    path = write(tmp_path, JSONL[:200] + b"\n" + b"{]\n" * 100_000)
    with pytest.raises(InputError, match=r"1,000 of 1,00\d records"):
        list(LogReader([path]))


def test_an_overlong_line_is_broken_and_not_held_in_memory(tmp_path):
    path = tmp_path / "log.jsonl"
    with path.open("wb") as file:
        file.write(JSONL + b'{"arrived_s": 1, "prompt": "')
        for _ in range(200):
            file.write(b"x" * 1_000_000)
        file.write(b'"}\n' + JSONL)
    reader = LogReader([path])
    assert sum(1 for _ in reader) == 600
    (example,) = reader.broken_examples
    assert example.startswith(f"{path}:301: a line of 200.0 MB, over the limit of")
    assert MAX_LINE_BYTES < 200_000_000


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (JSONL + b'{"id": "cut', "cut off: it ends in the middle of line 301"),
        (gz(JSONL)[:-10], "cut off: its gzip data ends"),
        (zst(JSONL)[:-4], "cut off: its zstd data ends"),
        (gz(JSONL)[:200] + b"garbage" + gz(JSONL)[207:], "damaged"),
        (zst(JSONL) + b"trailing garbage", "damaged"),
        (b"\x80\x04\x95\x10" + JSONL, "a Python pickle"),
        (b"\x7fELF\x02\x01\x01" + bytes(100), "a program"),
        (b"\x89PNG\r\n\x1a\n", "an image"),
        (b"PK\x03\x04" + JSONL, "a zip archive"),
        (b"SQLite format 3\x00" + bytes(100), "a SQLite database"),
        (gz(gz(JSONL)), "compressed twice"),
        (b"<!DOCTYPE html><p>Not found, sorry", "a web page"),
        (gz(b"log.jsonl".ljust(257, b"\0") + b"ustar\x0000"), "a tar archive"),
        (bytes(1000), "binary"),
        (JSONL.decode().encode("utf-16-le"), "UTF-16 without a byte order mark"),
        (b"{]\n" * 5, "cannot be read as a log; line 1 is not JSON"),
        (b'{"color": "red", "size": 1}\n', "no log format that kvaudit knows.*color, size.*--map"),
    ],
)
def test_what_is_no_log_is_refused_in_a_sentence(tmp_path, data, says):
    path = write(tmp_path, data)
    with pytest.raises(InputError, match=says) as error:
        list(LogReader([path]))
    assert str(path) in str(error.value)


def test_folders_and_missing_files(tmp_path):
    with pytest.raises(InputError, match="is a folder; name the log files in it"):
        LogReader([tmp_path])
    with pytest.raises(InputError, match="does not exist"):
        LogReader([tmp_path / "none.jsonl"])


def test_a_file_without_permission(tmp_path, monkeypatch):
    path = write(tmp_path, JSONL)

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    with pytest.raises(InputError, match="may not be read by this user"):
        LogReader([path])


def test_an_unknown_format_names_the_nearest(tmp_path):
    with pytest.raises(UsageError, match="did you mean token-ids"):
        LogReader([write(tmp_path, JSONL)], input_format="tokenids")


def test_a_forced_format_tries_what_it_does_not_recognise(tmp_path):
    path = write(tmp_path, b'{"model": "m", "prompt": "hello"}\n')
    (request,) = LogReader([path], input_format="record")
    assert (request.id, request.prompt) == ("1", "hello")
