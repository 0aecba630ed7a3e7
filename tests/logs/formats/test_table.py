"""Tables whose columns the user names."""

import json

import pytest

from kvaudit.core.errors import InputError, UsageError
from kvaudit.logs.read import LogReader


def read(tmp_path, rows, mapping, **options):
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    pairs = (pair.split("=") for pair in mapping.split(","))
    reader = LogReader([path], mapping=dict(pairs), **options)
    return reader, list(reader)


def test_paths_go_through_objects_lists_and_json_in_texts(tmp_path):
    row = {
        "body": json.dumps({"turns": [{"text": "hello"}]}),
        "meta": {"sid": 7},
        "gen_ai.request.model": "m",
        "when": 1793523600123,
    }
    mapping = "prompt=body.turns.0.text,session=meta.sid,model=gen_ai.request.model,arrived_s=when"
    reader, (request,) = read(tmp_path, [row], mapping)
    assert (request.prompt, request.session, request.model) == ("hello", "7", "m")
    assert request.arrived_s == 1793523600.123
    assert reader.format_name == "table"
    assert "when is read as epoch milliseconds" in reader.notes[0].text


def test_a_path_that_no_record_has_is_noted(tmp_path):
    reader, (request,) = read(tmp_path, [{"q": "hello"}], "prompt=q,session=meta.sid")
    assert request.session is None
    assert "no record has meta.sid, which --map names for session" in reader.notes[0].text


def test_a_record_with_none_of_the_paths_is_broken(tmp_path):
    reader, requests = read(
        tmp_path, [{"q": "a"}, {"x": 1}, {"q": 3.5}, {"q": []}], "prompt=q", max_broken_share=1
    )
    assert [request.prompt for request in requests] == ["a", "3.5"]
    assert [example.split(": ", 1)[1] for example in reader.broken_examples] == [
        "it has none of q",
        "prompt is not a text",
    ]


def test_rows_inside_one_object_are_found(tmp_path):
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"rows": [{"q": "a"}, {"q": "b"}]}))
    reader = LogReader([path], mapping={"prompt": "q"})
    assert [request.prompt for request in reader] == ["a", "b"]


def test_an_unknown_field_names_the_nearest():
    with pytest.raises(UsageError, match="a record has no field sesion; did you mean session"):
        LogReader([], mapping={"sesion": "a"})


def test_a_mapping_is_for_tables_and_tables_need_one(tmp_path):
    with pytest.raises(UsageError, match="leave one out"):
        LogReader([], input_format="record", mapping={"prompt": "q"})
    path = tmp_path / "log.jsonl"
    path.write_text('{"q": "a"}\n')
    with pytest.raises(UsageError, match="needs --map"):
        list(LogReader([path], input_format="table"))
    with pytest.raises(InputError, match="--map prompt=FIELD"):
        list(LogReader([path]))
