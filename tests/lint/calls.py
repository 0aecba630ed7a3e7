"""Calls of `kvaudit lint`, and prompts in the tiny language of the tests."""

import json

import jsonschema

from kvaudit.cli import run
from kvaudit.commands.schema import Document, json_schema

CLOCK = "It is {clock}.\nYou answer questions about invoices and quote the number every time.\n"
FIXED = "You answer questions about invoices.\n"


def call(capsys, *args):
    """Return the exit code, standard output and standard error."""
    code = run(["lint", *map(str, args)])
    out, err = capsys.readouterr()
    return code, out, err


def result(capsys, *args):
    """Return the exit code and the JSON, which fits its schema."""
    code, out, err = call(capsys, *args, "--format", "json")
    document = json.loads(out)
    jsonschema.Draft202012Validator(json_schema(Document.LINT)).validate(document)
    assert err == ""
    return code, document


def rules(capsys, *args):
    """Return the rules that are reported, in order."""
    return [finding["rule"] for finding in result(capsys, *args)[1]["findings"]]
