"""Where results go, and that a file is whole or not there."""

import errno
import io
import os
import stat
from pathlib import Path

import pytest

from kvaudit.core.errors import UsageError
from kvaudit.core.output import (
    Target,
    check_apart,
    check_format,
    default_format,
    parse_outputs,
    replacing,
    replacing_path,
    write_outputs,
)

KNOWN = ["concise", "full", "json"]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_format_follows_the_place():
    assert default_format(Terminal(), {}) == "full"
    assert default_format(io.StringIO(), {}) == "concise"
    assert default_format(Terminal(), {"GITHUB_ACTIONS": "true"}) == "github"


def test_an_unknown_format_names_the_nearest():
    assert check_format("json", KNOWN) == "json"
    with pytest.raises(UsageError, match="--format: 'jsn' is not a format; did you mean json"):
        check_format("jsn", KNOWN)


def test_outputs(tmp_path):
    a, b = tmp_path / "a.json", tmp_path / "b:c.txt"
    assert parse_outputs([f"json:{a}", f"full:{b}"], KNOWN) == [
        Target("json", a),
        Target("full", b),
    ]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("run.json", "write it as KIND:PATH"),
        ("json:", "write it as KIND:PATH"),
        ("jsn:run.json", "'jsn' is not a format; did you mean json?"),
        ("json:none/run.json", "the folder none does not exist; make it first"),
        ("json:.", "is a folder; name a file"),
    ],
)
def test_what_could_not_be_written_is_refused_before_the_work(value, message):
    with pytest.raises(UsageError, match=message.replace("?", r"\?")):
        parse_outputs([value], KNOWN)


def test_one_file_cannot_hold_two_outputs(tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    with pytest.raises(UsageError, match=r"--output and --rows: .*named twice"):
        check_apart([("--output", a), ("--rows", tmp_path / "sub" / ".." / "a")])
    a.write_text("")
    os.link(a, b)
    with pytest.raises(UsageError, match=r"--output: .*named twice"):
        check_apart([("--output", a), ("--output", b)])
    check_apart([("--output", Path("/dev/null")), ("--output", Path("/dev/null"))])


def test_what_is_read_is_never_written(tmp_path):
    log, link, copy = tmp_path / "log", tmp_path / "link", tmp_path / "copy"
    log.write_text("precious")
    link.symlink_to(log)
    os.link(log, copy)
    for name in (log, link, copy):
        with pytest.raises(UsageError, match="is one of the files to read"):
            check_apart([("--output", name)], [tmp_path / "other", log])
    check_apart([("--output", Path("-"))], [Path("-"), Path("/dev/null")])


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_the_standard_output_is_written_to_and_not_replaced(name, capsys):
    targets = parse_outputs([f"json:{name}", "full:/dev/stderr"], KNOWN)
    write_outputs(targets, lambda kind: f"as {kind}")
    assert capsys.readouterr() == ("as json", "as full")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_named_by_what_was_written():
    with pytest.raises(OSError, match="/dev/full"), replacing(Path("/dev/full")) as file:
        file.write(b"x" * 100_000)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_no_permission_is_a_sentence(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(UsageError, match="no permission"):
        parse_outputs([f"json:{tmp_path / 'x'}"], KNOWN)


@pytest.mark.parametrize("refusal", [errno.EACCES, errno.EROFS, errno.ENOENT])
def test_a_folder_that_refuses_after_all_is_a_sentence(refusal, tmp_path, monkeypatch):
    def refuse(path, mode):
        raise OSError(refusal, os.strerror(refusal), str(path))

    monkeypatch.setattr(Path, "open", refuse)
    with (
        pytest.raises(UsageError, match=rf"run\.json cannot be written: {os.strerror(refusal)}"),
        replacing_path(tmp_path / "run.json"),
    ):
        pytest.fail("there is nothing to write to")


def test_a_file_is_replaced_only_when_all_went_well(tmp_path):
    path = tmp_path / "run.json"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), replacing(path) as file:
        file.write(str(1 / 0).encode())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    with replacing(path) as file:
        file.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_and_links_stay(tmp_path):
    path, link = tmp_path / "run.json", tmp_path / "link.json"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    with replacing(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_device_is_written_to_and_not_replaced():
    with replacing(Path(os.devnull)) as file:
        file.write(b"x")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_every_output_is_written_in_its_kind(tmp_path):
    targets = [Target("json", tmp_path / "a"), Target("full", tmp_path / "b")]
    write_outputs(targets, lambda kind: f"as {kind} \ud800")
    assert (tmp_path / "a").read_text() == "as json \\ud800"
    assert (tmp_path / "b").read_text() == "as full \\ud800"
