"""Files that a run writes never take the place of somebody's work."""

import pytest

from kvaudit.report.former import is_lint_result
from kvaudit.report.render import format_names

from .calls import CLOCK, FIXED, call, result


@pytest.fixture
def prompt(work):
    file = work / "a.tiny"
    file.write_text(CLOCK)
    return file


@pytest.mark.parametrize("paths", [[], ["."]])
@pytest.mark.parametrize(
    "option",
    [["--output", "json:a.tiny"], ["--output", "junit:./a.tiny"], ["--write-baseline", "a.tiny"]],
)
def test_a_file_that_is_linted_is_not_written_over(prompt, capsys, option, paths):
    code, out, err = call(capsys, *paths, *option)
    assert (code, out) == (2, "")
    assert f"{option[0]} " in err
    assert "is one of those to lint; name another" in err
    assert prompt.read_text() == CLOCK


def test_nor_by_another_name_of_it_nor_if_it_cannot_be_read(prompt, work, capsys):
    (work / "link.json").symlink_to(prompt)
    assert call(capsys, "--output", "json:link.json")[0] == 2
    prompt.write_bytes(b"\xff\xfe\x00")
    assert call(capsys, "--output", "json:a.tiny")[0] == 2
    assert prompt.read_bytes() == b"\xff\xfe\x00"


def test_an_excluded_one_and_one_of_no_kind_may_be(prompt, work, capsys):
    assert call(capsys, "--exclude", "a.tiny", "--allow-empty", "--output", "json:a.tiny")[0] == 0
    (work / "notes.txt").write_text("milk")
    (work / "b.tiny").write_text(FIXED)
    assert call(capsys, "--output", "json:notes.txt")[0] == 0
    assert is_lint_result((work / "notes.txt").read_text())


@pytest.mark.parametrize("text", [CLOCK, FIXED])
@pytest.mark.parametrize("kind", [*format_names("lint"), "baseline"])
def test_a_result_of_a_former_run_is_and_is_not_linted(prompt, work, capsys, kind, text):
    prompt.write_text(text * 3)
    option = ["--write-baseline"] if kind == "baseline" else ["--output"]
    option.append("r.tiny" if kind == "baseline" else f"{kind}:r.tiny")
    first = result(capsys, *option)
    written = (work / "r.tiny").read_bytes()
    assert is_lint_result(written.decode())
    assert result(capsys, *option) == first
    assert first[1]["checked"] == 1
    assert (work / "r.tiny").read_bytes() == written


@pytest.mark.parametrize(
    "text", ["", "{}", '{"schema": 1}', "It is 3 files checked", '[{"role": "user"}]']
)
def test_what_is_no_such_result(text):
    assert not is_lint_result(text)


def test_the_baseline_that_is_read_is_not_written_over(prompt, work, capsys):
    call(capsys, "--write-baseline", "known.json")
    before = (work / "known.json").read_text()
    code, _, err = call(capsys, "--baseline", "known.json", "--output", "json:known.json")
    assert (code, "is one of the files to read" in err) == (2, True)
    assert (work / "known.json").read_text() == before
