"""`kvaudit probe`: what it prints, and how it exits."""

import json
from pathlib import Path

import pytest

from kvaudit.cli import run

GOOD = (
    "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


@pytest.fixture
def app(tmp_path, monkeypatch):
    (tmp_path / "app.py").write_text(
        "import time\n"
        "def fixed(name='x'): return f'You help {name}.'\n"
        "def clock(): return time.ctime()\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_stable_builder(app, capsys):
    assert run(["probe", "app:fixed"]) == 0
    assert "is stable: 11 bytes" in capsys.readouterr().out


def test_an_unstable_builder(app, capsys):
    assert run(["probe", "app:clock"]) == 1
    assert "depends on a clock" in capsys.readouterr().out


def test_json_and_arguments(app, capsys):
    assert run(["probe", "app:clock", "--format", "json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["unstable"]
    assert found["line"] == 1
    assert run(["probe", "app:fixed", "--arguments", '{"name": "Ada"}']) == 0
    assert "You" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "args",
    [
        ["app"],
        ["app:none"],
        ["app:fixed", "--arguments", "["],
        ["app:fixed", "--arguments", "[]"],
        ["app:fixed", "--format", "xml"],
        ["app.py"],
        ["."],
    ],
)
def test_what_cannot_be_probed_exits_2(app, args, capsys):
    assert run(["probe", *args]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_a_template_that_divides_by_zero_is_no_crash(app, capsys):
    Path("z.jinja").write_text("{{ 1 / 0 }}{{ messages }}")
    assert run(["probe", "z.jinja"]) == 2
    assert "cannot be rendered: division by zero" in capsys.readouterr().err


def test_a_good_template(app, capsys):
    (app / "chat_template.jinja").write_text(GOOD)
    assert run(["probe", "."]) == 0
    assert "every conversation begins" in capsys.readouterr().out


def test_a_template_that_breaks_says_where(app, capsys):
    bad = GOOD.replace("{% endfor", "{{ '\n' if not loop.last }}{% endfor", 1)
    (app / "t.jinja").write_text("\n" + bad)
    assert run(["probe", "t.jinja"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("t.jinja:2:")
    assert "template-not-append-only (KV111)" in out
    assert run(["probe", "t.jinja", "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["breaks"][0]["line"] == 2


@pytest.mark.parametrize("target", ["builders.py", "missing.jinja"])
def test_a_module_without_a_function_is_no_chat_template_that_fails(app, target, capsys):
    (app / "builders.py").write_text("def system():\n    return ''\n")
    assert run(["probe", target]) == 2
    assert "MODULE:FUNCTION" in capsys.readouterr().err
