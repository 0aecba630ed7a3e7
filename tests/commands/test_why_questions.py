"""The newest question in front of the rules: named, though nothing repeats it, and mended."""

from random import Random

import pytest
from test_why import called, lost, written

from kvaudit.core.why import Cause

WORDS = [
    "tent",
    "lamp",
    "chair",
    "kettle",
    "ladder",
    "mirror",
    "carpet",
    "drawer",
    "helmet",
    "basket",
]


def question(random):
    return f"Where do I send the {random.choice(WORDS)} that I got in {random.randrange(999)}?"


def log(label, *, raw, turns, share=1.0, requests=60):
    """Conversations whose newest question stands in front of the rules, in a share of requests."""
    random, rules = Random("log"), Random("rules")
    fixed = "\n".join(f"{n}. Say {rules.choice(WORDS)} {rules.random():.9f}." for n in range(40))
    for n in range(requests):
        if n % turns == 0:
            past = []
        asked, first = question(random), random.random() < share
        head = f"{label}: {asked}\n\n{fixed}" if first else fixed
        tail = "Please answer." if first else asked
        messages = [
            {"role": "system", "content": head},
            *past,
            {"role": "user", "content": tail},
        ]
        said = "\n".join(m["content"] for m in past)
        text = f"{head}\n\n{said}\n\n{tail}"
        yield {
            "id": str(n),
            "session": str(n // turns),
            **({"prompt": text} if raw else {"messages": messages}),
        }
        past += [
            {"role": "user", "content": asked},
            {"role": "assistant", "content": f"To {random.choice(WORDS)} {random.random()}."},
        ]


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize(
    ("label", "turns", "share"),
    [("Question", 1, 1.0), ("Frage", 4, 1.0), ("问题", 1, 0.4), ("User query", 4, 0.4)],
)
def test_a_question_that_says_so(capsys, tmp_path, label, turns, share, raw):
    rows = list(log(label, raw=raw, turns=turns, share=share))
    report = called(capsys, written(tmp_path / "log.jsonl", rows))
    found = lost(report)
    assert found[Cause.USER_TEXT_FIRST] >= 0.95 * sum(found.values())


def test_examples_drawn_anew_are_no_question(capsys, tmp_path):
    random = Random("examples")
    pool = [f"Question: {question(random)}\nAnswer: {random.random()}" for _ in range(30)]
    rules = "\n".join(f"{n}. Say {random.random():.9f}." for n in range(40))
    rows = [
        {"id": str(n), "messages": [
            {"role": "system", "content": "\n\n".join([*random.sample(pool, 3), rules])},
            {"role": "user", "content": question(random)},
        ]}
        for n in range(40)
    ]  # fmt: skip
    assert Cause.USER_TEXT_FIRST not in lost(called(capsys, written(tmp_path / "log.jsonl", rows)))
