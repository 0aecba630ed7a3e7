"""`kvaudit init`: a first configuration."""

import re

import pytest

from kvaudit.cli import run
from kvaudit.core.config import load_config
from kvaudit.core.settings import Settings


@pytest.fixture(autouse=True)
def _there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()


def uncommented(text):
    return re.sub(r"^# (?=[\w-]+ = )", "", text, flags=re.MULTILINE)


@pytest.mark.parametrize("name", ["kvaudit.toml", "pyproject.toml"])
def test_what_it_writes_changes_nothing_until_it_is_wanted(tmp_path, name, capsys):
    path = tmp_path / name
    if name == "pyproject.toml":
        path.write_text("[project]\nname = 'x'")
    assert run(["init"]) == 0
    assert name in capsys.readouterr().out
    assert load_config(environ={}).settings == Settings()
    path.write_text(uncommented(path.read_text()))
    config = load_config(environ={})
    assert config.settings.lint.fail_on == "error"
    assert config.settings.rules.ignore == ("host-dependent-text",)
    assert config.settings.variables == {"plan_tier": "identity", "today": "date"}
    if name == "pyproject.toml":
        assert path.read_text().startswith("[project]\nname = 'x'\n\n[tool.kvaudit]")


def test_every_setting_of_lint_is_in_it(tmp_path):
    run(["init"])
    text = (tmp_path / "kvaudit.toml").read_text()
    names = {"include", "exclude", "force_exclude", "required_version"}
    for table in ("lint", "rules"):
        names |= set(type(getattr(Settings(), table)).model_fields)
    keys = set(re.findall(r"^# ([\w-]+) +?= ", text, flags=re.MULTILINE))
    assert {name.replace("_", "-") for name in names} <= keys


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("kvaudit.toml", "", "is there already"),
        ("pyproject.toml", "[tool.kvaudit]\n", "has a [tool.kvaudit] table already"),
        ("pyproject.toml", "[tool", "is not valid TOML"),
    ],
)
def test_it_changes_nothing_that_is_there(tmp_path, capsys, name, text, message):
    (tmp_path / name).write_text(text)
    assert run(["init"]) == 2
    assert message in capsys.readouterr().err
    assert (tmp_path / name).read_text() == text
