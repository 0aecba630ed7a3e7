"""A command pays only for what it uses: checked in fresh interpreters."""

import json
import subprocess
import sys

import pytest

from kvaudit.cli import COMMANDS

HEAVY = (
    "numpy", "pyarrow", "numba", "orjson", "zstandard", "torch", "transformers", "tokenizers",
    "sklearn", "tiktoken", "splintr", "daft", "altair",
)  # fmt: skip

PROGRAM = """
import json, sys
from kvaudit.cli import run
code = run(json.loads(sys.argv[1]))
print()
print(json.dumps([code, sorted(set(sys.modules) & set(json.loads(sys.argv[2])))]))
"""


def modules_after(args, looked_for):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM, json.dumps(args), json.dumps(looked_for)],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    "args",
    [
        ["--help"],
        ["--version"],
        ["doctor", "--settings"],
        *([command, "--help"] for command in COMMANDS),
    ],
    ids=" ".join,
)
def test_light_commands_import_nothing_heavy(args):
    assert modules_after(args, HEAVY) == [0, []]


def test_help_needs_no_model_library():
    """Pydantic costs as long as the rest of the start; only settings and schemas need it."""
    assert modules_after(["--version"], ["pydantic", "rich"]) == [0, []]


@pytest.mark.parametrize("form", ["full", "concise", "github", "json", "sarif"])
def test_lint_waits_for_no_other_command(form, tmp_path):
    """In a hook of an editor or of git the start is all that a person feels."""
    template = tmp_path / "prompt.j2"
    template.write_text("You are a clerk.\n")
    others = ["kvaudit.commands.replay", "kvaudit.core.results", "kvaudit.core.why"]
    args = ["lint", "--isolated", "--format", form, str(template)]
    assert modules_after(args, others) == [0, []]


def test_lint_imports_no_library_of_numbers_or_models(tmp_path):
    """A step of CI installs the core alone, and must start at once."""
    template = tmp_path / "prompt.j2"
    template.write_text("You are a clerk. It is {{ now() }}.\nAnswer in one sentence.\n")
    body = tmp_path / "body.json"
    body.write_text(
        '{"model": "m", "messages": [{"role": "system", "content": "You are a clerk."}]}'
    )
    module = tmp_path / "agent.py"
    module.write_text('SYSTEM_PROMPT = "You are a clerk."\n')
    args = ["lint", "--isolated", "--format", "json", str(template), str(body), str(module)]
    assert modules_after(args, HEAVY) == [1, []]
