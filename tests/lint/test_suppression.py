"""Comments that silence a rule, and what is said of wrong ones."""

import pytest

from kvaudit.analyzers.suppress import directives_of
from kvaudit.core.sources import Source

from .calls import CLOCK, result, rules

LONG = "You answer questions about invoices and quote the number every time.\n"


def read(text, path="a.py"):
    return [
        ([n.text for n in d.names], d.reason, d.lines, d.alone)
        for d in directives_of(Source(path, text))
    ]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("a.py", "# kvaudit: ignore[x] why"),
        ("a.yaml", "# kvaudit: ignore[x] why"),
        ("a.ts", "// kvaudit: ignore[x] why"),
        ("a.tsx", "/* kvaudit: ignore[x] why */"),
        ("a.go", "// kvaudit:ignore[x]: why"),
        ("a.j2", "{# kvaudit: ignore[x] why #}"),
        ("a.j2", "{#- kvaudit: ignore[x] why -#}"),
        ("a.hbs", "{{! kvaudit: ignore[x] why }}"),
        ("a.hbs", "{{!-- kvaudit: ignore[x] why --}}"),
        ("a.tmpl", "{{/* kvaudit: ignore[x] why */}}"),
        ("a.tmpl", "{{- /* kvaudit: ignore[x] why */ -}}"),
        ("a.md", "<!-- kvaudit: ignore[x] - why -->"),
    ],
)
def test_the_comment_of_each_kind_of_file(path, line):
    assert read(f"{line}\nbelow\n", path) == [(["x"], "why", (1, 2), True)]
    assert read(f"text {line}\nbelow\n", path) == [(["x"], "why", (1, 1), False)]
    (directive,) = directives_of(Source(path, f"text {line}\r\nbelow\r\n"))
    assert directive.source.text[directive.span.start : directive.span.end] == line


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.md", "# kvaudit: ignore[x] a heading"),
        ("a.md", "https://kvaudit: ignore[x]"),
        ("a.j2", "# kvaudit: ignore[x] this is prompt text"),
        ("a.py", "TEXT = '# kvaudit: ignore[x]'"),
        ("a.py", "# about kvaudit: ignore[x]"),
        ("a.py", "# kvaudit: version=3"),
        ("a.py", "# kvaudit finds nothing here"),
        ("a.py", "TEXT = '# kvaudit: disable=x'"),
        ("a.md", "<!-- kvaudit: exact[ness] is measured -->"),
    ],
)
def test_what_is_no_such_comment(path, text):
    assert read(text, path) == []


def test_several_names_and_several_lines():
    assert read("# kvaudit: ignore[a, KV001] why\n# and why not\nx = 1\n") == [
        (["a", "KV001"], "why", (1, 3), True)
    ]
    text = "{# kvaudit: ignore[a]\n   for a long\n   reason #}\nIt is {{ now }}\n"
    assert read(text, "a.j2") == [(["a"], "for a long reason", (1, 4), True)]


def test_a_comment_silences_its_line_or_the_one_below(work, capsys):
    comment = "{# kvaudit: ignore[test-clock] it is a clock #}"
    for text, reported in (
        (f"{comment}\n{CLOCK}", 0),
        (CLOCK.replace("\n", f" {comment}\n", 1), 0),
        (f"{comment}\n{comment.replace('clock]', 'identity]')}\n{CLOCK}", 1),
        (f"{comment}\n\n{CLOCK}", 2),
        (f"x {comment}\n{CLOCK}", 2),
    ):
        (work / "a.tiny").write_text(text)
        document = result(capsys, "--ignore", "unknown-suppression")[1]
        assert len(document["findings"]) == reported, text
        assert document["suppressed"] == (reported < 2)


def test_a_code_silences_too_and_only_its_own_rule(work, capsys):
    (work / "a.tiny").write_text("{# kvaudit: ignore[KV801] #}\n{user} " + CLOCK)
    document = result(capsys)[1]
    assert [f["rule"] for f in document["findings"]] == ["test-identity"]
    assert document["suppressed"] == 1


def test_above_the_statement_of_a_long_string_in_python(work, capsys):
    text = f'# kvaudit: ignore[test-clock] why\nTEXT = f"""\nrole\nIt is {{clock}}\n{LONG}"""\n'
    (work / "a.tiny.py").write_text(text)
    assert rules(capsys) == []
    (work / "a.tiny.py").write_text(text.replace("# kvaudit", "x = 1\n\n# kvaudit"))
    assert rules(capsys) == []
    behind = text.replace("# kvaudit: ignore[test-clock] why\n", "").rstrip("\n")
    (work / "a.tiny.py").write_text(f"{behind}  # kvaudit: ignore[test-clock] why\n")
    assert rules(capsys) == []
    (work / "a.tiny.py").write_text(text.replace("why\n", "why\ny = 1\n"))
    assert rules(capsys) == ["unused-suppression", "test-clock"]


@pytest.mark.parametrize(
    ("before", "behind", "silent"),
    [
        ("// kvaudit: ignore[test-clock] why\n", "", True),
        ("", " // kvaudit: ignore[test-clock] why", True),
        ("// see `a`\n// kvaudit: ignore[test-clock] why\n", "", True),
        ("// kvaudit: ignore[test-clock] why\nconst a = 1;\n", "", False),
    ],
)
def test_above_and_behind_a_template_literal(work, capsys, before, behind, silent):
    text = f"{before}const TEXT = `\nrole\nIt is {{clock}}\n{LONG}`;{behind}\n"
    (work / "a.tiny.ts").write_text(text)
    assert ("test-clock" not in rules(capsys)) is silent


def test_a_name_that_is_no_rule_is_an_error_with_the_nearest(work, capsys):
    (work / "a.tiny").write_text("{# kvaudit: ignore[test-clok] #}\n" + LONG)
    code, document = result(capsys)
    (finding,) = document["findings"]
    assert (code, finding["rule"], finding["severity"]) == (1, "unknown-suppression", "error")
    assert finding["message"].endswith("test-clok; did you mean test-clock?")
    assert (finding["line"], finding["column"], finding["end_column"]) == (1, 20, 29)


def test_a_comment_without_a_name_is_an_error(work, capsys):
    (work / "a.tiny").write_text("{# kvaudit: ignore #}\n" + CLOCK)
    assert rules(capsys) == ["unknown-suppression", "test-clock"]


@pytest.mark.parametrize(
    ("path", "comment"),
    [
        ("a.tiny.py", "# kvaudit: disable=test-clock"),
        ("a.tiny.py", "# kvaudit: disable-next-line test-clock"),
        ("a.tiny.py", "# kvaudit: ignored[test-clock] why"),
        ("a.tiny.py", "# kvaudit: ingore[test-clock] why"),
        ("a.tiny.py", "# kvaudit: ignore(test-clock)"),
        ("a.tiny.py", "# kvaudit: ignore=test-clock"),
        ("a.tiny.py", "# kvaudit: ignore: test-clock"),
        ("a.tiny.py", "# kvaudit: ignore test-clock: why"),
        ("a.tiny.py", "# kvaudit: noqa: test-clock"),
        ("a.tiny.py", "# KVAudit: Ignore[test-clock]"),
        ("a.tiny.py", "# kvaudit ignore[test-clock]"),
        ("a.tiny.ts", "// kvaudit-ignore test-clock"),
        ("a.tiny.ts", "/* kvaudit-disable-next-line test-clock */"),
        ("a.tiny", "{# kvaudit: suppress[test-clock] #}"),
        ("a.tiny", "{# kvaudit: disable=test-clock, why #}"),
        ("a.tiny", "<!-- kvaudit: skip(test-clock) -->"),
    ],
)
def test_a_spelling_of_other_linters_is_said_and_silences_nothing(work, capsys, path, comment):
    text = f"{comment}\n{CLOCK}"
    (work / path).write_text(text)
    first, second = result(capsys)[1]["findings"]
    assert (first["rule"], second["rule"]) == ("unknown-suppression", "test-clock")
    assert first["message"].endswith("write kvaudit: ignore[test-clock]")
    assert (first["line"], first["column"], first["end_column"]) == (1, 1, len(comment) + 1)


@pytest.mark.parametrize(
    "comment",
    [
        "# kvaudit: skip rate by hour",
        "# kvaudit: disabled in CI, since it found nothing",
        "# kvaudit ignores this re-check",
        "# kvaudit allows it",
    ],
)
def test_a_sentence_about_kvaudit_is_no_misspelling(work, capsys, comment):
    (work / "a.tiny.py").write_text(f"{comment}\n{LONG}")
    assert rules(capsys) == []


@pytest.mark.parametrize("comment", ["{# kvaudit: disable #}", "{# kvaudit: noqa #}"])
def test_one_that_names_no_rule_at_all(work, capsys, comment):
    (work / "a.tiny").write_text(f"{comment}\n{LONG}")
    (finding,) = result(capsys)[1]["findings"]
    assert finding["message"].endswith("write kvaudit: ignore[rule-name]")


def test_a_comment_that_silences_nothing_is_a_finding(work, capsys):
    (work / "a.tiny").write_text("{# kvaudit: ignore[test-clock, test-identity] #}\n" + CLOCK)
    (finding,) = result(capsys)[1]["findings"]
    assert (finding["rule"], finding["column"]) == ("unused-suppression", 32)


def test_a_rule_that_is_not_looked_for_is_not_unused(work, capsys):
    (work / "a.tiny").write_text("{# kvaudit: ignore[test-clock] #}\n" + LONG)
    assert rules(capsys, "--select", "test-identity,unused-suppression") == []
    assert rules(capsys, "--ignore", "test-clock") == []
    assert rules(capsys, "--ignore", "unused-suppression") == []
    assert rules(capsys) == ["unused-suppression"]


def test_reasons_can_be_asked_for(work, capsys):
    (work / "a.tiny").write_text("{# kvaudit: ignore[test-clock] #}\n" + CLOCK)
    assert rules(capsys) == []
    assert rules(capsys, "--config", "lint.require-reasons=true") == ["unexplained-suppression"]
    (work / "a.tiny").write_text("{# kvaudit: ignore[test-clock] it is one #}\n" + CLOCK)
    assert rules(capsys, "--config", "lint.require-reasons=true") == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1  # kvaudit: ignore[test-clock] gone\ny = 2\n", "x = 1\ny = 2\n"),
        ("x = 1\r\n  # kvaudit: ignore[test-clock]\r\ny = 2\r\n", "x = 1\r\ny = 2\r\n"),
        ("# kvaudit: ignore[test-clock]", ""),
        (
            "# kvaudit: ignore[test-clock, test-identity]\nIt is {clock} " + LONG,
            "# kvaudit: ignore[test-clock, test-identity]\nIt is {clock} " + LONG,
        ),
    ],
)
def test_an_idle_comment_is_taken_away(work, capsys, before, after):
    (work / "a.tiny.py").write_bytes(before.encode())
    result(capsys, "--fix")
    assert (work / "a.tiny.py").read_bytes() == after.encode()


def test_a_comment_in_a_template_is_not_taken_away_since_its_line_would_be_rendered(work, capsys):
    text = "{# kvaudit: ignore[test-clock] #}\n" + LONG
    (work / "a.tiny").write_text(text)
    assert result(capsys, "--fix")[1]["fixed"] == 0
    assert (work / "a.tiny").read_text() == text
