"""`kvaudit lint` as it is called: exit codes, what it prints, what it says of bad calls."""

import io
import json
import os
import subprocess
import sys

import pytest

from .calls import CLOCK, FIXED, call, result


def pipe(monkeypatch, text):
    data = text if isinstance(text, bytes) else text.encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_a_finding_is_where_it_is(work, capsys):
    (work / "a.tiny").write_text(CLOCK)
    code, document = result(capsys, "a.tiny")
    assert code == 1
    (finding,) = document["findings"]
    place = {key: finding[key] for key in ("path", "line", "column", "end_line", "end_column")}
    assert place == {"path": "a.tiny", "line": 1, "column": 7, "end_line": 1, "end_column": 14}
    assert (finding["code"], finding["rule"], finding["severity"]) == (
        "KV801",
        "test-clock",
        "error",
    )
    assert finding["evidence"] == "dataflow"
    assert finding["lost_tokens"] == 18
    assert document["schema"] == 1
    assert document["checked"] == 1


def test_nothing_wrong_is_exit_0(work, capsys):
    (work / "a.tiny").write_text(FIXED)
    assert result(capsys)[0] == 0


def test_nothing_checked_is_exit_3_and_still_json(work, capsys):
    (work / "notes.log").write_text("no prompt")
    code, document = result(capsys)
    assert code == 3
    assert document["findings"] == []
    assert document["checked"] == 0
    assert "checked nothing: no file here" in call(capsys, "--format", "concise")[1]


def test_a_file_that_cannot_be_read_is_skipped_and_never_clean(work, capsys):
    (work / "a.tiny").write_text("!broken\n")
    code, document = result(capsys)
    assert code == 3
    assert document["skipped"] == [{"path": "a.tiny", "reason": "it is broken"}]
    assert "checked nothing: all files were skipped" in call(capsys, "--format", "full")[1]


def test_a_named_file_of_another_kind_is_said_to_be_skipped(work, capsys):
    (work / "a.bin").write_text("text")
    code, document = result(capsys, "a.bin")
    assert code == 3
    assert document["skipped"][0]["path"] == "a.bin"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ([], 1),
        (["--fail-on", "error"], 0),
        (["--fail-on", "warning"], 1),
        (["--fail-on", "never"], 0),
        (["--exit-zero"], 0),
    ],
)
def test_what_fails_a_run(work, capsys, options, code):
    (work / "a.tiny").write_text(CLOCK.replace("clock", "user"))
    assert result(capsys, *options)[0] == code


def test_paths_are_as_given_and_in_order(work, capsys):
    (work / "b").mkdir()
    (work / "b" / "z.tiny").write_text(CLOCK)
    (work / "b" / "a.tiny").write_text(CLOCK)
    absolute = work / "b" / "a.tiny"
    assert [f["path"] for f in result(capsys)[1]["findings"]] == ["b/a.tiny", "b/z.tiny"]
    assert [f["path"] for f in result(capsys, absolute)[1]["findings"]] == [absolute.as_posix()]
    both = result(capsys, "b/z.tiny", "./b")[1]["findings"]
    assert [f["path"] for f in both] == ["b/a.tiny", "b/z.tiny"]


def test_the_same_input_gives_the_same_bytes(work, capsys):
    for number in range(20):
        (work / f"{number}.tiny").write_text(CLOCK + "{user}\n" + FIXED * 5)
    assert call(capsys, "--format", "json") == call(capsys, "--format", "json")


def test_standard_input(work, capsys, monkeypatch):
    pipe(monkeypatch, CLOCK)
    code, document = result(capsys, "-", "--stdin-filename", "prompts/a.tiny")
    assert (code, document["findings"][0]["path"]) == (1, "prompts/a.tiny")
    pipe(monkeypatch, b"\xff\xfe\x00\xd8")
    code, document = result(capsys, "-")
    assert (code, document["skipped"][0]["path"]) == (3, "<stdin>")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("It is {{ now }}.\n", "<stdin>.j2"),
        ("{% if a %}x{% endif %}\n", "<stdin>.j2"),
        ("import os\n\nP = f'{os.getpid()} {{x}}'\n", "<stdin>.py"),
        ('{"messages": []}\n', "<stdin>.json"),
        ('{"a": 1}\n{"b": 2}\n', "<stdin>.jsonl"),
        ("import x from 'y';\nconst s = <a style={{b}} />;\n", "<stdin>"),
        ("You are a clerk.\n", "<stdin>"),
        ("", "<stdin>"),
    ],
)
def test_standard_input_without_a_name_is_taken_for_what_it_shows(capsys, monkeypatch, text, path):
    pipe(monkeypatch, text)
    code, document = result(capsys, "-")  # the one reader here takes none of these
    assert (code, document["skipped"][0]["path"]) == (3, path)
    assert ("--stdin-filename" in document["skipped"][0]["reason"]) == (path == "<stdin>")


def test_a_provider_that_nothing_is_known_of_is_said(work, capsys):
    (work / "a.tiny").write_text(FIXED)
    said = call(capsys, "--provider", "anthropc")[2]
    assert said.startswith("warning: provider anthropc: ")
    assert "did you mean anthropic?" in said
    assert call(capsys, "--provider", "Anthropic")[2] == ""


def test_rules_are_chosen_by_name_and_code(work, capsys):
    (work / "a.tiny").write_text(CLOCK + "{user}\n" + FIXED * 5)

    def rules(*options):
        return [f["rule"] for f in result(capsys, *options)[1]["findings"]]

    assert rules() == ["test-clock", "test-identity"]
    assert rules("--select", "KV801") == ["test-clock"]
    assert rules("--ignore", "test-clock,KV802") == []
    assert rules("--select", "kv80") == ["test-clock", "test-identity"]
    assert rules("--ignore", "KV8") == []
    (work / "kvaudit.toml").write_text("[rules]\nignore = ['test-clock']\n")
    assert rules() == ["test-identity"]
    assert rules("--isolated") == ["test-clock", "test-identity"]


def test_a_rule_has_the_severity_that_the_configuration_says(work, capsys):
    (work / "a.tiny").write_text(CLOCK)
    (work / "kvaudit.toml").write_text("[rules.severity]\ntest-clock = 'info'\n")
    code, document = result(capsys)
    assert (code, document["findings"][0]["severity"]) == (0, "info")


@pytest.mark.parametrize(
    "said", ["KV8='error', test-clock='info'", "test-clock='info', KV8='error'"]
)
def test_a_rules_own_severity_counts_before_that_of_its_family(said, work, capsys):
    (work / "a.tiny").write_text(CLOCK + "{user}\n" + FIXED * 5)
    found = result(capsys, "--config", f"rules.severity={{{said}}}")[1]["findings"]
    assert {f["rule"]: f["severity"] for f in found} == {
        "test-clock": "info", "test-identity": "error",
    }  # fmt: skip


def test_a_rule_can_be_left_out_for_some_files(work, capsys):
    (work / "a.tiny").write_text(CLOCK)
    (work / "b.tiny").write_text(CLOCK)
    (work / "kvaudit.toml").write_text("[rules.per-file]\n'a.*' = ['KV801']\n")
    assert [f["path"] for f in result(capsys)[1]["findings"]] == ["b.tiny"]
    (work / "kvaudit.toml").write_text("[rules.per-file]\n'a.*' = ['KV8']\n")
    assert [f["path"] for f in result(capsys)[1]["findings"]] == ["b.tiny"]


def test_findings_in_tests_are_a_level_lower(work, capsys):
    (work / "tests").mkdir()
    (work / "tests" / "a.tiny").write_text(CLOCK)
    assert result(capsys)[1]["findings"][0]["severity"] == "warning"


def test_many_files_are_shared_between_processes_without_a_difference(work, capsys, monkeypatch):
    from kvaudit.analyzers import files

    for number in range(60):
        (work / f"{number}.tiny").write_text(CLOCK if number % 3 else "!broken")
    alone = call(capsys, "--format", "json")
    monkeypatch.setattr(files, "ALONE_UP_TO", 10)
    monkeypatch.setattr(files, "CHUNK", 7)
    monkeypatch.setattr(files, "_processors", lambda: 2)
    assert call(capsys, "--format", "json") == alone


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nowhere"], "nowhere does not exist"),
        (["--select", "test-clok"], "test-clok is no rule; did you mean test-clock?"),
        (["--select", "KV7"], "KV7 is no rule"),
        (["--fail-on", "eror"], "did you mean error?"),
        (["--format", "jsn"], "did you mean json?"),
        (["--rules", "nowhere"], "no such folder of rules"),
        (["--baseline", "nowhere"], "make it with: kvaudit lint --write-baseline nowhere"),
        (["--config", "rules.ignore=['nothing']"], "nothing is no rule"),
        (["--config", "variables={plan='sesion'}"], "did you mean session?"),
        (["--isolate", "user"], "say none or tenant"),
    ],
)
def test_a_wrong_call_is_a_sentence(work, capsys, args, message):
    (work / "a.tiny").write_text(FIXED)
    code, out, err = call(capsys, *args)
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are POSIX's")
def test_a_pipe_that_nobody_writes_to_is_not_waited_for(work, capsys, monkeypatch):
    monkeypatch.setattr("kvaudit.analyzers.decode.PIPE_SECONDS", 0.05)
    os.mkfifo(work / "a.tiny")
    code, document = result(capsys, "a.tiny")
    assert (code, document["checked"]) == (3, 0)
    assert document["skipped"][0]["reason"] == "it is a pipe that nobody writes to"
    assert call(capsys, ".")[0] == 3  # below a folder it is passed over


def test_an_extra_that_is_missing_is_said(work, capsys, monkeypatch):
    from dataclasses import replace

    from kvaudit.analyzers import inspection, reader

    lacking = replace(reader.all_readers()[0], missing=lambda: "it needs kvaudit[source]")
    for module in (reader, inspection):
        monkeypatch.setattr(module, "all_readers", lambda: (lacking,))
    (work / "a.tiny").write_text(FIXED)
    code, document = result(capsys)
    assert code == 3
    assert document["skipped"] == [{"path": "a.tiny", "reason": "it needs kvaudit[source]"}]


def test_results_can_go_to_files_too(work, capsys):
    (work / "a.tiny").write_text(CLOCK)
    call(capsys, "--output", "json:out.json", "--output", "concise:out.txt")
    assert json.loads((work / "out.json").read_text())["checked"] == 1
    assert "test-clock" in (work / "out.txt").read_text()
    assert os.listdir(work).count("out.json") == 1


def with_reader(monkeypatch, read):
    from dataclasses import replace

    from kvaudit.analyzers import inspection, reader

    other = replace(reader.all_readers()[0], read=read)
    for module in (reader, inspection):
        monkeypatch.setattr(module, "all_readers", lambda: (other,))


def test_a_crash_on_one_file_is_a_bug_and_leaves_the_others(work, capsys, monkeypatch):
    from kvaudit.analyzers import reader

    real = reader.all_readers()[0].read

    def read(source, project):
        if source.path.startswith("a"):
            raise ZeroDivisionError("division by zero")
        return real(source, project)

    with_reader(monkeypatch, read)
    (work / "a.tiny").write_text(CLOCK)
    (work / "b.tiny").write_text(CLOCK)
    code, out, err = call(capsys, "--format", "json")
    document = json.loads(out)
    assert code == 2
    assert [f["path"] for f in document["findings"]] == ["b.tiny"]
    assert document["skipped"] == [{"path": "a.tiny", "reason": "kvaudit crashed on it"}]
    assert "a bug of it and not of your files: a.tiny: ZeroDivisionError" in err
    assert "Traceback" not in err
    assert "Traceback" in call(capsys, "-v")[2]


def test_a_file_that_takes_too_long_is_left(work, capsys, monkeypatch):
    from kvaudit.analyzers import files, limit

    monkeypatch.setattr(files, "within", lambda: limit.within(0.05))

    def read(source, project):
        try:
            while True:
                pass
        except Exception:
            return []

    with_reader(monkeypatch, read)
    (work / "a.tiny").write_text(CLOCK)
    code, document = result(capsys)
    assert code == 3
    assert document["skipped"] == [{"path": "a.tiny", "reason": "it took more than 30 s"}]


def test_an_expression_that_explodes_can_be_interrupted():
    import re

    from kvaudit.analyzers.limit import TookTooLong, within

    with pytest.raises(TookTooLong), within(0.05):
        re.fullmatch("(a+)+b", "a" * 60)


def test_nothing_of_the_audited_folder_is_imported(work):
    for name in ("yaml", "jinja2", "pathspec", "typer", "ast", "json"):
        (work / f"{name}.py").write_text("open('ran', 'w')\n")
    (work / "prompt.j2").write_text("You are {{ user }}, it is {{ now() }}.\n")
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    done = subprocess.run(
        [sys.executable, "-m", "kvaudit", "lint"],
        env=os.environ | {"PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "sub-day-clock" in done.stdout
    assert not (work / "ran").exists()
