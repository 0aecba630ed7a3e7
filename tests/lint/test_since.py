"""Only what new lines brought, as git tells it."""

import subprocess

import pytest

from .calls import CLOCK, FIXED, call, result

BEHIND = FIXED * 3


def git(*args):
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *args], check=True, capture_output=True
    )


@pytest.fixture
def repository(work):
    git("init", "-q", "-b", "main")
    (work / "old.tiny").write_text(CLOCK + BEHIND)
    (work / "sub").mkdir()
    (work / "sub" / 'ö "x".tiny').write_text(BEHIND)
    git("add", ".")
    git("commit", "-q", "-m", "one")
    return work


def lines(capsys, *args):
    code, document = result(capsys, "--since", *args)
    return code, [(f["path"], f["line"]) for f in document["findings"]], document["not_new"]


def test_nothing_new_is_nothing_to_report(repository, capsys):
    assert lines(capsys, "HEAD") == (0, [], 1)


def test_changed_and_added_and_untracked_lines_are_new(repository, capsys):
    (repository / "old.tiny").write_text(CLOCK + "{user} is here\n" + BEHIND)
    (repository / "sub" / 'ö "x".tiny').write_text("+++ {clock}\n" + BEHIND)
    git("add", "sub")
    (repository / "new.tiny").write_text(CLOCK)
    found = [("new.tiny", 1), ("old.tiny", 3), ('sub/ö "x".tiny', 1)]
    assert lines(capsys, "HEAD") == (1, found, 1)


def test_fixed_text_behind_a_known_fault_does_not_make_it_new(repository, capsys):
    (repository / "old.tiny").write_text(CLOCK + BEHIND + "A new rule that is much longer.\n" * 4)
    assert lines(capsys, "HEAD")[1] == []


def test_what_the_other_branch_did_since_is_not_ours(repository, capsys):
    git("checkout", "-q", "-b", "mine")
    (repository / "mine.tiny").write_text(CLOCK)
    git("add", ".")
    git("commit", "-q", "-m", "mine")
    git("checkout", "-q", "main")
    (repository / "old.tiny").write_text(BEHIND)
    git("commit", "-q", "-a", "-m", "theirs")
    git("checkout", "-q", "mine")
    assert lines(capsys, "main")[1] == [("mine.tiny", 1)]


def test_it_holds_from_a_folder_below(repository, capsys, monkeypatch):
    (repository / "old.tiny").write_text("{user}\n" + CLOCK)
    monkeypatch.chdir(repository / "sub")
    assert lines(capsys, "HEAD", "..")[1] == [("../old.tiny", 1)]


@pytest.mark.parametrize("ref", ["nowhere", "--output=x", ""])
def test_a_commit_that_git_does_not_know(repository, capsys, ref):
    code, out, err = call(capsys, f"--since={ref}")
    assert (code, out) == (2, "")
    assert "git knows no such commit here" in err
    assert not (repository / "x").exists()


def test_outside_a_repository(work, capsys):
    (work / "a.tiny").write_text(CLOCK)
    code, _, err = call(capsys, "--since", "HEAD")
    assert code == 2
    assert "is in no git repository" in err


def test_without_git(work, capsys, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert "needs git" in call(capsys, "--since", "HEAD")[2]


def test_a_repository_cannot_run_programs_by_its_settings(repository, capsys):
    mark = repository / "ran"
    script = repository / "run.sh"
    script.write_text(f"#!/bin/sh\ntouch {mark}\n")
    script.chmod(0o755)
    for key in ("core.fsmonitor", "diff.external", "diff.x.textconv", "diff.x.command"):
        git("config", key, str(script))
    (repository / ".gitattributes").write_text("*.tiny diff=x\n")
    (repository / "old.tiny").write_text("{user}\n" + CLOCK)
    assert lines(capsys, "HEAD")[1] == [("old.tiny", 1)]
    assert not mark.exists()
