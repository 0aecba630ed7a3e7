"""Customer support: long instructions a tenant, and conversations that grow by a turn at a time."""

from collections.abc import Iterator
from random import Random

from kvaudit.core.requests import Json
from kvaudit.traffic.draft import Draft, assistant, user
from kvaudit.traffic.workload import Sessions, Tenant, Turn, Workload

ENGLISH_START = (
    "You are the support assistant of {tenant}. You answer customers by chat. Follow the rules\n"
    "below in the order in which they stand, and say so when none of them applies.\n\n"
)
CHINESE_START = "你是{tenant}的客服助手，通过聊天回答客户的问题。请按顺序遵守下面的规则。\n\n"


def deploy(tenant: Tenant, rng: Random) -> Sessions:
    """Write one tenant's instructions."""
    language = tenant.language
    start = ENGLISH_START if tenant.is_english else CHINESE_START
    rules = language.sentences("rule", rng, rng.randint(40, 90))
    policy = language.paragraph("policy", rng, rng.randint(10, 30))
    system = (
        start.format(tenant=tenant.name)
        + "\n".join(f"{n}. {rule}" for n, rule in enumerate(rules, 1))
        + f"\n\n{policy}"
    )

    def session(rng: Random) -> Iterator[Turn]:
        history: tuple[Json, ...] = ()
        for _ in range(min(1 + int(rng.expovariate(0.28)), 14)):
            question = language.paragraph("question", rng, rng.randint(1, 2))
            answer = language.paragraph("answer", rng, rng.randint(2, 7))
            draft = Draft(system=system, history=history, question=question)
            yield Turn(draft=draft, answer=answer, pause_s=rng.lognormvariate(3.4, 0.8))
            history = (*history, user(question), assistant(answer))

    return session


WORKLOAD = Workload(
    name="support",
    title="customer support: multi-turn chat under long instructions",
    model="shop-chat-large",
    temperature=0.7,
    max_tokens=600,
    deploy=deploy,
)
