"""The code frame, as it looks on a terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kvaudit.core.console import Screen
from kvaudit.core.document import Evidence
from kvaudit.core.doubt import Doubt
from kvaudit.core.findings import OUT_OF_REACH, Related, Severity
from kvaudit.core.sources import Source, Span
from kvaudit.report.render import render

from .linted import finding, result, span_of

SCREEN = """\
error[sub-day-clock]: a clock stands before fixed text
  --> prompts/support.j2:1:7
   |
 1 | It is {{ now() }}.
   |       ^^^^^^^^^^^ changes between requests
 2 | You answer questions about invoices.
   | ------------------------------------ fixed, but out of reach
   |
   = lost: about 1,184 tokens on every request
   = help: Move it down.
   = fix: sort it [safe]
   = more: kvaudit rule sub-day-clock

3 files checked · 4 prompts · 1 error, 0 warnings, 0 info
"""


def screen(*findings, width=80, **more):
    return render("lint", result(*findings, **more), "full", Screen(width=width))


def frame(text, at, **more):
    """Return the source lines of a finding's frame and the marks under them."""
    lines = screen(finding(text, at, None, **more)).splitlines()
    return [line[5:] for line in lines if line[3:4] == "|" and line[5:]]


def test_the_screen():
    assert screen(finding(replacement="{{ day }}")) == SCREEN


def test_what_lacks_a_link_of_its_proof_says_which():
    printed = screen(finding(evidence=Evidence.NAME, doubt=Doubt.NAMED))
    assert f"= only info: {Doubt.NAMED}" in printed


def test_wide_characters_and_tabs_are_aligned():
    text, marks = frame("价格\t{{ now() }} 元\n", "{{ now() }}", scope=None)
    assert text == "价格    {{ now() }} 元"
    assert cell_len(text[: text.index("{{")]) == marks.index("^")
    assert marks.strip() == "^" * 11


def test_the_line_end_of_windows_is_no_part_of_a_line():
    assert frame("It is {{ now() }}.\r\nx", "{{ now() }}")[0] == "It is {{ now() }}."


def test_what_a_terminal_would_act_on_is_an_escape():
    assert "\\x1b[31m" in frame("\x1b[31m {{ now() }}", "{{ now() }}")[0]
    assert "\x1b" not in screen(finding(path="a\x1b[2J.j2", message="\x1b]0;x"))


def test_a_long_line_is_cut_around_the_mark():
    text, marks, *_ = frame("a " * 300 + "{{ now() }}" + " b" * 300, "{{ now() }}")
    assert text[0] == text[-1] == "…"
    assert text[marks.index("^") :].startswith("{{ now() }}")


def test_lines_in_between_are_left_out():
    text = "{{ now() }}\n" + "x\n" * 20 + "the end\n"
    lines = screen(finding(text, behind="the end")).splitlines()
    assert "..." in lines
    assert " 22 | the end" in lines


def test_another_file_has_its_own_arrow():
    other = Source("vars.py", "now = datetime.now()\n")
    step = Related(source=other, span=span_of(other, "datetime.now()"), label="reads the clock")
    shown = screen(finding(related=[step]))
    assert "  ::: vars.py:1:7" in shown
    assert "       -------------- reads the clock" in shown


def test_text_of_many_lines_is_marked_where_it_begins():
    text = "{{ now() }}.\n\n- a\nthe first line of some length\nanother line of such a length\n"
    source = Source("a.j2", text)
    behind = Related(source=source, span=Span(11, len(text)), label=OUT_OF_REACH)
    shown = screen(finding(text, behind=None, related=[behind]))
    assert " 4 | the first line of some length" in shown
    assert "another line" not in shown
    short = Related(source=source, span=Span(11, 17), label=OUT_OF_REACH)
    assert " 3 | - a" in screen(finding(text, behind=None, related=[short]))


def test_a_key_over_several_lines_is_hidden_too():
    body = "MIIEowIBAAKCAQEA1234567890abcdef"
    text = f"{{{{ now() }}}}\n-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n"
    source = Source("a.j2", text)
    behind = Related(source=source, span=span_of(source, body), label=OUT_OF_REACH)
    shown = screen(finding(text, behind=None, related=[behind]))
    assert body not in shown
    assert "*" * len(body) in shown


def test_files_skipped_for_one_reason_are_counted():
    from kvaudit.core.findings import Skipped

    skipped = [Skipped(path=f"{n}.ts", reason="it needs kvaudit[source]") for n in range(500)]
    assert "skipped  500 files: it needs kvaudit[source]" in screen(skipped=skipped)


LINES = st.text(
    st.one_of(st.characters(), st.sampled_from("\t\r\n {}价é\u0301\u200d👩🏽")), max_size=200
)


@given(LINES, LINES, LINES, st.sampled_from([40, 60, 80, 100]))
def test_no_frame_is_wider_than_the_screen(before, inside, behind, width):
    source = Source("a.j2", before + inside + behind)
    span = Span(len(before), len(before) + len(inside))
    told = finding(
        source.text or "x", at="", behind=None, message=inside or "x", severity=Severity.INFO,
        related=[Related(source=source, span=Span(0, len(before)), label=OUT_OF_REACH)],
    )  # fmt: skip
    from dataclasses import replace

    shown = screen(replace(told, source=source, span=span), width=width)
    # Sentences hold words that cannot be parted; the frame itself is what never wraps.
    for line in shown.splitlines():
        if line.lstrip(" 0123456789").startswith("|"):
            assert cell_len(line) <= width


@pytest.mark.parametrize("severity", list(Severity))
def test_colour_is_only_where_it_is_asked_for(severity):
    told = result(finding(severity=severity))
    plain = render("lint", told, "full", Screen())
    coloured = render("lint", told, "full", Screen(color=True, terminal=True))
    assert "\x1b" not in plain
    assert "\x1b[" in coloured
