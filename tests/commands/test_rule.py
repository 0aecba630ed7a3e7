"""`kvaudit rule`: pages of rules, and the examples of a rule file."""

import json
import shutil
from pathlib import Path

import pytest

from kvaudit.cli import run
from kvaudit.core.rulebook import load_rules, rules_folder

CLOCK = Path("prefix/sub-day-clock.md")


def call(capsys, *args):
    code = run(["rule", *map(str, args)])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize("word", ["sub-day-clock", "KV001", "kv001"])
def test_a_page_by_name_and_by_code(capsys, word):
    code, out, _ = call(capsys, word)
    assert code == 0
    assert out.startswith("# sub-day-clock\n\nA clock finer than one day")
    assert "⟦" not in out
    assert "```jinja\n" in out
    assert "jinja bad" not in out


def test_all_rules_are_one_line_each(capsys):
    lines = call(capsys)[1].splitlines()
    assert [line.split()[0] for line in lines] == [rule.code for rule in load_rules()]


def test_all_pages(capsys):
    out = call(capsys, "--all")[1]
    assert all(f"# {rule.name}\n" in out for rule in load_rules())


def test_json(capsys):
    (rule,) = json.loads(call(capsys, "KV001", "--format", "json")[1])
    assert rule["name"] == "sub-day-clock"
    assert "⟦" not in rule["page"]
    assert len(json.loads(call(capsys, "--all", "--format", "json")[1])) == len(load_rules())


def test_an_unknown_rule_names_the_nearest(capsys):
    code, out, err = call(capsys, "sub-day-clok")
    assert (code, out) == (2, "")
    assert err == "error: sub-day-clok is no rule; did you mean sub-day-clock?\n"


def test_a_rule_file_is_tested_by_its_own_examples(tmp_path, capsys):
    path = tmp_path / "sub-day-clock.md"
    shutil.copy(rules_folder() / CLOCK, path)
    code, out, _ = call(capsys, "--check", path)
    assert code == 0
    assert "examples hold" in out
    text = path.read_text()
    path.write_text(text.replace("⟦", "", 1).replace("⟧", "", 1))
    code, out, _ = call(capsys, "--check", path)
    assert code == 1
    assert "marks stand in a bad example, and only there" in out
    assert "found, and not marked: '{{ now" in out
    path.write_text(text.replace('"clock"', '"random"'))
    assert "not found: '{{ now" in call(capsys, "--check", path)[1]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('check    = "order"', 'check = "ordr"', "did you mean order?"),
        ("+++", "---", "a rule begins with front matter"),
        ('severity = "error"', 'severity = "bad"', "severity"),
    ],
)
def test_what_is_no_rule_file_is_a_sentence(tmp_path, capsys, old, new, message):
    path = tmp_path / "sub-day-clock.md"
    path.write_text((rules_folder() / CLOCK).read_text().replace(old, new))
    code, out, err = call(capsys, "--check", path)
    assert (code, out) == (2, "")
    assert message in err


def test_rules_of_an_own_folder_are_known(tmp_path, capsys):
    text = (rules_folder() / CLOCK).read_text().replace("KV001", "KV950")
    (tmp_path / "own-clock.md").write_text(text)
    assert call(capsys, "own-clock", "--rules", tmp_path)[0] == 0
