"""Which files are linted, and how they are read."""

import codecs
import os
import subprocess

import pytest

from kvaudit.analyzers.collect import find_files
from kvaudit.analyzers.decode import MAX_BYTES, Undecodable, read_bytes
from kvaudit.commands import linting

from .calls import CLOCK, FIXED, call, result


def make(work, *names, text=CLOCK):
    for name in names:
        path = work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def paths(capsys, *args):
    return [f["path"] for f in result(capsys, *args)[1]["findings"]]


def test_what_git_ignores_is_left_out_also_by_nested_and_negated_patterns(work, capsys):
    (work / ".git").mkdir()
    make(work, "a.tiny", "out/b.tiny", "deep/c.tiny", "deep/keep.tiny", "deep/er/c.tiny", "x.tiny")
    (work / ".gitignore").write_text("out/\nx.tiny\n")
    (work / "deep" / ".gitignore").write_text("*.tiny\n!keep.tiny\n!er/\n")
    (work / "deep" / "er" / ".gitignore").write_text("!c.tiny\n")
    assert paths(capsys) == ["a.tiny", "deep/er/c.tiny", "deep/keep.tiny"]
    assert paths(capsys, "deep") == ["deep/er/c.tiny", "deep/keep.tiny"]


def test_git_agrees_on_what_is_ignored(work, capsys):
    make(work, "a.tiny", "b/a.tiny", "b/c/a.tiny", "doc/x.tiny", "doc/y/x.tiny", "z/doc/x.tiny")
    (work / ".gitignore").write_text("/doc/*\n!/doc/y\nb/**/a.tiny\n\\#x\n*.tmp\nz/*/x.tin[xy]\n")
    subprocess.run(["git", "init", "-q"], check=True)
    (work / ".git" / "info" / "exclude").write_text("a.tiny\n!/a.tiny\n")
    listed = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard", "*.tiny"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    assert paths(capsys) == sorted(listed) == ["a.tiny", "doc/y/x.tiny"]


def test_a_named_file_is_always_checked_and_a_named_folder_is_walked(work, capsys):
    (work / ".git").mkdir()
    make(work, "out/b.tiny", "node_modules/c.tiny")
    (work / ".gitignore").write_text("out/\n")
    assert paths(capsys) == []
    assert paths(capsys, "out/b.tiny") == ["out/b.tiny"]
    assert paths(capsys, "out") == ["out/b.tiny"]
    assert paths(capsys, "node_modules/c.tiny") == ["node_modules/c.tiny"]


def test_dependencies_and_generated_folders_are_left_out(work, capsys):
    make(work, "node_modules/a.tiny", "vendor/a.tiny", ".venv/a.tiny", "sub/dist/a.tiny")
    make(work, ".github/prompts/a.tiny")
    assert paths(capsys) == [".github/prompts/a.tiny"]


def test_the_configuration_includes_and_excludes_from_where_it_stands(work, capsys, monkeypatch):
    (work / ".git").mkdir()
    make(work, "prompts/a.tiny", "prompts/old/b.tiny", "c.tiny")
    (work / "kvaudit.toml").write_text("include = ['prompts/**']\nexclude = ['old/']\n")
    assert paths(capsys) == ["prompts/a.tiny"]
    monkeypatch.chdir(work / "prompts")
    assert paths(capsys) == ["a.tiny"]
    assert paths(capsys, "old/b.tiny") == ["old/b.tiny"]
    assert paths(capsys, "--force-exclude", "old/b.tiny", "a.tiny") == ["a.tiny"]
    assert paths(capsys, "--exclude", "a.*") == []


def test_links_are_not_followed_in_circles_and_no_file_is_seen_twice(work, capsys):
    make(work, "a/a.tiny")
    os.symlink(work, work / "a" / "loop")
    os.symlink(work / "a" / "a.tiny", work / "z.tiny")
    os.symlink("nowhere", work / "broken.tiny")
    assert len(paths(capsys)) == 1


@pytest.mark.parametrize(
    ("data", "column"),
    [
        (CLOCK.encode(), 7),
        (codecs.BOM_UTF8 + CLOCK.encode(), 7),
        (codecs.BOM_UTF16_LE + CLOCK.encode("utf-16-le"), 7),
        (codecs.BOM_UTF16_BE + CLOCK.encode("utf-16-be"), 7),
        (CLOCK.replace("\n", "\r\n").encode(), 7),
        (CLOCK.replace("It", "🕐").encode(), 6),
    ],
)
def test_encodings(work, capsys, data, column):
    (work / "a.tiny").write_bytes(data)
    (finding,) = result(capsys)[1]["findings"]
    assert (finding["line"], finding["column"], finding["end_line"]) == (1, column, 1)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"caf\xe9 {clock}", "it is not UTF-8: byte 0xe9 at offset 3"),
        (b"a\x00b", "it is binary"),
        (b"\x00\xff\x01", "it is binary"),
        (codecs.BOM_UTF16_LE + b"\x00\xd8", "it is not UTF-16"),
        (b"x" * (MAX_BYTES + 1), "it is larger than 4 MiB"),
    ],
)
def test_what_is_no_text_is_skipped_with_a_reason(work, capsys, data, reason):
    (work / "a.tiny").write_bytes(data)
    (work / "a.unknown").write_bytes(data)
    code, document = result(capsys)
    assert code == 3
    (skipped,) = document["skipped"]
    assert skipped["path"] == "a.tiny"
    assert skipped["reason"].startswith(reason)


@pytest.mark.parametrize(
    ("name", "taken"), [("a.jsonl", True), ("a.ndjson", True), ("a.txt", False)]
)
def test_a_log_may_be_larger_than_a_prompt(tmp_path, name, taken):
    (tmp_path / name).write_bytes(b"x" * (MAX_BYTES + 1))
    if taken:
        assert len(read_bytes(tmp_path / name)) == MAX_BYTES + 1
    else:
        with pytest.raises(Undecodable, match="4 MiB"):
            read_bytes(tmp_path / name)


def test_a_folder_without_permission_is_passed_over(work, capsys, monkeypatch):
    make(work, "a/a.tiny", "b/b.tiny")
    real = os.scandir

    def refusing(path):
        if str(path).endswith("/a"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert paths(capsys) == ["b/b.tiny"]


def test_a_pipe_can_be_named(work, capsys):
    reading, writing = os.pipe()
    os.write(writing, CLOCK.encode())
    os.close(writing)
    code, document = result(capsys, f"/dev/fd/{reading}")
    os.close(reading)
    assert code == 3
    assert document["skipped"][0]["reason"] == "it is of no kind that kvaudit reads"


def test_a_named_file_is_a_prompt_if_it_is_called_like_one(work, capsys, monkeypatch):
    from dataclasses import replace

    from kvaudit.analyzers import inspection, reader
    from kvaudit.analyzers.reader import Sniffed

    shy = replace(reader.all_readers()[0], sniff=lambda source: Sniffed.NO)
    for module in (reader, inspection):
        monkeypatch.setattr(module, "all_readers", lambda: (shy,))
    make(work, "a.tiny")
    assert call(capsys)[0] == 3
    assert paths(capsys, "a.tiny") == ["a.tiny"]
    assert paths(capsys, "--config", "include=['*.tiny']") == ["a.tiny"]
    # Names that a program gives say nothing about what a file holds.
    assert call(capsys, "--force-exclude", "a.tiny")[0] == 3
    assert call(capsys, "--force-exclude", "--allow-empty", "a.tiny")[0] == 0


def test_no_file_matches_what_was_given(work, capsys):
    make(work, "a.tiny")
    assert call(capsys, "--exclude", "*")[0] == 3


def test_a_link_to_a_file_is_left_out_below_a_folder_and_read_where_it_is_named(work, capsys):
    make(work, "z.tiny")
    os.symlink("z.tiny", work / "a.tiny")
    assert paths(capsys) == ["z.tiny"]
    assert paths(capsys, "a.tiny") == ["a.tiny"]


def test_a_folder_that_cannot_be_read_is_listed_as_skipped(work, capsys, monkeypatch):
    make(work, "a.tiny", "locked/b.tiny")
    scan = os.scandir

    def refuse(folder):
        if os.path.basename(folder) == "locked":
            raise PermissionError(13, "Permission denied")
        return scan(folder)

    monkeypatch.setattr(os, "scandir", refuse)
    document = result(capsys)[1]
    assert document["checked"] == 1
    assert [file["path"] for file in document["skipped"]] == ["locked"]
    assert document["skipped"][0]["reason"].startswith("it cannot be read: ")


def test_a_file_name_takes_one_line_of_the_concise_format(work, capsys):
    make(work, "a\n\x1b[31mb.tiny")
    lines = call(capsys, "--format", "concise")[1].splitlines()
    assert [line.partition(":")[0] for line in lines] == [r"a\n\x1b[31mb.tiny", "summary"]


def test_a_file_that_is_gone_when_it_is_read_is_skipped(tmp_path, capsys, monkeypatch):
    for name in ("a.tiny", "b.tiny"):
        (tmp_path / name).write_text(FIXED)

    def vanishing(*args):
        found = find_files(*args)
        (tmp_path / "b.tiny").unlink()
        return found

    monkeypatch.setattr(linting, "find_files", vanishing)
    code, document = result(capsys, "--isolated", tmp_path)
    assert (code, document["checked"]) == (0, 1)
    (skipped,) = document["skipped"]
    assert skipped["path"].endswith("b.tiny")
    assert skipped["reason"] == "it cannot be read: No such file or directory"
