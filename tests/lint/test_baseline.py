"""Findings that were there when kvaudit came."""

import json
import time

import pytest

from kvaudit.core.document import Evidence
from kvaudit.core.findings import Finding, Severity
from kvaudit.core.sources import Source, Span

from .calls import CLOCK, FIXED, call, result


@pytest.fixture
def known(work, capsys):
    (work / ".git").mkdir()
    (work / "a.tiny").write_text(CLOCK + "{user}\n" + FIXED * 4)
    code, document = result(capsys, "--write-baseline", "known.json")
    assert (code, document["findings"], document["in_baseline"]) == (0, [], 2)
    assert "wrote 2 findings to known.json" in document["notes"][0]
    return work / "known.json"


def test_the_file_reads_well_and_holds_no_text(known):
    document = json.loads(known.read_text())
    assert document["schema"] == 1
    assert [e["rule"] for e in document["findings"]] == ["test-clock", "test-identity"]
    assert known.read_text().count("\n") == 7
    assert "invoices" not in known.read_text()


def test_what_is_known_is_not_reported_also_on_another_line(known, work, capsys):
    (work / "a.tiny").write_text(FIXED + (work / "a.tiny").read_text())
    code, document = result(capsys, "--baseline", "known.json")
    assert (code, document["findings"], document["in_baseline"]) == (0, [], 2)


def test_a_second_one_like_it_is_new(known, work, capsys):
    (work / "a.tiny").write_text(CLOCK + CLOCK + "{user}\n" + FIXED * 4)
    (finding,) = result(capsys, "--baseline", "known.json")[1]["findings"]
    assert (finding["rule"], finding["line"]) == ("test-clock", 3)


def test_another_path_is_another_finding(known, work, capsys):
    (work / "b.tiny").write_text(CLOCK)
    (finding,) = result(capsys, "--baseline", "known.json")[1]["findings"]
    assert finding["path"] == "b.tiny"


def test_it_holds_from_any_folder_and_however_the_path_is_given(known, work, capsys, monkeypatch):
    assert result(capsys, work / "a.tiny", "--baseline", "known.json")[0] == 0
    (work / "sub").mkdir()
    monkeypatch.chdir(work / "sub")
    assert result(capsys, "..", "--baseline", "../known.json")[0] == 0


def test_entries_that_match_nothing_are_said(known, work, capsys):
    (work / "a.tiny").write_text(FIXED)
    assert result(capsys, "--baseline", "known.json")[1]["stale_baseline"] == [
        "a.tiny: test-clock",
        "a.tiny: test-identity",
    ]
    (work / "b.tiny").write_text(FIXED)
    assert result(capsys, "b.tiny", "--baseline", "known.json")[1]["stale_baseline"] == []
    one = result(capsys, "--baseline", "known.json", "--select", "test-clock")[1]
    assert one["stale_baseline"] == ["a.tiny: test-clock"]


def test_entries_of_other_folders_are_not_stale_in_a_call_from_below(
    known, work, tmp_path, capsys, monkeypatch
):
    (work / "sub").mkdir()
    (work / "sub" / "b.tiny").write_text(FIXED)
    monkeypatch.chdir(work / "sub")
    assert result(capsys, "--baseline", "../known.json")[1]["stale_baseline"] == []
    monkeypatch.chdir(tmp_path)
    assert result(capsys, work / "sub", "--baseline", known)[1]["stale_baseline"] == []
    (work / "a.tiny").unlink()
    assert len(result(capsys, work / "sub", "--baseline", known)[1]["stale_baseline"]) == 2


def test_a_known_finding_that_a_comment_silences_is_not_stale(known, work, capsys):
    (work / "a.tiny").write_text("{# kvaudit: ignore[KV801] #}\n" + CLOCK + "{user}\n" + FIXED * 4)
    document = result(capsys, "--baseline", "known.json")[1]
    assert (document["suppressed"], document["in_baseline"]) == (1, 1)
    assert document["stale_baseline"] == []


def test_the_configuration_names_one(known, work, capsys, monkeypatch):
    (work / "kvaudit.toml").write_text("[lint]\nbaseline = 'known.json'\n")
    (work / "sub").mkdir()
    assert result(capsys)[0] == 0
    assert result(capsys, "--isolated")[0] == 1
    assert result(capsys, "--isolated", "--baseline", "known.json")[0] == 1
    assert result(capsys, "--write-baseline", "other.json")[1]["in_baseline"] == 2
    monkeypatch.chdir(work / "sub")
    assert result(capsys, "..")[0] == 0


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": 1, "findings": [{"rule": 1}]}', '{"findings": 3}', "\xff"]
)
def test_what_is_no_baseline_is_a_sentence(work, capsys, text):
    (work / "a.tiny").write_text(CLOCK)
    (work / "known.json").write_text(text, "latin-1")
    code, out, err = call(capsys, "--baseline", "known.json")
    assert (code, out) == (2, "")
    assert "is no baseline; make it with" in err


def test_a_baseline_of_another_schema_is_a_sentence(work, capsys):
    (work / "known.json").write_text('{"schema": 2, "findings": []}')
    assert "of schema 2" in call(capsys, "--baseline", "known.json")[2]


def test_a_finding_in_a_very_long_line_is_known_by_what_is_near_it():
    def fingerprints(text, times=1):
        source = Source("p.xml", text)
        found = Finding(
            code="KV1",
            rule="r",
            severity=Severity.ERROR,
            evidence=Evidence.NAME,
            source=source,
            span=Span(text.index("<here"), text.index("<here") + 5),
            message="",
        )
        return {found.fingerprint(0) for _ in range(times)}

    near = "a " * 1_000 + "<here>" + " b" * 1_000
    began = time.process_time()
    assert fingerprints("x" * 3_000_000 + near + "y" * 3_000_000, times=3_000) == fingerprints(near)
    assert time.process_time() - began < 3
    assert fingerprints(near) != fingerprints(near.replace("a a <", "a b <"))
    assert (
        fingerprints("\n  <here>  z\n") == fingerprints("<here>   z\n\n") != fingerprints("<here>")
    )
