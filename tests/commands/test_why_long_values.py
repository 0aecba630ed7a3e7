"""`kvaudit why` moves a value to its end, however many tokens it has behind the last parting."""

from hashlib import sha512
from random import Random

import pytest
from test_why import RULES, called, written

from kvaudit.core.why import Cause


def log(*, traced):
    for n in range(80):
        tenant = "AB"[n % 2]
        trace = f"trace={sha512(str(n).encode()).hexdigest()}\n\n" if traced else ""
        prompt = f"You are the desk of tenant {tenant}.\n\n{trace}{tenant}: {RULES}\n\nCase {n}?"
        yield {"id": str(n), "prompt": prompt}


def test_a_long_id_is_moved_whole(tmp_path, capsys):
    sound = called(capsys, written(tmp_path / "sound.jsonl", log(traced=False)))
    report = called(capsys, written(tmp_path / "log.jsonl", log(traced=True)))
    group = report["groups"][0]
    assert group["cause"] == Cause.RANDOM_ID
    saved = group["what_if"]["saved_tokens"]
    assert saved == pytest.approx(sound["hit_tokens"] - report["hit_tokens"], rel=0.02)


def test_a_prompt_may_begin_with_the_end_of_a_message(tmp_path, capsys):
    rows = (
        {"id": str(n), "prompt": f"<|im_end|>\nIt is 10:{n % 60:02}:{n // 60:02}.\n{RULES}\nQ{n}?"}
        for n in range(80)
    )
    report = called(capsys, written(tmp_path / "log.jsonl", rows))
    group = report["groups"][0]
    assert group["cause"] == Cause.SUB_DAY_CLOCK
    assert group["what_if"]["hit_rate_after"] > 0.9


@pytest.mark.parametrize("raw", [False, True])
def test_a_value_inside_of_a_long_line_is_moved_without_the_rest_of_it(raw, tmp_path, capsys):
    rest = " ".join(f"Box {n * 7} is checked by the team, and then counted." for n in range(60))

    def log(values):
        for n in range(40):
            value = f"{Random(n).getrandbits(64):016x}" if values else ""
            text = f"You work on ticket {value} with the others. {rest}\nBe brief, and exact."
            asked = f"Where is box {n * 31 % 97}?"
            messages = [{"role": "system", "content": text}, {"role": "user", "content": asked}]
            said = {"prompt": f"{text}\n\n{asked}"} if raw else {"messages": messages}
            yield {"id": str(n), **said}

    sound, report = (
        called(capsys, written(tmp_path / f"{values}.jsonl", log(values)))
        for values in (False, True)
    )
    fixed = report["groups"][0]["what_if"]
    assert fixed["hit_rate_after"] == pytest.approx(sound["hit_rate"], abs=0.01)
    assert fixed["moved_tokens"] < 40 * 16
