"""One place, one finding; and what counts for less in tests and examples."""

from dataclasses import replace

import pytest

from kvaudit.analyzers.arbitration import arbitrate, settled
from kvaudit.analyzers.stakes import low_stakes, of_test
from kvaudit.core.document import Document, Evidence, Origin, Position, Segment, Step, Volatility
from kvaudit.core.findings import Finding, Severity
from kvaudit.core.sources import Source, Span

SOURCE = Source("a.j2", "0123456789" * 10)


def found(code, start, severity=Severity.ERROR, *, length=2, lost=10, source=SOURCE):
    return Finding(
        code=code, rule=f"rule-{code}", severity=severity, evidence=Evidence.DATAFLOW,
        source=source, span=Span(start, start + length), message="m", lost_tokens=lost,
    )  # fmt: skip


def segment(start, volatility, block=0):
    return Segment(
        source=SOURCE, span=Span(start, start + 2), position=Position.SYSTEM, expression="x",
        origin=Origin.UNKNOWN, volatility=volatility, block=block,
    )  # fmt: skip


def document(*segments):
    return Document(source=SOURCE, kind="tiny", name="a", segments=segments)


def codes(findings):
    return [finding.code for finding in findings]


def test_of_one_block_the_most_volatile_value_is_reported_and_the_others_are_notes():
    prompt = document(
        segment(0, Volatility.IDENTITY), segment(5, Volatility.REQUEST),
        segment(10, Volatility.SESSION), segment(20, Volatility.SESSION, block=1),
    )  # fmt: skip
    warning = Severity.WARNING
    reported = settled(
        prompt,
        [
            found("KV004", 0, warning), found("KV001", 5), found("KV005", 10, warning),
            found("KV005", 20, warning),
        ],
    )  # fmt: skip
    assert [(f.code, f.span.start) for f in reported] == [("KV001", 5), ("KV005", 20)]
    assert [r.label for r in reported[0].related] == ["also rule-KV004", "also rule-KV005"]
    assert reported[1].related == ()


def test_a_note_is_told_once_where_a_value_is_written_twice():
    twice = segment(5, Volatility.SESSION)
    prompt = document(segment(0, Volatility.REQUEST), twice, twice)
    clock, session = found("KV001", 0), found("KV005", 5, Severity.WARNING)
    (reported,) = settled(prompt, [clock, session, session])
    assert [r.label for r in reported.related] == ["also rule-KV005"]


def test_values_that_change_as_often_are_both_reported():
    prompt = document(segment(0, Volatility.REQUEST), segment(5, Volatility.REQUEST))
    assert codes(settled(prompt, [found("KV001", 0), found("KV003", 5)])) == ["KV001", "KV003"]


def test_one_rule_tells_of_a_block_once():
    prompt = document(*(segment(start, Volatility.REQUEST) for start in (0, 5, 10)))
    warning = Severity.WARNING
    (kept,) = settled(prompt, [found("KV007", 0, warning), found("KV007", 5), found("KV007", 10)])
    assert kept.span.start == 5  # the gravest, and the first of those
    assert [r.span.start for r in kept.related] == [0, 10]


def test_the_order_of_what_is_found_is_part_of_the_finding_that_it_is_there():
    step = Step(source=SOURCE, span=Span(30, 32), label="searches")
    prompt = document(replace(segment(0, Volatility.TURN), trail=(step,)))
    order = found("KV107", 30, Severity.WARNING)
    assert codes(settled(prompt, [found("KV203", 0), order])) == ["KV203"]
    assert codes(settled(prompt, [found("KV203", 0, Severity.INFO), order])) == ["KV203", "KV107"]
    assert codes(settled(prompt, [found("KV203", 0), found("KV107", 40)])) == ["KV203", "KV107"]


def test_a_graver_finding_is_never_a_note():
    prompt = document(segment(0, Volatility.IDENTITY), segment(5, Volatility.REQUEST))
    kept = settled(prompt, [found("KV004", 0), found("KV001", 5, Severity.WARNING)])
    assert codes(kept) == ["KV004", "KV001"]


@pytest.mark.parametrize(
    ("code", "severity", "start", "block", "kept"),
    [
        ("KV201", Severity.ERROR, 0, 0, False),
        ("KV201", Severity.WARNING, 0, 0, True),
        ("KV201", Severity.ERROR, 30, 0, True),
        ("KV201", Severity.ERROR, 0, 1, True),
        ("KV203", Severity.ERROR, 0, 0, True),
        ("KV301", Severity.ERROR, 0, 0, True),
    ],
)
def test_layout_is_silent_behind_an_error_of_its_block(code, severity, start, block, kept):
    prompt = document(segment(start, Volatility.REQUEST), segment(10, Volatility.REQUEST, block))
    assert (code in codes(settled(prompt, [found("KV001", start, severity), found(code, 10)]))) is (
        kept
    )


def test_layout_is_silent_behind_a_warning_if_it_is_none_graver():
    prompt = document(segment(0, Volatility.REQUEST), segment(10, Volatility.REQUEST))
    clock = found("KV001", 0, Severity.WARNING)
    assert codes(settled(prompt, [clock, found("KV204", 10, Severity.WARNING)])) == ["KV001"]
    assert codes(settled(prompt, [clock, found("KV201", 10)])) == ["KV001", "KV201"]
    hint = found("KV001", 0, Severity.INFO)
    small = found("KV204", 10, Severity.INFO)
    assert codes(settled(prompt, [hint, small])) == ["KV001", "KV204"]


def test_an_observation_without_a_segment_is_silent_behind_an_error_of_the_prompt():
    prompt = document(segment(0, Volatility.REQUEST))
    assert codes(settled(prompt, [found("KV001", 0), found("KV205", 50)])) == ["KV001"]


def test_the_same_rule_at_the_same_place_is_one_finding_the_gravest():
    twice = [found("KV001", 0, Severity.WARNING, lost=99), found("KV001", 0), found("KV001", 4)]
    assert [(f.severity, f.span.start) for f in arbitrate(twice)] == [
        (Severity.ERROR, 0),
        (Severity.ERROR, 4),
    ]
    assert arbitrate(twice) == arbitrate(reversed(twice))


def test_of_rules_about_one_text_one_is_reported_and_marks_are_another_matter():
    several = [found("KV201", 0), found("KV003", 0), found("KV301", 0), found("KV302", 0)]
    assert codes(arbitrate(several)) == ["KV003", "KV301", "KV302"]
    several[1] = replace(several[1], severity=Severity.INFO)
    assert codes(arbitrate(several)) == ["KV201", "KV301", "KV302"]


def test_findings_are_in_order_of_path_and_place():
    other = Source("B.j2", SOURCE.text)
    mixed = [found("KV001", 9), found("KV001", 3), found("KV001", 5, source=other)]
    assert [(f.source.path, f.span.start) for f in arbitrate(mixed)] == [
        ("B.j2", 5),
        ("a.j2", 3),
        ("a.j2", 9),
    ]


@pytest.mark.parametrize(
    "path",
    [
        "tests/a.j2", "src/__tests__/a.ts", "Docs/prompts/a.md", "examples/x/a.jinja", "test_b.py",
        "b_test.go", "a.test.ts", "a.spec.tsx", "conftest.py", "nb/a.ipynb", "bench/a.py",
        "benchmarks/a.py", "fixtures/a.json", "tests.py",
        "tests_integ/models/a.py", "tests-unit/a.py", "integration_tests/a.ts", "a.int.test.ts",
        "a/unit_tests/b.py",
    ],
)  # fmt: skip
def test_paths_that_count_for_less(path):
    assert low_stakes(path)


@pytest.mark.parametrize(
    "path",
    [
        "a.py",
        "src/testimony/a.j2",
        "src/contests/a.py",
        "latest.py",
        "contest.py",
        "prompts/test_plan.j2",
        "docs.py",
        "",
    ],
)
def test_paths_that_count(path):
    assert not low_stakes(path)


@pytest.mark.parametrize(
    "path", ["tests/a.yaml", "e2e/profiles/a.yaml", "x/test_b.py", "bench/a.sh"]
)
def test_paths_of_tests(path):
    assert of_test(path)


@pytest.mark.parametrize(
    "path", ["examples/a.py", "docs/a.yaml", "nb/a.ipynb", "samples/a.yaml", ""]
)
def test_paths_that_are_copied(path):
    assert not of_test(path)
