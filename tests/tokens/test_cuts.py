"""Cuts are where the self-test allows them, and the self-test notices where they are not."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kvaudit.tokens.cuts import cut, cuts_are_exact
from kvaudit.tokens.tokenizer import load_tokenizer

texts = st.lists(st.sampled_from(["a", "B7", "\n", "\nx", "\n\n", "\r\n", " ", "é", "."])).map(
    "".join
)


@given(texts, st.integers(0, 20))
def test_parts_are_the_text_and_end_in_a_newline_before_a_letter(text, size):
    parts = cut(text, size)
    assert "".join(parts) == text
    for left, right in pairwise(parts):
        assert left.endswith("\n")
        assert right[0].isascii()
        assert right[0].isalnum()
        assert len(left) > size


@given(texts, texts, texts, st.integers(0, 20))
def test_texts_with_a_common_beginning_have_common_parts(head, a, b, size):
    one, other = cut(head + a, size), cut(head + b, size)
    shared = 0
    while shared < min(len(one), len(other)) and one[shared] == other[shared]:
        shared += 1
    # What comes after the common parts may differ in the part that holds the difference.
    assert sum(map(len, one[: shared + 1])) >= min(len(head), len(head + a))


def test_the_families_that_may_be_cut_pass_the_self_test():
    for name in ("cl100k_base", "o200k_base", "gpt-oss", "llama3", "qwen3", "phi4", "olmo2"):
        assert cuts_are_exact(load_tokenizer(name)), name


class NewlinesGlue:
    """A vocabulary in which a newline belongs to the letter after it."""

    cuts_at_lines = True

    def encode_batch(self, texts):
        merged = (text.replace("\nB", "\x01") for text in texts)
        return [np.array(list(map(ord, text)), np.int32) for text in merged]


def test_the_self_test_notices_a_token_across_a_cut():
    assert not cuts_are_exact(NewlinesGlue())


def test_other_vocabularies_are_not_tried():
    assert not cuts_are_exact(load_tokenizer("llama2"))
    assert not cuts_are_exact(load_tokenizer("bytes"))
