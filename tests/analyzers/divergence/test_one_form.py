"""Texts in one spelling, and examples in one order, however the log writes them."""

import itertools
import random

import pytest

from kvaudit.analyzers.divergence.repairs.one_form import OneExampleOrder, OneSpelling
from kvaudit.core.requests import Request

RULES = ["1. Sag, was du tust.", "2. Frag nach, wenn etwas fehlt.", "3. Nenne keinen Preis."]
EXAMPLES = [f"Frage: Was kostet Nummer {n}?\nAntwort: Das weiß der Laden {n}." for n in "abcd"]


def prompt(text):
    return Request(id="r", prompt=text)


def drifted(text, space, number):
    """The text with some other blank in place of one, and an invisible character at an end."""
    words = text.split(" ")
    at = number % (len(words) - 1)
    return (
        " ".join(words[:at]) + (" " if at else "") + words[at] + space + " ".join(words[at + 1 :])
    )


@pytest.mark.parametrize("space", ["\u00a0", "  ", "\t", "\u2003", " \u200b"])
def test_a_raw_prompt_with_another_question_each_time_is_spelled_in_one_way(space):
    rules = "\n".join(RULES)
    texts = [drifted(rules, space, n) for n in range(8)] + [rules]
    log = [prompt(f"{text}\n\nFrage: {n}?") for n, text in enumerate(texts)]
    mended = [OneSpelling(log).mend(request).prompt for request in log]
    assert len({text.partition("\n\n")[0] for text in mended}) == 1
    assert [text.rpartition("Frage: ")[2] for text in mended] == [f"{n}?" for n in range(9)]


def test_empty_lines_and_line_ends_are_spelling_too():
    log = [
        prompt(end.join(RULES) + f"\n\nFrage {n}") for n, end in enumerate(("\n", "\r\n", "\n\n"))
    ]
    spelling = OneSpelling(log)
    assert {spelling.mend(r).prompt[:-1] for r in log} == {"\n".join(RULES) + "\n\nFrage "}


def test_indentation_that_all_have_stays():
    text = "def f(x):\n    return x\n\n\nprint(f(1))"
    log = [prompt(text), prompt(text + "\nmore")]
    assert OneSpelling(log).mend(log[0]).prompt == text


@pytest.mark.parametrize("between", ["\n", "\n\n"])
def test_examples_in_one_paragraph_or_in_several_get_one_order(between):
    orders = list(itertools.permutations(EXAMPLES))
    random.Random(0).shuffle(orders)
    order = OneExampleOrder()
    mended = [
        order.mend(
            prompt(f"Beispiele:{between}{between.join(each)}\n\nRegeln.\n\nFrage: {n}?")
        ).prompt
        for n, each in enumerate(orders)
    ]
    assert len({text.rpartition("\n\n")[0] for text in mended}) == 1
    assert [text.rpartition(": ")[2] for text in mended] == [f"{n}?" for n in range(len(orders))]
    assert all(example in mended[0] for example in EXAMPLES)


@pytest.mark.parametrize("between", ["\n", "\n\n"])
def test_the_question_that_is_asked_stays_last_where_it_was_met_before(between):
    order = OneExampleOrder()
    order.mend(prompt(between.join([*EXAMPLES[:2], "Frage: Wann?\nAntwort:"])))
    later = order.mend(prompt(between.join([*EXAMPLES[2:], "Frage: Wann?\nAntwort:"]))).prompt
    assert later.endswith(f"{between}Frage: Wann?\nAntwort:")
