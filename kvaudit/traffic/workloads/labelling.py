"""Labelling of tickets, few-shot: the examples are part of the system text."""

from collections.abc import Iterator
from random import Random

from kvaudit.traffic.draft import Draft, Example
from kvaudit.traffic.workload import Sessions, Tenant, Turn, Workload

ENGLISH_START = (
    "Sort each ticket of {tenant} under one of the labels delivery, damage, refund, account or\n"
    "other. Answer with the label alone. These notes settle the doubtful cases:\n"
)
CHINESE_START = (
    "把{tenant}的工单归入以下标签之一：配送、损坏、退款、账户、其他。只回答标签。说明：\n"
)
ENGLISH_LABELS = ("delivery", "damage", "refund", "account", "other")
CHINESE_LABELS = ("配送", "损坏", "退款", "账户", "其他")


def deploy(tenant: Tenant, rng: Random) -> Sessions:
    """Write one tenant's instructions and examples."""
    language = tenant.language
    start = ENGLISH_START if tenant.is_english else CHINESE_START
    labels = ENGLISH_LABELS if tenant.is_english else CHINESE_LABELS
    notes = "\n".join(f"- {note}" for note in language.sentences("policy", rng, 20))
    system = start.format(tenant=tenant.name) + notes
    examples = tuple(
        Example(language.paragraph("question", rng, 2), rng.choice(labels)) for _ in range(24)
    )

    def session(rng: Random) -> Iterator[Turn]:
        ticket = language.paragraph("question", rng, rng.randint(1, 4))
        draft = Draft(system=system, examples=examples, question=ticket)
        yield Turn(draft=draft, answer=rng.choice(labels))

    return session


WORKLOAD = Workload(
    name="labelling",
    title="labelling of tickets: few-shot examples in the system text",
    model="shop-chat-small",
    temperature=0.0,
    max_tokens=8,
    deploy=deploy,
)
