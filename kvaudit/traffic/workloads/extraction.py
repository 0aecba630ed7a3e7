"""Extraction of fields, few-shot: the examples are earlier user and assistant messages."""

import json
from collections.abc import Iterator
from random import Random

from kvaudit.traffic.draft import Draft, Example
from kvaudit.traffic.prose import Grammar
from kvaudit.traffic.workload import Sessions, Tenant, Turn, Workload

SYSTEM = (
    "Read the letter and return one JSON object with the fields order, wish and amount. Use null\n"
    "for a field that the letter does not mention. Return nothing else. The letters of {tenant}\n"
    "follow these rules:\n"
)


def deploy(tenant: Tenant, rng: Random) -> Sessions:
    """Write one tenant's instructions and examples."""
    language = tenant.language
    rules = "\n".join(f"- {rule}" for rule in language.sentences("rule", rng, 20))
    system = SYSTEM.format(tenant=tenant.name) + rules
    examples = tuple(_letter(language, rng) for _ in range(14))

    def session(rng: Random) -> Iterator[Turn]:
        letter, fields = _letter(language, rng)
        draft = Draft(system=system, examples=examples, examples_as_turns=True, question=letter)
        yield Turn(draft=draft, answer=fields)

    return session


def _letter(language: Grammar, rng: Random) -> Example:
    """Return a letter and what is to be read from it."""
    fields = {
        "order": f"{rng.choice('ABCD')}{rng.randrange(1000, 10000)}",
        "wish": language.sentence("answer", rng),
        "amount": rng.choice((None, rng.randrange(5, 400))),
    }
    letter = f"{fields['order']}: {language.paragraph('question', rng, rng.randint(2, 5))}"
    return Example(letter, json.dumps(fields, ensure_ascii=False))


WORKLOAD = Workload(
    name="extraction",
    title="extraction of fields: few-shot examples as earlier messages",
    model="shop-chat-small",
    temperature=0.0,
    max_tokens=120,
    deploy=deploy,
)
