"""Every format recognises its own rows, and none is unsure whose a row is.

``rows/NAME.jsonl`` holds records of the format NAME, one of each kind a file of it may hold.
"""

import json
from pathlib import Path

import pytest

from kvaudit.logs.registry import all_formats

ROWS = [
    pytest.param(path.stem, json.loads(line), id=f"{path.stem}:{number}")
    for path in sorted(Path(__file__).with_name("rows").glob("*.jsonl"))
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
]


@pytest.mark.parametrize(("name", "row"), ROWS)
def test_one_format_is_surest(name, row):
    sureness = {log_format.name: log_format.recognise(row) for log_format in all_formats()}
    assert [found for found, sure in sureness.items() if sure == max(sureness.values())] == [name]


@pytest.mark.parametrize("log_format", all_formats(), ids=lambda log_format: log_format.name)
def test_what_is_no_record_of_any_format_is_not_recognised(log_format):
    assert not log_format.recognise({})
    assert not log_format.recognise({"id": 1, "value": "text"})


@pytest.mark.parametrize(("name", "row"), ROWS)
def test_a_format_reads_what_it_recognises(name, row):
    (log_format,) = (each for each in all_formats() if each.name == name)
    parser = log_format.parser()
    list(parser.parse(row))  # raises BadRecord where it cannot
    list(parser.finish())


def test_every_format_has_rows():
    """All but ``table``, which takes any record once ``--map`` says how."""
    named = {path.stem for path in Path(__file__).with_name("rows").glob("*.jsonl")}
    assert named == {log_format.name for log_format in all_formats()} - {"table"}
