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


def log(share, *, chinese=False, requests=90, found=3):
    """Two tenants with rules of their own; a share of the prompts has its passages first."""
    random, chosen = Random("traffic"), Random("fault")
    rules = {
        tenant: "\n".join([f"Tenant {tenant}.", *passages(f"rules {tenant}", chinese, 1, 24)])
        for tenant in "AB"
    }
    pools = {tenant: passages(f"pool {tenant}", chinese, 3, 20) for tenant in "AB"}
    for n in range(requests):
        tenant, first = random.choice("AB"), chosen.random() < share
        block = "\n\n".join(random.sample(pools[tenant], found)) + "\n\n"
        asked = sentence(random, chinese) + "?"
        yield {"id": str(n), "messages": [
            {"role": "system", "content": f"{block if first else ''}{rules[tenant]}"},
            {"role": "user", "content": asked if first else f"{block}{asked}"},
        ]}  # fmt: skip


@pytest.mark.parametrize("chinese", [False, True])
@pytest.mark.parametrize("share", [0.1, 0.3, 1.0])
def test_passages_first_in_short_chats(share, chinese, tmp_path, capsys):
    sound = called(capsys, written(tmp_path / "sound.jsonl", log(0.0, chinese=chinese)))
    report = called(capsys, written(tmp_path / "log.jsonl", log(share, chinese=chinese)))
    assert lost(sound) == {}
    cost = sound["hit_tokens"] - report["hit_tokens"]
    found = lost(report)
    assert found[Cause.RETRIEVED_CONTEXT_FIRST] >= max(0.95 * cost, 0.95 * sum(found.values()))
    fixed = next(g["what_if"] for g in report["groups"])
    assert fixed["hit_rate_after"] == pytest.approx(sound["hit_rate"], abs=0.02)
