"""The schemas that `kvaudit schema` prints."""

import json
import tomllib

import jsonschema
import pytest

from kvaudit.cli import run
from kvaudit.commands.schema import Document, json_schema


@pytest.mark.parametrize("document", list(Document))
def test_each_is_a_valid_schema(document, capsys):
    assert run(["schema", document]) == 0
    printed = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(printed)
    assert printed == json_schema(document)


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("tokenizer = 'bytes'\n[engine]\nblock-size = 16\n[replay]\nwarmup = 0.5", True),
        ("namespace = ['tenant', 'salt']", True),
        ("tokeniser = 'bytes'", False),
        ("[engine]\nblock_size = 16", False),
        ("[engine]\nblock-size = 0", False),
        ("max-broken-share = 2", False),
    ],
)
def test_an_editor_sees_what_kvaudit_sees(text, valid):
    errors = list(
        jsonschema.Draft202012Validator(json_schema(Document.CONFIG)).iter_errors(
            tomllib.loads(text)
        )
    )
    assert (not errors) is valid
