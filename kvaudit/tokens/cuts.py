"""Where a long text may be cut so that its parts have the ids of the whole.

Between a newline and an ASCII letter or digit. The pre-tokenizers of the cl100k and o200k
families have no look-behind, no alternative of theirs runs on from a newline into a letter or
digit, and a left part that ends in a newline splits the same at the end of a text. This is not
so for any newline, nor before a space, nor for GPT-2's pattern. Cut parts make a memo useful
for prompts that grow, and let one giant text use all cores.
"""

from __future__ import annotations

import random
import re

from kvaudit.tokens.tokenizer import Tokenizer

CUT_FROM_CHARS = 4096
"""Shorter texts are not cut: a part costs a look-up and an entry in the memo."""
_PART_CHARS = 1024
_CUT = re.compile(r"\n(?=[A-Za-z0-9])")
_SELF_TEST_CUTS = 1000
# What stands around newlines in code, prose and logs, and what pre-tokenizers treat apart.
_FRAGMENTS = (
    *("a", "Z", "é", "中", "1", "22", " ", "  ", "\t", "\n", "\n\n", "\r\n", "\u00a0", ".", "!!"),
    *("'s", "'LL", "'", "/", "_", "😀", "\x85", "\u2028", "-", "\nB", "\n7", "\n/", "\n.", "\n "),
)


def cut(text: str, part_chars: int = _PART_CHARS) -> list[str]:
    """Cut ``text`` at safe places into parts of about ``part_chars`` characters or more.

    Depends on what stands before a place only, so texts with a common beginning have the same
    parts up to the first difference.
    """
    parts = []
    start = 0
    while found := _CUT.search(text, start + part_chars):
        parts.append(text[start : found.end()])
        start = found.end()
    parts.append(text[start:])
    return parts


def cuts_are_exact(tokenizer: Tokenizer) -> bool:
    """Whether about a thousand random texts, cut wherever `cut` may, keep their ids."""
    if not tokenizer.cuts_at_lines:
        return False
    rng = random.Random(0)
    texts = ["".join(rng.choices(_FRAGMENTS, k=40)) for _ in range(_SELF_TEST_CUTS // 3)]
    parts = [cut(text, 0) for text in texts]
    whole = tokenizer.encode_batch(texts)
    pieces = iter(tokenizer.encode_batch([part for text in parts for part in text]))
    return all(
        ids.tolist() == [id_ for _ in text for id_ in next(pieces).tolist()]
        for ids, text in zip(whole, parts, strict=True)
    )
