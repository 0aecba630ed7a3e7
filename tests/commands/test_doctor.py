"""What `kvaudit doctor` finds out about an installation."""

import email.message
import importlib
from importlib import metadata

import pytest

from kvaudit.cli import run
from kvaudit.commands import doctor


@pytest.fixture
def installed(monkeypatch):
    """Make kvaudit look installed, with one complete extra and one that is not."""
    own = email.message.Message()
    for extra in ("replay", "gpu", "all"):
        own["Provides-Extra"] = extra
    for requirement in (
        "typer>=0.21",
        "numpy>=2; extra == 'replay'",
        "no-such-thing>=1; extra == 'gpu'",
        "numpy>=2; extra == 'gpu'",
        "numpy>=2; extra == 'all'",
    ):
        own["Requires-Dist"] = requirement
    monkeypatch.setattr(metadata, "metadata", lambda name: own)


def found():
    return dict(doctor.installation())


def test_extras_are_present_or_named_with_the_command_that_adds_them(installed):
    parts = found()
    assert parts["replay"] == f"numpy {metadata.version('numpy')}"
    assert parts["gpu"] == "missing no-such-thing; add: pip install 'kvaudit[gpu]'"
    assert "all" not in parts


def test_a_checkout_that_is_not_installed_says_so(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "metadata", missing)
    assert "is not installed" in found()["extras"]


def test_the_default_tokenizer_is_loaded():
    assert found()["tokenizer"].startswith("o200k_base (exact), from ")


def test_a_missing_tokenizer_is_a_line_and_not_a_failure(monkeypatch):
    monkeypatch.setattr(importlib, "import_module", _without_splintr)
    assert "pip install 'kvaudit[replay]'" in found()["tokenizer"]


def _without_splintr(name, package=None, real=importlib.import_module):
    if name == "splintr":
        raise ModuleNotFoundError(name, name=name)
    return real(name, package)


def test_torch_is_asked_only_where_it_is_installed(monkeypatch):
    monkeypatch.setattr(doctor, "installed_version", lambda package: None)
    assert doctor.torch_build() == "not installed"


def test_every_part_is_a_line(capsys):
    assert run(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[0] == "kvaudit"
    assert lines[-1].split()[0] == "torch"
