"""Which lines of two texts differ."""

import pytest

from kvaudit.analyzers.divergence.slots import differing_lines

INTRO = "You answer for the shop.\n"
RULES = ["1. Check the order before you answer.", "2. Say so in one short line."]


@pytest.mark.parametrize("space", [" ", "\u00a0", "  ", " \u200b"])
def test_lines_that_differ_in_white_space_are_the_same(space):
    drifted = "\n".join([RULES[0].replace(" ", space, 1), RULES[1]])
    later = f"{INTRO}It is 09:31:50.\n{drifted}"
    found = differing_lines(later, INTRO + "\n".join(RULES), len(INTRO))
    assert (found.later, found.earlier) == (["It is 09:31:50."], [])


def test_other_lines_differ():
    other = "3. Never name the price of it."
    found = differing_lines(f"{INTRO}{other}\n{RULES[1]}", INTRO + "\n".join(RULES), len(INTRO))
    assert (found.later, found.earlier) == ([other], [RULES[0]])
    assert found.after == RULES[1]


@pytest.mark.parametrize(
    ("heading", "again", "found"),
    [
        ("# Tools", "", (["It is 09:31:50."], [])),
        ("# Tools", "\n# Tools", (["It is 09:31:50.", "# Tools", "{1}"], ["# Tools", "{2}"])),
        ("--", "", (["It is 09:31:50.", "--", "{1}"], ["--", "{2}"])),
    ],
)
def test_a_short_line_counts_where_it_is_a_heading(heading, again, found):
    texts = [
        f"{INTRO}{line}{heading}\n{{{n}}}{again}" for n, line in ((1, "It is 09:31:50.\n"), (2, ""))
    ]
    lines = differing_lines(*texts, len(INTRO))
    assert (lines.later, lines.earlier) == found


def test_a_heading_within_what_both_wrote_does_not_end_it():
    texts = [
        f"{INTRO}{title}\nSteps\n{title} in full.\n{RULES[0]}" for title in ("A tear", "Two tears")
    ]
    lines = differing_lines(*texts, len(INTRO))
    assert lines.later == ["A tear", "Steps", "A tear in full."]
    assert lines.after == RULES[0]
