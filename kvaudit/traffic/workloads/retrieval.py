"""Questions over documents: what retrieval found stands before each question.

Some documents are asked for far more often than others, and the passages come best match
first, so two prompts share a passage only where everything before it is the same too.
"""

from collections.abc import Iterator
from random import Random

from kvaudit.traffic.draft import Draft
from kvaudit.traffic.workload import Sessions, Tenant, Turn, Workload

DOCUMENTS = 400
ENGLISH_START = (
    "Answer from the passages only. Name the passage that each statement rests on, and say\n"
    "that you do not know where they are silent. These conventions hold at {tenant}:\n"
)
CHINESE_START = "只根据给出的段落回答，并注明出处；段落没有提到的，就说不知道。{tenant}的约定：\n"


def deploy(tenant: Tenant, rng: Random) -> Sessions:
    """Write one tenant's instructions and documents."""
    language = tenant.language
    start = ENGLISH_START if tenant.is_english else CHINESE_START
    rules = "\n".join(f"- {rule}" for rule in language.sentences("rule", rng, 20))
    system = start.format(tenant=tenant.name) + rules
    documents = [
        f"[{n}] {language.paragraph('fact', rng, rng.randint(8, 20))}" for n in range(DOCUMENTS)
    ]

    def session(rng: Random) -> Iterator[Turn]:
        # Squaring a uniform number makes the first documents the popular ones.
        found = {int(DOCUMENTS * rng.random() ** 2): None for _ in range(rng.randint(3, 8))}
        draft = Draft(
            system=system,
            passages=tuple(documents[n] for n in found),
            question=language.sentence("question", rng),
        )
        answer = language.paragraph("answer", rng, rng.randint(1, 4))
        yield Turn(draft=draft, answer=answer)

    return session


WORKLOAD = Workload(
    name="retrieval",
    title="questions over documents: retrieved passages before each question",
    model="shop-chat-small",
    temperature=0.2,
    max_tokens=400,
    deploy=deploy,
)
