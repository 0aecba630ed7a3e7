"""Paths for services that show a repository: from its root, wherever the call is made."""

import json

import pytest

from kvaudit.analyzers.places import Places

from .calls import CLOCK, call, result


@pytest.fixture
def shop(work):
    """A folder two levels below the root of a repository, with a prompt in it."""
    folder = work / "services" / "shop"
    folder.mkdir(parents=True)
    (work / ".git").mkdir()
    (folder / "a b.tiny").write_text(CLOCK)
    (folder / "broken.tiny").write_text("!broken")
    return folder


def published(capsys, *args):
    """Return the paths that each format for a service names."""
    found = {}
    run = json.loads(call(capsys, *args, "--format", "sarif")[1])["runs"][0]
    places = [one for r in run["results"] for one in (*r["locations"], *r["relatedLocations"])]
    places += run["invocations"][0]["toolExecutionNotifications"][0]["locations"]
    found["sarif"] = {p["physicalLocation"]["artifactLocation"]["uri"] for p in places}
    issues = json.loads(call(capsys, *args, "--format", "gitlab")[1])
    found["gitlab"] = {issue["location"]["path"] for issue in issues}
    first = call(capsys, *args, "--format", "github")[1].splitlines()[0]
    found["github"] = {first.removeprefix("::error file=").partition(",")[0]}
    case = (
        call(capsys, *args, "--format", "junit")[1].partition('name="')[2].partition(' name="')[2]
    )
    found["junit"] = {case.partition(":")[0]}
    return found


SHOP = {
    "sarif": {"services/shop/a%20b.tiny", "services/shop/broken.tiny"},
    "gitlab": {"services/shop/a b.tiny"},
    "github": {"services/shop/a b.tiny"},
    "junit": {"services/shop/a b.tiny"},
}


@pytest.mark.parametrize(
    ("folder", "path"),
    [("", "services"), ("services", "shop"), ("services/shop", "."), ("services/shop", "../shop")],
)
def test_they_begin_at_the_root_of_the_repository(shop, work, capsys, monkeypatch, folder, path):
    monkeypatch.chdir(work / folder)
    assert published(capsys, path) == SHOP
    assert published(capsys, work / "services") == SHOP


def test_also_when_the_call_is_made_from_elsewhere(shop, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert published(capsys, shop) == SHOP
    (tmp_path / "link").symlink_to(shop)
    assert published(capsys, "link") == SHOP


def test_a_repository_inside_the_one_of_the_call_is_seen_from_outside(
    shop, work, capsys, monkeypatch
):
    (shop / ".git").write_text("gitdir: elsewhere")
    assert published(capsys, "services") == SHOP
    monkeypatch.chdir(shop)
    assert published(capsys)["gitlab"] == {"a b.tiny"}


def test_outside_a_repository_they_are_those_of_the_call(work, capsys):
    (work / "sub").mkdir()
    (work / "sub" / "a.tiny").write_text(CLOCK)
    issues = json.loads(call(capsys, "sub", "--format", "gitlab")[1])
    assert issues[0]["location"]["path"] == "sub/a.tiny"


def test_those_for_people_and_in_json_are_those_of_the_call(shop, capsys, monkeypatch):
    monkeypatch.chdir(shop)
    document = result(capsys)[1]
    assert document["findings"][0]["path"] == document["findings"][0]["related"][0]["path"]
    assert document["findings"][0]["path"] == "a b.tiny"
    assert document["skipped"][0]["path"] == "broken.tiny"
    assert call(capsys, "--format", "concise")[1].startswith("a b.tiny:1:7: error")
    assert "--> a b.tiny:1:7" in call(capsys, "--format", "full")[1]


@pytest.mark.parametrize(
    ("path", "expected"), [("<stdin>.j2", "<stdin>.j2"), ("x.j2", "services/shop/x.j2")]
)
def test_standard_input_lies_nowhere_unless_it_is_given_a_name(shop, path, expected):
    assert Places(shop).in_repository(path) == expected


def test_fingerprints_and_patterns_do_not_depend_on_the_folder_either(
    shop, work, tmp_path, capsys, monkeypatch
):
    (work / "kvaudit.toml").write_text("[rules.per-file]\n'/services/**/b.*' = ['KV801']\n")
    (shop / "b.tiny").write_text(CLOCK)
    keys = set()
    for folder, path in ((work, "services"), (shop, "."), (tmp_path, shop)):
        monkeypatch.chdir(folder)
        settings = ["--config", work / "kvaudit.toml"]
        (finding,) = result(capsys, path, *settings)[1]["findings"]
        keys.add(finding["fingerprint"])
    assert len(keys) == 1
