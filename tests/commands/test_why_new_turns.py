"""`kvaudit why` counts no new turn of a conversation as lost, whatever phrases it is made of."""

from random import Random

from test_why import RULES, called, computed, lost, written

from kvaudit.core.why import Cause

KEPT = 6
FRAMES = (
    "Thank you for asking. The {} is under warranty, and the desk in {} will call you about it.",
    "No problem, the {} leaves tomorrow and will be in {} two days later, free of charge.",
    "That can be done. Please keep the box of the {}, use the label to {}, and you are paid soon.",
)


def said(number, sentences):
    """What is said in phrases that others of the conversation are made of, too."""
    random = Random(number)
    return " ".join(
        random.choice(FRAMES).format(
            f"thing {random.randrange(500)}", f"town {random.randrange(9)}"
        )
        for _ in range(sentences)
    )


def log(*, summed_up=False, clock=False):
    for number in range(20):
        history = []
        for turn in range(8):
            asked = {"role": "user", "content": said(100 * number + turn, 1)}
            sent = [*history, asked]
            if summed_up and len(history) > KEPT:
                summary = f"Summary: {said(7000 + 100 * number + turn, 2)}"
                sent = [{"role": "user", "content": summary}, *history[-KEPT:], asked]
            time = f"It is 10:{number:02}:{7 * turn:02}.\n" if clock else ""
            system = {"role": "system", "content": f"{time}{RULES}"}
            yield {
                "id": f"{number}.{turn}",
                "session": f"s{number}",
                "messages": [system, *sent],
            }
            answer = said(9000 + 100 * number + turn, 8)
            history = [*history, asked, {"role": "assistant", "content": answer}]


def test_what_a_summary_keeps_from_being_shared_is_named(tmp_path, capsys):
    sound = called(capsys, written(tmp_path / "sound.jsonl", log()))
    report = called(capsys, written(tmp_path / "log.jsonl", log(summed_up=True)))
    cost = computed(report) - computed(sound)
    found = lost(report)
    assert set(found) == {Cause.HISTORY_TRIMMED}
    # The newest answer is new, in whatever phrases it is.
    assert 0.95 * cost <= found[Cause.HISTORY_TRIMMED] <= 1.05 * cost


def test_what_a_clock_keeps_from_being_shared_ends_with_the_last_request(tmp_path, capsys):
    sound = called(capsys, written(tmp_path / "sound.jsonl", log()))
    report = called(capsys, written(tmp_path / "log.jsonl", log(clock=True)))
    cost = sound["hit_tokens"] - report["hit_tokens"]
    found = lost(report)
    assert set(found) == {Cause.SUB_DAY_CLOCK}
    assert 0.98 * cost <= found[Cause.SUB_DAY_CLOCK] <= 1.06 * cost
