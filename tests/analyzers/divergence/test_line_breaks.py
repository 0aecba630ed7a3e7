"""Where lines and paragraphs of a prompt end, in tokens that hold newlines and text."""

import numpy as np

from kvaudit.analyzers.divergence.line_breaks import LineBreaks

MANY, MORE = "\n" * 9, "e" + "\n" * 16
WORDS = ["a", "b.\n\n", "\n", "c\n", " ", "\n\n", "d", MANY, MORE]


class Words:
    """A vocabulary of a few tokens."""

    def decode(self, ids):
        return "".join(WORDS[unit] for unit in ids)


def cut(*words):
    units = np.array([WORDS.index(word) for word in words], np.int32)
    breaks = LineBreaks(Words())
    return breaks.lines(units).tolist(), breaks.paragraphs(units).tolist()


def test_a_line_ends_with_the_blank_ones_behind_it():
    assert cut("a", "\n", "\n", "c\n", "d") == ([3, 4, 5], [3, 5])


def test_a_token_may_hold_text_and_newlines():
    assert cut("a", "b.\n\n", "a", "c\n", "\n", "a") == ([2, 5, 6], [2, 5, 6])


def test_a_token_of_many_newlines_ends_a_paragraph():
    assert cut("a", MANY, "a", MORE, "d") == ([2, 4, 5], [2, 4, 5])


def test_one_newline_ends_no_paragraph():
    assert cut("a", "\n", "a", "c\n") == ([2, 4], [4])


def test_a_prompt_without_newlines_is_one_line():
    assert cut("a", " ", "d") == ([3], [3])
    assert cut() == ([], [])
