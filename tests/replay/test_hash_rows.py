"""Traces of block hashes read in columns, against the reader of single objects."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvaudit.core.errors import InputError
from kvaudit.core.hash_rows import HashRows
from kvaudit.core.requests import Request
from kvaudit.logs import source
from kvaudit.logs.containers import hash_lines
from kvaudit.logs.read import LogReader
from kvaudit.replay.batches import concatenate
from kvaudit.replay.block_units import BlockUnits
from kvaudit.replay.kernels.hash_rows import scan
from kvaudit.replay.prompts import Prompts

PLAIN = '{"timestamp": 7, "input_length": 9, "output_length": 2, "hash_ids": [1, 2]}'


@pytest.fixture(autouse=True, scope="module")
def any_size():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hash_lines, "_SMALL_BYTES", 0)
        patch.setattr(hash_lines, "_PIECE_BYTES", 300)
        patch.setattr(source, "CHUNK_BYTES", 50)
        patch.setattr(hash_lines, "_LINES", 2)
        yield


def row(time="0", prompt="512", output="1", ids="[0]"):
    return (
        f'{{"timestamp": {time}, "input_length": {prompt}, "output_length": {output}, '
        f'"hash_ids": {ids}}}'
    )


# What a scan reads, and what it must leave to the other reader, sound or not.
SCANNED = [
    PLAIN,
    row(ids="[]"),
    row(time="12.625"),
    row(time="1793523600000.5"),
    row(time="123456789012345"),
    row(prompt="100000000"),
    row(ids="[18446744073709551615, 9223372036854775808, 1]"),
    row(ids="[9999999999999999999]"),
    '{"hash_ids":[3,4],"output_length":0,"timestamp":5,"input_length":600}',
    ' { "timestamp" : 1 , "input_length":\t2, "output_length": 3, "hash_ids": [ 1 ,2 ] } \r',
]
LEFT = [
    row(ids="[18446744073709551616]"),
    row(ids="[28446744073709551615]"),
    row(ids="[-5]"),
    row(ids="[007]"),
    row(ids="[1,]"),
    row(ids="[1 2]"),
    row(ids="[1.0]"),
    row(ids="null"),
    row(time="01"),
    row(time="1e3"),
    row(time="-1"),
    row(time="null"),
    row(time="1."),
    row(time="1.2.3"),
    row(time="0.1234567890123456789"),
    row(prompt="100000001"),
    row(prompt="512.0"),
    row(prompt="512.5"),
    row(prompt='"512"'),
    row()[:-1] + ', "session_id": "a"}',
    row()[:-1] + ', "timestamp": 9}',
    row()[:-1] + ",}",
    row()[:30],
    row() + " x",
    '{"timestamp": 1, "input_length": 2, "hash_ids": [1]}',
    '{"timestamp"; 1, "input_length": 2, "output_length": 1, "hash_ids": [1]}',
    "",
    "[]",
    "{}",
    row().replace("timestamp", "timestamps"),
    row().replace("timestamp", "times\\u0074amp"),
]


def flat(items):
    """Requests in columns one by one."""
    for item in items:
        if not isinstance(item, HashRows):
            yield item
            continue
        for i in range(item.requests):
            yield Request(
                id=str(item.first + i),
                arrived_s=float(item.arrived_s[i]),
                block_ids=item.block_ids[item.offsets[i] : item.offsets[i + 1]].tolist(),
                block_tokens=item.block_tokens,
                prompt_tokens=int(item.prompt_tokens[i]),
                output_tokens=int(item.output_tokens[i]),
            )


def account(reader, requests):
    """All that a reader says; block ids as lists."""
    try:
        found = [(r, list(r.block_ids)) for r in requests]
    except InputError as error:
        return str(error)
    fields = [
        (r.id, r.arrived_s, r.block_tokens, r.prompt_tokens, r.output_tokens, r.session, ids)
        for r, ids in found
    ]
    said = (reader.records, reader.broken, reader.broken_examples, reader.skipped, reader.notes)
    return fields, said, reader.format_name


def reader(path):
    return LogReader([path], max_broken_share=1.0, now_s=1e9)


@settings(max_examples=300)
@given(
    lines=st.lists(st.sampled_from(SCANNED) | st.sampled_from(LEFT), max_size=12),
    ends=st.booleans(),
)
def test_requests_in_columns_are_those_of_single_objects(lines, ends, tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    path.write_text("\n".join([PLAIN, PLAIN, *lines]) + "\n" * ends, newline="")
    one_by_one, columns = reader(path), reader(path)
    expected = account(one_by_one, one_by_one)
    assert account(columns, flat(columns.with_columns(scan))) == expected


@pytest.mark.parametrize("line", SCANNED)
def test_a_plain_line_is_scanned(line):
    text = f"{line}\n".encode()
    rows, end = scan(text, 0, len(text))
    assert (rows.requests, end) == (1, len(line) + 1)


@pytest.mark.parametrize("line", LEFT)
def test_another_line_is_left(line):
    text = f"{PLAIN}\n{line}\n".encode()
    rows, end = scan(text, 0, len(text))
    assert (rows.requests, end) == (1, len(PLAIN) + 1)


def test_a_small_log_and_one_in_a_single_object_are_not_scanned(tmp_path, monkeypatch):
    path = tmp_path / "log.jsonl"
    path.write_text(f'{{"rows": [{PLAIN}, {PLAIN}]}}\n')
    assert [type(item) for item in reader(path).with_columns(scan)] == [Request, Request]
    monkeypatch.setattr(hash_lines, "_SMALL_BYTES", 1000)
    path.write_text(f"{PLAIN}\n{PLAIN}\n")
    assert [type(item) for item in reader(path).with_columns(scan)] == [Request, Request]


def test_batches_of_columns_are_those_of_requests(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join([*SCANNED, LEFT[2], row(prompt="0"), row(ids="[5, 9]"), PLAIN, ""]))
    log = reader(path)
    expected, found = Prompts(log, encoder=None), Prompts(log.with_columns(scan), encoder=None)
    one, other = concatenate(list(expected)), concatenate(list(found))
    assert list(other.requests) == list(one.requests)
    assert other.namespace_names == one.namespace_names
    for name in ("offsets", "prompt_units", "unit_tokens", "prompt_tokens", "output_tokens"):
        assert getattr(other, name).tolist() == getattr(one, name).tolist(), name
    assert other.units.tolist() == one.units.tolist()
    assert found.skipped == expected.skipped == {"empty prompt": 1}
    assert found.block_tokens == expected.block_tokens


def test_rows_of_hashes_do_not_mix_with_tokens(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(f"{PLAIN}\n{PLAIN}\n")
    items = [Request(id="a", token_ids=[1, 2]), *reader(path).with_columns(scan)]
    prompts = Prompts(items, encoder=None)
    assert [len(batch.requests) for batch in prompts] == [1]
    assert list(prompts.skipped.values()) == [2]


def test_units_are_ids_that_fit_and_numbers_of_those_that_do_not():
    units = BlockUnits()
    first = units.of(np.array([7, 2**31, -1, 2**31 - 1, 2**31], np.int64))
    assert first.tolist() == [7, -1, -2, 2**31 - 1, -1]
    assert units.of(np.array([-1, 2**62], np.int64)).tolist() == [-2, -3]
