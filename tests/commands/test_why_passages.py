"""Retrieved passages in front of the rules: named and mended, whatever the passages say."""

from random import Random

import pytest
from test_why import called, lost, written

from kvaudit.core.why import Cause

NOUNS, VERBS, THINGS, DOES = map(
    str.split,
    (
        "ledger harbour turbine satellite canal lantern violin monument market sundial",
        "stores checks moves repairs counts opens closes weighs paints delays",
        "仓库 港口 涡轮 果园 档案 电池 运河 灯笼 卫星 提琴",
        "保存 检查 移动 修理 统计 打开 关闭 称量 粉刷 推迟",
    ),
)


def sentence(random, chinese):
    pick, number = random.choice, random.randrange(2, 99)
    if chinese:
        first = f"{pick(THINGS)}{pick(DOES)}{pick(THINGS)}"
        return f"{first}，之后{pick(DOES)}{number}个{pick(THINGS)}。"
    first = f"the {pick(NOUNS)} {pick(VERBS)} the {pick(NOUNS)}"
    return f"On 3 March 2024 {first}, and then {pick(VERBS)} {number} {pick(NOUNS)}s. "


def passages(name, chinese, sentences, count):
    random = Random(name)
    return ["".join(sentence(random, chinese) for _ in range(sentences)) for _ in range(count)]


def log(share, *, chinese=False, raw=False, clocks=0.0, requests=90, found=3):
    """Two tenants with rules of their own; a share of the prompts has its passages first.

    Another share has a clock in front of the rules, behind the passages.

    Prompts that are one text have passages of one pool, others of each tenant's own.
    """
    random, chosen, timed = Random("traffic"), Random("fault"), Random("clock")
    rules = {
        tenant: "\n".join([f"Tenant {tenant}.", *passages(f"rules {tenant}", chinese, 1, 24)])
        for tenant in "AB"
    }
    pools = {tenant: passages("A" if raw else tenant, chinese, 3, 20) for tenant in "AB"}
    for n in range(requests):
        tenant, first = random.choice("AB"), chosen.random() < share
        block = "\n\n".join(random.sample(pools[tenant], found)) + "\n\n"
        asked = sentence(random, chinese) + "?"
        system, user = (block, asked) if first else ("", f"{block}{asked}")
        if timed.random() < clocks:
            system += f"The time is now 10:{n // 60:02}:{n % 60:02} UTC.\n"
        messages = [
            {"role": "system", "content": f"{system}{rules[tenant]}"},
            {"role": "user", "content": user},
        ]
        text = f"{system}{rules[tenant]}\n\n{user}"
        yield {"id": str(n), **({"prompt": text} if raw else {"messages": messages})}


@pytest.mark.parametrize(
    ("share", "chinese", "raw"),
    [
        (0.3, False, False),
        (1.0, False, False),
        (1.0, True, False),
        (0.3, True, True),
        (1.0, False, True),
    ],
)
def test_passages_first_in_short_prompts(share, chinese, raw, tmp_path, capsys):
    form = {"chinese": chinese, "raw": raw}
    sound = called(capsys, written(tmp_path / "sound.jsonl", log(0.0, **form)))
    report = called(capsys, written(tmp_path / "log.jsonl", log(share, **form)))
    assert lost(sound) == {}
    cost = sound["hit_tokens"] - report["hit_tokens"]
    found = lost(report)
    assert found[Cause.RETRIEVED_CONTEXT_FIRST] >= max(0.95 * cost, 0.95 * sum(found.values()))
    fixed = next(g["what_if"] for g in report["groups"])
    assert fixed["hit_rate_after"] == pytest.approx(sound["hit_rate"], abs=0.02)


def test_a_clock_behind_passages_is_a_fault_of_its_own(tmp_path, capsys):
    rate = {
        name: called(
            capsys, written(tmp_path / f"{name}.jsonl", log(**faults)), "--what-if", "none"
        )["hit_rate"]
        for name, faults in {"sound": {"share": 0}, "clock": {"share": 0, "clocks": 1.0}}.items()
    }
    path = written(tmp_path / "log.jsonl", log(1.0, clocks=1.0))
    first = called(capsys, path)["groups"][0]
    assert first["cause"] == Cause.RETRIEVED_CONTEXT_FIRST
    assert first["what_if"]["hit_rate_after"] == pytest.approx(rate["clock"], abs=0.03)
    assert first["next"]["cause"] == Cause.SUB_DAY_CLOCK
    assert first["next"]["what_if"]["hit_rate_after"] == pytest.approx(rate["sound"], abs=0.02)


def test_a_request_without_passages_is_not_parted_by_those_of_others(tmp_path, capsys):
    without = called(capsys, written(tmp_path / "passages.jsonl", log(0.3, requests=120)))
    path = written(tmp_path / "log.jsonl", log(0.3, clocks=0.3, requests=120))
    report = called(capsys, path, "--what-if", "all")
    fixed = next(g["what_if"] for g in report["groups"] if g["cause"] == Cause.SUB_DAY_CLOCK)
    assert fixed["hit_rate_after"] == pytest.approx(without["hit_rate"], abs=0.03)


def dated(first, dates, requests=100):
    """Passages in front of the rules, or not; some prompts have a date in front of all that."""
    pool, rules = passages("pool", False, 3, 24), "\n".join(passages("rules", False, 1, 24))
    random, chosen = Random("traffic"), Random("dates")
    for n in range(requests):
        block = "Retrieved documents:\n" + "\n\n".join(random.sample(pool, 3)) + "\n\n"
        date = f"Today is March {2 + n // 40}, 2026\n" if chosen.random() < dates else ""
        asked = sentence(random, False)
        front, behind = (block, "") if first else ("", block)
        yield {"id": str(n), "messages": [
            {"role": "system", "content": f"{date}{front}{rules}"},
            {"role": "user", "content": f"{behind}{asked}"},
        ]}  # fmt: skip


def test_passages_behind_a_date_are_moved_too(tmp_path, capsys):
    """Their requests part at the date, so that no pair shows where these passages begin."""
    rate = {
        name: called(capsys, written(tmp_path / f"{name}.jsonl", dated(*form)), "--what-if", "none")
        for name, form in {"date": (False, 0.3), "sound": (False, 0.0)}.items()
    }
    report = called(capsys, written(tmp_path / "log.jsonl", dated(True, 0.3)))
    first = report["groups"][0]
    assert first["cause"] == Cause.RETRIEVED_CONTEXT_FIRST
    after = first["what_if"]["hit_rate_after"]
    assert after == pytest.approx(rate["date"]["hit_rate"], abs=0.02)
    both = first["next"]["what_if"]["hit_rate_after"]
    assert both == pytest.approx(rate["sound"]["hit_rate"], abs=0.02)


def conversations(first, *, spelled=False, turns=4):
    """Prompts of one text, the history behind the rules; passages each, that are not kept.

    Turns are ``spelled``, or are words that no template has.
    """
    pool = passages("pool", False, 3, 20)
    rules = "\n".join(passages("rules", False, 1, 24))
    for n in range(12):
        said, random = Random(f"said {n}"), Random(f"found {n}")
        history = []
        for turn in range(turns):
            asked, answer = (sentence(said, False) for _ in range(2))
            block = ["\n\n".join(random.sample(pool, 2))]
            front, behind = (block, []) if first else ([], block)
            newest = ["\n\n".join([*behind, asked])]
            if spelled:
                newest = [f"User: {newest[0]}", "Assistant:"]
            text = "\n\n".join([*front, rules, *history, *newest])
            yield {"id": f"{n}.{turn}", "session": f"s{n}", "prompt": text}
            history += [f"User: {asked}", f"Assistant: {answer}"] if spelled else [asked, answer]


@pytest.mark.parametrize("spelled", [True, False])
def test_passages_are_moved_behind_the_history_of_one_text(spelled, tmp_path, capsys):
    logs = (conversations(first, spelled=spelled) for first in (False, True))
    paths = (
        written(tmp_path / name, log) for name, log in zip(("sound", "log"), logs, strict=True)
    )
    sound, report = (called(capsys, path) for path in paths)
    first = report["groups"][0]
    assert first["cause"] == Cause.RETRIEVED_CONTEXT_FIRST
    assert first["what_if"]["hit_rate_after"] == pytest.approx(sound["hit_rate"], abs=0.01)


def test_what_one_session_finds_twice_is_not_lost(tmp_path, capsys):
    """In front of the rules or behind them, it stands in other company each time."""
    pool, rules = passages("pool", False, 3, 16), "\n".join(passages("rules", False, 1, 24))

    def prompts(again):
        for n in range(12):
            own, said = Random(n).sample(pool, 9), Random(f"said {n}")
            for turn in range(4):
                block = "\n\n".join([own[turn], own[8] if again else own[turn + 4]])
                text = f"Prompt. {block}\n\n{rules}\n\nRequest: {sentence(said, False)}"
                yield {"id": f"{n}.{turn}", "session": f"s{n}", "prompt": text}

    once, twice = (
        called(capsys, written(tmp_path / f"{again}.jsonl", prompts(again)), "--what-if", "none")
        for again in (False, True)
    )
    assert twice["lost_tokens"] == pytest.approx(once["lost_tokens"], rel=0.03)


def test_what_stands_in_front_of_every_question_stays_with_it(tmp_path, capsys):
    rules, pool = ("\n".join(passages("rules", False, 1, 24)), passages("pool", False, 3, 9))

    def prompts(first):
        for n in range(40):
            block = "\n\n".join(Random(n).sample(pool, 3))
            texts = [block, rules] if first else [rules, block]
            text = "\n\n".join(
                [*texts, f"Here is the Request of today: {sentence(Random(-1 - n), False)}"]
            )
            yield {"id": str(n), "prompt": f"Prompt. {text}"}

    sound = called(capsys, written(tmp_path / "sound.jsonl", prompts(first=False)))
    report = called(capsys, written(tmp_path / "log.jsonl", prompts(first=True)))
    cost = sound["hit_tokens"] - report["hit_tokens"]
    assert lost(report)[Cause.RETRIEVED_CONTEXT_FIRST] >= 0.98 * cost
    fixed = report["groups"][0]["what_if"]
    assert fixed["hit_rate_after"] == pytest.approx(sound["hit_rate"], abs=0.015)
