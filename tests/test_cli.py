"""The command line as a whole: exit codes, and one sentence for every kind of failure."""

import errno
import importlib
import inspect
import os
import signal
import subprocess
import sys
import time

import pytest
import typer

from kvaudit import __version__, cli
from kvaudit.core.errors import InputError


@pytest.fixture
def failing(monkeypatch):
    """Return a function that makes `kvaudit doctor` raise an exception."""

    def make(error):
        broken = typer.Typer(pretty_exceptions_enable=False)

        @broken.command()
        def doctor():
            raise error

        broken.callback()(lambda: None)
        monkeypatch.setattr(cli, "app", broken)

    return make


def test_version(capsys):
    assert cli.run(["--version"]) == 0
    assert capsys.readouterr().out == f"kvaudit {__version__}\n"


def test_every_command_has_a_line_of_help(capsys):
    assert cli.run(["--help"]) == 0
    shown = capsys.readouterr().out
    for command in cli.COMMANDS:
        assert command in shown


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["docter"], "kvaudit has no command docter; did you mean doctor?"),
        (
            ["doctor", "--setings"],
            "kvaudit doctor has no option --setings; did you mean --settings?",
        ),
        (["schema", "confg"], "invalid value for 'document': 'confg' is not one of"),
        (["schema"], "missing argument 'document'"),
        (["init", "too", "many"], "got unexpected extra argument"),
        (["doctor", "--config", "modle=x", "--settings"], "did you mean model?"),
    ],
)
def test_a_wrong_call_is_one_sentence_and_exit_2(args, message, capsys):
    assert cli.run(args) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert streams.err.startswith("error: ")
    assert message in streams.err
    assert "Traceback" not in streams.err


def test_no_command_prints_the_help_and_is_a_wrong_call(capsys):
    assert cli.run([]) == 2
    assert "doctor" in capsys.readouterr().out


def test_a_mistake_in_the_input_is_its_sentence(failing, capsys):
    failing(InputError("chat.jsonl is empty; give a log with requests"))
    assert cli.run(["doctor"]) == 2
    assert capsys.readouterr().err == "error: chat.jsonl is empty; give a log with requests\n"


def test_a_crash_is_a_sentence_and_not_the_exit_code_of_findings(failing, capsys):
    failing(ZeroDivisionError("division by zero"))
    assert cli.run(["doctor"]) == 2
    shown = capsys.readouterr().err
    assert "a bug of it and not of your files: ZeroDivisionError: division by zero" in shown
    assert "Traceback" not in shown


def test_a_crash_shows_its_traceback_when_asked(failing, capsys, monkeypatch):
    monkeypatch.setattr(cli, "is_verbose", lambda: True)
    failing(ZeroDivisionError("division by zero"))
    assert cli.run(["doctor"]) == 2
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 130, ""),
        (OSError(errno.ENOSPC, "No space left on device", "out.json"), 2, "out.json could not be"),
        (OSError(errno.ENOSPC, "No space left on device"), 2, "the output could not be written"),
        (typer.Exit(3), 3, ""),
    ],
)
def test_other_endings(failing, capsys, error, code, message):
    failing(error)
    assert cli.run(["doctor"]) == code
    shown = capsys.readouterr().err
    assert message in shown
    assert "Traceback" not in shown


def shell(command):
    return subprocess.run(
        [
            "bash",
            "-c",
            f"set -o pipefail; {command.replace('kvaudit', sys.executable + ' -m kvaudit')}",
        ],
        capture_output=True,
        text=True,
        check=False,
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
    )


@pytest.mark.parametrize("args", ["schema replay", "--help", "--version", "doctor --settings"])
def test_a_reader_that_leaves_early_is_no_error(args):
    done = shell(f"kvaudit {args} | true")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_first_line_can_be_taken():
    done = shell("kvaudit schema replay | head -n 1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "{\n", "")


def test_an_interruption_outside_a_command(monkeypatch):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "app", interrupted)
    assert cli.run([]) == 130


@pytest.mark.parametrize("args", ["schema config", "--version"])
def test_a_full_disk_is_a_sentence(args):
    done = shell(f"kvaudit {args} > /dev/full")
    assert done.returncode == 2
    assert done.stderr == "error: the output could not be written: No space left on device\n"


def test_a_closed_standard_output_is_no_traceback():
    done = shell("kvaudit schema config >&-")
    assert "Traceback" not in done.stderr


def test_output_that_the_encoding_cannot_hold_is_escaped():
    done = shell("PYTHONIOENCODING=latin-1 kvaudit doctor --settings --config model=→")
    assert done.returncode == 0
    assert "\\u2192" in done.stdout


@pytest.mark.parametrize("closed", [">&-", "<&-", "2>&-"])
def test_a_closed_stream_costs_no_result(closed, tmp_path):
    log, report = tmp_path / "log.jsonl", tmp_path / "report.json"
    log.write_text('{"token_ids": [1, 2]}\n')
    done = shell(f"kvaudit replay {log} --output json:{report} {closed}")
    assert (done.returncode, done.stderr) == (0, "")
    assert '"requests": 1' in report.read_text()
    assert log.read_text() == '{"token_ids": [1, 2]}\n'


def test_a_closed_standard_input_is_empty():
    done = shell("kvaudit replay - <&-")
    assert done.returncode == 3
    assert "standard input holds no records" in done.stdout


@pytest.mark.parametrize("args", [["replay", "\x1b[5mno"], ["\x1b[5mno"]])
def test_no_name_reaches_the_terminal_as_a_command(args, capsys):
    assert cli.run(args) == 2
    assert "\\x1b[5mno" in capsys.readouterr().err


def test_a_program_that_is_told_to_end_leaves_nothing_behind(tmp_path):
    pipe = tmp_path / "log"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "kvaudit", "replay", str(pipe)]
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE) as running:
        with pipe.open("w") as log:  # returns once kvaudit reads
            log.write('{"token_ids": [1]}\n')
            log.flush()
            while not any(tmp_path.glob("kvaudit-*")):
                time.sleep(0.01)
            time.sleep(0.5)  # it waits for the pipe then, and a signal wakes it
            running.terminate()
            assert running.wait(timeout=30) == 128 + signal.SIGTERM
        assert running.stderr.read() == b""
    assert list(tmp_path.iterdir()) == [pipe]


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_help_shows_every_word_of_its_options(command, capsys, monkeypatch):
    """Typer takes words in brackets for markup and drops them."""
    function = getattr(importlib.import_module(f"kvaudit.commands.{command}"), command)
    monkeypatch.setenv("COLUMNS", "300")
    assert cli.run([command, "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for option in inspect.signature(function, eval_str=True).parameters.values():
        for given in getattr(option.annotation, "__metadata__", ()):
            assert given.help in shown
