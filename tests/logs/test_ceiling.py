"""Texts cut at a fixed length are marked; texts that are as long by nature are not."""

import random

import pytest

from kvaudit.core.requests import Mark, Request
from kvaudit.logs.ceiling import LengthCeiling

RANDOM = random.Random(5)


def text(length):
    return "".join(RANDOM.choices("abcdefgh ", k=length))


def marked(texts):
    ceiling = LengthCeiling()
    requests = [
        Request(id=str(i), messages=[{"role": "user", "content": text}])
        for i, text in enumerate(texts)
    ]
    passed = list(ceiling.passed_on(requests))
    assert [request.id for request in passed] == [request.id for request in requests]
    assert bool(ceiling.notes()) == bool(ceiling.marked)
    return [bool(request.marks & {Mark.TRUNCATED_PROMPT}) for request in passed]


SPREAD = [text(n) for n in (40, 3000, 700, 5000, 2500, 1999, 2048, 9000, 20, 2100)]


@pytest.mark.parametrize("limit", [2048, 1000, 1023])
def test_cut_texts_are_marked(limit):
    cut = [t[:limit] for t in SPREAD]
    assert marked(cut) == [len(t) >= limit for t in SPREAD]


def test_a_cut_in_a_plain_prompt():
    ceiling = LengthCeiling()
    requests = [Request(id=str(i), prompt=t[:2048]) for i, t in enumerate(SPREAD)]
    assert sum(bool(r.marks) for r in ceiling.passed_on(requests)) == 6


def test_late_cuts_are_marked_from_when_they_are_known():
    texts = [text(100 + i) for i in range(60)] + [text(2048) for _ in range(10)]
    assert sum(marked(texts)) == 10 - 2


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param(SPREAD, id="no ceiling"),
        pytest.param([text(2048) for _ in range(20)], id="all as long"),
        pytest.param([SPREAD[6], "a", "bc", "def", "hijk"] * 5, id="one text again and again"),
        pytest.param([t[:2049] for t in SPREAD], id="not a round length"),
        pytest.param([text(n) for n in (20, 30, 40, 255, 255, 255)], id="short"),
        pytest.param([t[:2048] for t in SPREAD] + [text(9000)], id="a longer one comes"),
        pytest.param(["", "", ""], id="empty"),
    ],
)
def test_other_texts_are_not(texts):
    assert not any(marked(texts))
