"""What is shipped: the wheel's contents, its metadata, and the pins that CI installs from."""

import os
import tomllib
from email import message_from_bytes
from pathlib import Path
from zipfile import ZipFile

import pytest
from hatchling.build import build_wheel
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import kvaudit

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build the wheel as a build front end would, without its network."""
    folder = tmp_path_factory.mktemp("wheel")
    before = Path.cwd()
    os.chdir(ROOT)
    try:
        name = build_wheel(str(folder))
    finally:
        os.chdir(before)
    with ZipFile(folder / name) as archive:
        yield archive


def test_the_wheel_holds_the_whole_package_and_nothing_else(wheel):
    shipped = {name for name in wheel.namelist() if ".dist-info/" not in name}
    package = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "kvaudit").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    rules = {
        str(Path("kvaudit/_rules") / path.relative_to(ROOT / "rules"))
        for path in (ROOT / "rules").rglob("*.md")
    }
    assert "kvaudit/py.typed" in shipped
    assert shipped == package | rules


def test_the_wheel_says_who_it_is(wheel):
    info = f"kvaudit-{kvaudit.__version__}.dist-info"
    metadata = message_from_bytes(wheel.read(f"{info}/METADATA"))
    assert metadata["Version"] == kvaudit.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert b"kvaudit = kvaudit.cli:main" in wheel.read(f"{info}/entry_points.txt")
    assert f"{info}/licenses/LICENSE" in wheel.namelist()
    assert set(metadata.get_all("Provides-Extra")) == set(EXTRAS)


def requirements(extra: str) -> set[str]:
    """Return an extra's requirements, those of other extras it names included."""
    found = set()
    for text in EXTRAS[extra]:
        requirement = Requirement(text)
        if requirement.name == "kvaudit":
            found |= set().union(*map(requirements, requirement.extras))
        else:
            found.add(text)
    return found


def test_all_and_dev_bring_every_extra_but_the_cluster():
    for extra in set(EXTRAS) - {"all", "dev", "cluster"}:
        assert requirements(extra) <= requirements("all")
    assert requirements("all") < requirements("dev")


def test_nothing_is_asked_for_twice():
    for texts in (PROJECT["dependencies"], *EXTRAS.values()):
        names = [Requirement(text).name for text in texts]
        assert len(set(names)) == len(names)


def test_the_core_is_light():
    names = {Requirement(text).name for text in PROJECT["dependencies"]}
    heavy = {Requirement(text).name for extra in EXTRAS.values() for text in extra} - {"kvaudit"}
    assert not names & heavy


def test_what_ci_installs_is_pinned_within_the_ranges():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = {
        canonicalize_name(name): version
        for name, _, version in (line.partition("==") for line in lines if "==" in line)
    }
    assert pins["torch"] == "2.13.0"
    for text in {*PROJECT["dependencies"], *requirements("dev")}:
        requirement = Requirement(text)
        version = pins[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{requirement} is pinned to {version}"
