"""What programs read of a lint result: JSON, SARIF, GitHub, GitLab, JUnit, one line a finding."""

import json
from dataclasses import replace
from xml.etree import ElementTree

import jsonschema
import pytest

from kvaudit.commands.schema import Document, json_schema
from kvaudit.core.findings import Severity, Skipped
from kvaudit.report.formats import sarif
from kvaudit.report.render import format_names, render

from .linted import FULL, finding, result
from .sarif_shape import LOG

NAMES = ["concise", "full", "github", "gitlab", "json", "junit", "sarif"]
SECRET = "sk-proj-abcdefghijklmnop1234"


def document(given):
    made = json.loads(render("lint", given, "sarif"))
    jsonschema.validate(made, LOG)
    return made["runs"][0]


def test_the_formats_are_those_with_a_function_for_it():
    assert format_names("lint") == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_the_same_result_is_the_same_bytes_and_ends_in_a_line(name):
    assert render("lint", FULL, name) == render("lint", FULL, name)
    assert render("lint", FULL, name).endswith("\n")
    assert render("lint", result(), name).endswith("\n")


@pytest.mark.parametrize("name", NAMES)
def test_no_credential_is_ever_printed(name):
    text = f"key {SECRET} {{{{ now() }}}}\n{SECRET} You answer questions about invoices.\n"
    told = finding(text, message=f"found {SECRET}", replacement=f"{SECRET}")
    assert SECRET not in render("lint", result(told, notes=[f"said {SECRET}"]), name)


def test_json_is_what_its_schema_says():
    made = json.loads(render("lint", FULL, "json"))
    jsonschema.Draft202012Validator(json_schema(Document.LINT)).validate(made)
    assert made["counts"] == {"error": 1, "warning": 1, "info": 1}
    assert (made["suppressed"], made["in_baseline"], made["fixed"]) == (1, 1, 1)
    assert made["findings"][0]["fix"]["edits"][0]["replacement"] == "{{ day }}"
    assert made["findings"][0]["related"][0]["line"] == 2
    assert made["skipped"] == [{"path": "a.ts", "reason": "it needs kvaudit[source]"}]


def test_concise_is_one_line_a_finding():
    lines = render("lint", FULL, "concise").splitlines()
    assert lines[0] == (
        "prompts/support.j2:1:7: error[sub-day-clock] a clock stands before fixed text "
        "(about 1,184 tokens on every request)"
    )
    assert lines[3:] == [
        "a.ts: skipped: it needs kvaudit[source]",
        "note: the baseline has an entry that matches nothing: gone.j2: sub-day-clock",
        "summary: 3 files checked · 4 prompts · 1 error, 1 warning, 1 info · 1 fixed · "
        "1 suppressed · 1 in baseline · 2 not new · 1 skipped",
    ]


def test_sarif_names_rules_places_fixes_and_what_is_silenced():
    run = document(FULL)
    first, second, third, known, said = run["results"]
    assert run["tool"]["driver"]["rules"][first["ruleIndex"]]["id"] == "sub-day-clock"
    assert "⟦" not in json.dumps(run, ensure_ascii=False)
    assert [r["level"] for r in run["results"][:3]] == ["error", "warning", "note"]
    assert first["locations"][0]["physicalLocation"]["region"] == {
        "startLine": 1, "startColumn": 7, "endLine": 1, "endColumn": 18,
    }  # fmt: skip
    assert first["message"]["text"] == (
        "A clock stands before fixed text. Lost: about 1,184 tokens on every request. Move it down."
    )
    assert first["relatedLocations"][0]["message"]["text"] == "fixed, but out of reach"
    change = first["fixes"][0]["artifactChanges"][0]["replacements"][0]
    assert change["insertedContent"]["text"] == "{{ day }}"
    assert first["partialFingerprints"] == {"kvaudit/v1": "f" * 32}
    where = [r["locations"][0]["physicalLocation"]["artifactLocation"] for r in (second, third)]
    assert [w["uri"] for w in where] == ["b%20c.j2", "%C3%BC.j2"]
    assert known["suppressions"] == [{"kind": "external"}]
    assert said["suppressions"] == [{"kind": "inSource", "justification": "it is a clock"}]
    told = run["invocations"][0]["toolExecutionNotifications"]
    assert told[0]["message"]["text"] == "not checked: it needs kvaudit[source]"


def test_sarif_says_of_a_crash_that_the_run_was_no_success_and_of_an_empty_one_why():
    assert document(FULL)["invocations"][0]["executionSuccessful"] is True
    told = document(result(crashes=["a.j2: ValueError"], checked=0))["invocations"][0]
    assert told["executionSuccessful"] is False
    assert "has checked nothing" in told["toolExecutionNotifications"][0]["message"]["text"]


def test_sarif_folds_what_code_scanning_would_cut(monkeypatch):
    monkeypatch.setattr(sarif, "MOST_RESULTS", 3)
    many = [finding(severity=Severity.INFO), *[finding(path="b.j2")] * 5, finding(path="c.j2")]
    run = document(result(*many))
    texts = [r["message"]["text"] for r in run["results"]]
    assert len(texts) == 3
    assert "and 4 more in this file" in texts[0]
    assert "7 findings are folded" in json.dumps(run["invocations"])
    monkeypatch.setattr(sarif, "MOST_RESULTS", 1)
    run = document(result(*many))
    assert [r["level"] for r in run["results"]] == ["error"]
    assert "2 of them are left out, the least grave" in json.dumps(run["invocations"])


def test_github_gives_columns_only_on_one_line():
    one = finding(path="a,b:c.j2", message="100 % of\nit")
    two = finding(at="{{ now() }}.\nYou")
    lines = render("lint", result(one, two), "github").splitlines()
    assert lines[0] == (
        "::error file=a%2Cb%3Ac.j2,line=1,endLine=1,col=7,endColumn=18,title=kvaudit sub-day-clock"
        "::100 %25 of\\nit.%0ALost: about 1,184 tokens on every request.%0AMove it down."
    )
    assert lines[1].startswith("::error file=prompts/support.j2,line=1,endLine=2,title=")
    info = render("lint", result(finding(severity=Severity.INFO)), "github")
    assert info.startswith("::notice ")


def test_github_counts_files_that_were_skipped_for_one_reason():
    skipped = [Skipped(path=f"{n}.ts", reason="it needs kvaudit[source]") for n in range(500)]
    lines = render("lint", result(skipped=skipped), "github").splitlines()
    assert [line for line in lines if line.startswith("::")] == [
        "::warning title=kvaudit%3A not checked::500 files: it needs kvaudit[source]"
    ]


def test_gitlab_issues_have_what_a_merge_request_needs():
    issues = json.loads(render("lint", FULL, "gitlab"))
    assert [i["severity"] for i in issues] == ["critical", "major", "info"]
    assert issues[0]["location"] == {"path": "prompts/support.j2", "lines": {"begin": 1, "end": 1}}
    assert issues[0]["fingerprint"] == "f" * 32
    assert json.loads(render("lint", result(replace(finding(), key=None)), "gitlab"))[0][
        "fingerprint"
    ]


def test_junit_has_a_case_for_what_passed_too():
    root = ElementTree.fromstring(render("lint", FULL, "junit"))
    (suite,) = root
    assert {name: suite.get(name) for name in ("tests", "failures", "skipped")} == {
        "tests": "5",
        "failures": "2",
        "skipped": "1",
    }
    names = [(case.get("classname"), case.get("name")) for case in suite]
    assert names[-1] == ("kvaudit.quiet-rule", "3 files")
    assert names[0] == ("kvaudit.sub-day-clock", "prompts/support.j2:1:7")


def test_junit_holds_no_character_that_xml_forbids():
    root = ElementTree.fromstring(render("lint", result(finding(message="bell \x07\x00")), "junit"))
    assert root[0][0][0].get("message") == "bell \\x07\\x00"
