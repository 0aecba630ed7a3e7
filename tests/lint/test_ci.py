"""What CI runs: the action, the hooks and the examples of the guide, by their own commands."""

import json
import os
import re
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from .calls import CLOCK

ROOT = Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
GUIDE = (ROOT / "docs" / "lint.md").read_text()
EXAMPLES = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)]
TEMPLATE = CLOCK.replace("{clock}", "{{ now() }}")


@pytest.fixture
def repository(tmp_path, work):
    """A repository with a prompt in it and one commit, and `kvaudit` on the path."""
    (work / "prompts").mkdir()
    (work / "prompts" / "support.j2").write_text(TEMPLATE)
    (work / "notes.txt").write_text("Buy milk.\n")
    for args in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "one"]):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *args]
        subprocess.run(command, check=True, capture_output=True)
    script = tmp_path / "kvaudit" / "bin" / "kvaudit"
    script.parent.mkdir(parents=True)
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kvaudit "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return work


def bash(script, tmp_path, **more):
    environment = os.environ | {
        "PATH": f"{tmp_path / 'kvaudit' / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        **more,
    }
    return subprocess.run(
        # As GitHub runs a step whose shell is bash.
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def step(name):
    return next(step for step in ACTION["runs"]["steps"] if step["name"] == name)


def test_the_action_lints_annotates_and_leaves_sarif_also_with_findings(repository, tmp_path):
    done = bash(
        step("Lint")["run"], tmp_path, PATHS="prompts notes.txt", ARGS="--fail-on warning",
        GITHUB_ACTIONS="true",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("::error file=prompts/support.j2,line=1,endLine=1,col=7,")
    assert (tmp_path / "output").read_text() == f"sarif={tmp_path}/kvaudit.sarif\n"
    (run,) = json.loads((tmp_path / "kvaudit.sarif").read_text())["runs"]
    assert run["results"][0]["ruleId"] == "sub-day-clock"


def test_nothing_in_the_actions_inputs_is_run(repository, tmp_path):
    done = bash(step("Lint")["run"], tmp_path, PATHS="$(touch ran) ;touch ran", ARGS="`touch ran`")
    assert done.returncode == 2
    assert not (repository / "ran").exists()
    for one in ACTION["runs"]["steps"]:
        assert "${{" not in one.get("run", "")


def test_the_action_uses_others_by_hash_and_names_only_its_own_inputs():
    uses = [step["uses"] for step in ACTION["runs"]["steps"] if "uses" in step]
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", name) for name in uses)
    text = (ROOT / "action.yml").read_text()
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(ACTION["inputs"])


def test_the_action_uploads_also_when_the_lint_has_failed():
    assert step("Upload to code scanning")["if"].startswith("${{ !cancelled() &&")


def commands():
    """Return every command of the guide's CI examples that calls kvaudit."""
    github, gitlab, _, local = EXAMPLES
    run = next(s["run"] for s in github["jobs"]["kvaudit"]["steps"] if "run" in s)
    return [
        (run.replace("pipx run --spec 'kvaudit[source]' ", "").replace("origin/main", "HEAD"), []),
        (gitlab["kvaudit"]["script"][-1], []),
        (local["repos"][0]["hooks"][0]["entry"], ["prompts/support.j2", "notes.txt"]),
        (local["repos"][0]["hooks"][0]["entry"], ["notes.txt"]),
    ]


@pytest.mark.parametrize(("number", "code"), list(enumerate([0, 1, 1, 0])))
def test_the_commands_of_the_guide_run(repository, tmp_path, number, code):
    command, files = commands()[number]
    assert command.startswith("kvaudit lint")
    done = bash(f"{command} {shlex.join(files)}", tmp_path)
    assert done.returncode == code, done.stderr
    for _, path in re.findall(r"--output (\w+):(\S+)", command):
        assert (repository / path).stat().st_size


def test_gitlab_is_told_of_the_files_that_are_written():
    job = EXAMPLES[1]["kvaudit"]
    reports = job["artifacts"]["reports"]
    assert f"gitlab:{reports['codequality']}" in job["script"][-1]
    assert f"junit:{reports['junit']}" in job["script"][-1]


@pytest.mark.parametrize(
    ("files", "code"), [(["notes.txt"], 0), (["notes.txt", "prompts/support.j2"], 1)]
)
def test_the_hook_of_this_repository(repository, tmp_path, files, code):
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    (used,) = EXAMPLES[2]["repos"][0]["hooks"]
    assert used["id"] == hook["id"]
    done = bash(f"{hook['entry']} {shlex.join([*used['args'], *files])}", tmp_path)
    assert done.returncode == code, done.stderr
