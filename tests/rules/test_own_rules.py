"""A rule of one's own: the guide's example works, and each slip in a rule file is a sentence."""

import re

import pytest

from kvaudit.analyzers.observations import KINDS
from kvaudit.analyzers.vetting import vet
from kvaudit.cli import run
from kvaudit.core.rulebook import load_rules, rules_folder

EXAMPLE = re.search(
    r"^````markdown\n(.*?)^````$", (rules_folder() / "README.md").read_text("utf-8"), re.M | re.S
)[1]


def checked(tmp_path, capsys, text):
    path = tmp_path / "plan-before-rules.md"
    path.write_text(text, encoding="utf-8")
    code = run(["rule", "--check", str(path)])
    out, err = capsys.readouterr()
    return code, (out + err).replace(f"{path}", "FILE")


def test_the_example_of_the_guide_holds_and_is_used(tmp_path, capsys, monkeypatch):
    assert checked(tmp_path, capsys, EXAMPLE) == (0, "FILE: 2 examples hold\n")
    monkeypatch.chdir(tmp_path)
    prompt = tmp_path / "a.j2"
    prompt.write_text("Plan: {{ customer_name }}.\nQuote the invoice number in every answer.\n")
    assert run(["lint", "a.j2", "--rules", "."]) == 1
    assert "a.j2:1:7: warning[plan-before-rules]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("origins ", "orgins ", "params.orgins is nothing that this check is told; did you mean"),
        ('"identity"', '"idntity"', "params.origins: 'idntity' means nothing here; did you mean"),
        ('["identity"]', "7", "params.origins: 7 is not a list of texts"),
        ('["identity"]', "[7]", "params.origins: [7] is not a list of texts"),
        ("origins    = ", "positions = ", "params.positions: 'identity' means nothing here; known"),
        ("= 10", "= true", "params.min_tokens: True is not a whole number"),
        ('"order"', '"calendar"', "params.origins is nothing that this check is told; it takes no"),
        ('"order"', '"ordr"', "check 'ordr' does not exist; did you mean order?"),
        ('"jinja", ', '"jinj", ', "inputs: 'jinj' is no reader; did you mean jinja?"),
        ("since ", 'fix = "sort"\nsince ', "fix 'sort' does not exist"),
        ("KV801", "KV001", "KV001 is the code of sub-day-clock; take one that is free"),
        ("⟦", "", "a mark ⟧ stands in the example without ⟦ before it"),
        ("⟧", "", "a mark ⟦ stands in the example without ⟧ behind it"),
    ],
)
def test_a_slip_is_said_with_its_file(tmp_path, capsys, old, new, said):
    code, text = checked(tmp_path, capsys, EXAMPLE.replace(old, new, 1))
    assert code == 2
    assert text.startswith("error: FILE:")
    assert said in text


def test_a_missing_parameter_is_said(tmp_path, capsys):
    without = re.sub(r"^origins.*\n", "", EXAMPLE, flags=re.M)
    assert checked(tmp_path, capsys, without) == (
        2,
        "error: FILE: params.origins is missing: kinds of value that it speaks of\n",
    )


def test_a_pattern_must_be_one(tmp_path, capsys):
    text = EXAMPLE.replace('"order"', '"adjacent"').replace('origins    = ["identity"]', "")
    text = text.replace("min_tokens = 10", "large = ['(']")
    assert "'(' is no regular expression" in checked(tmp_path, capsys, text)[1]


def test_a_lint_with_a_wrong_rule_says_so_once(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.md").write_text(EXAMPLE.replace("origins ", "orgins "), encoding="utf-8")
    (tmp_path / "a.j2").write_text("It is {{ now() }}.\n")
    assert run(["lint", "a.j2", "--rules", "."]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: own.md: params.orgins is nothing")


def test_what_is_not_found_is_said_with_what_it_was_taken_for(tmp_path, capsys):
    _, far = checked(tmp_path, capsys, EXAMPLE.replace("= 10", "= 500"))
    assert "a value taken for identity, in the system text, with about 20 fixed tokens" in far
    inside = EXAMPLE.replace("⟦{{ customer_name }}⟧", "{{ ⟦customer_name⟧ }}")
    assert "marks stand around the whole expression" in checked(tmp_path, capsys, inside)[1]


@pytest.mark.parametrize("rule", load_rules(), ids=lambda rule: rule.name)
def test_kvaudits_own_rules_name_what_exists(rule):
    vet(rule)


def test_every_observation_is_spoken_of_by_a_rule():
    assert set(KINDS) == {kind for rule in load_rules() for kind in rule.params.get("kinds", ())}
