"""Rules of folders and of installed packages."""

import sys

import pytest

from kvaudit.cli import run

from .calls import CLOCK, call, result, rules
from .conftest import RULE, RULES


def own_rule(folder, name="house-clock", code="KV850"):
    folder.mkdir(parents=True, exist_ok=True)
    words = RULES["prefix/test-identity"] | {"code": code}
    (folder / f"{name}.md").write_text(RULE.format(**words))


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed package that brings rules, and leaves a mark if it is imported."""
    site = tmp_path / "site"
    own_rule(site / "house" / "rules")
    (site / "house" / "__init__.py").write_text("raise SystemExit('imported')\n")
    info = site / "house-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: house\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[kvaudit.rules]\nhouse = house.rules\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(site)])
    return site


def test_a_package_brings_rules_and_is_not_imported(package, work, capsys):
    (work / "a.tiny").write_text(CLOCK.replace("clock", "user"))
    found = rules(capsys, "--ignore", "test-identity")
    assert found == ["house-clock"]
    assert rules(capsys, "--isolated", "--ignore", "test-identity") == []
    assert run(["rule", "KV850"]) == 0
    assert "# house-clock" in capsys.readouterr().out


def test_a_package_without_its_folder_is_said(package, work, capsys):
    (package / "house-1.0.dist-info" / "entry_points.txt").write_text(
        "[kvaudit.rules]\nhouse = house.nowhere\n"
    )
    code, _, err = call(capsys)
    assert code == 2
    assert "the package house says that it brings rules in house.nowhere" in err


def test_folders_of_the_call_and_of_the_configuration(work, capsys):
    (work / "a.tiny").write_text(CLOCK.replace("clock", "user"))
    own_rule(work / "mine")
    own_rule(work / "ours", "our-clock", "KV851")
    (work / "kvaudit.toml").write_text("[rules]\nfolders = ['ours']\nignore = ['test-identity']\n")
    assert rules(capsys) == ["our-clock"]
    assert result(capsys, "--rules", "mine")[1]["findings"][0]["rule"] == "house-clock"
    assert rules(capsys, "--rules", "mine", "--isolated") == ["test-identity"]


def test_a_name_that_is_used_twice_is_said(work, capsys):
    own_rule(work / "mine", "test-clock")
    code, _, err = call(capsys, "--rules", "mine")
    assert code == 2
    assert "test-clock is already used by" in err
