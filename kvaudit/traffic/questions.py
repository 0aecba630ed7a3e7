"""Makes a log for semantic caches: short questions that come back, word for word or in other words.

A topic is an intent with its slots filled, ``the status of order K4411``; which topics are asked
follows a power law, so that a few come all day and most come once. Two questions of one topic
may share an answer, and no others may, however alike they read: that is ``answer_group``. The
same plan gives the same bytes, and a longer log begins with the shorter one.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from kvaudit.core.requests import Request, Status
from kvaudit.traffic.generate import START_S, USERS
from kvaudit.traffic.intents import CUMULATIVE, INTENTS, Intent

OPENINGS = ("", "", "", "Hi, ", "Hello, ", "Quick question: ", "Hey, ", "Sorry to ask again, ")
CLOSINGS = ("", "", "", "", " Thanks.", " Thank you!", " Please help.", " Kind regards")
ANSWER_OPENINGS = ("", "", "Sure. ", "Of course: ")
DECODE_CHARACTERS_PER_S = 320
PREFILL_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionPlan:
    """What a log of questions holds."""

    seed: int = 0
    requests: int = 1000
    tenants: int = 4
    gap_s: float = 1.5
    """Mean seconds between two questions."""
    tail: float = 0.12
    """A topic of rank above r is asked with the chance r to the power of minus this."""
    labelled: bool = True
    """Whether requests say which of them may share an answer."""
    answered: bool = True
    """Whether the log holds the answers."""


class Topic(NamedTuple):
    """An intent with its slots filled."""

    intent: Intent
    slots: dict[str, str]

    @property
    def name(self) -> str:
        """What makes two questions the same one."""
        return " ".join((self.intent.name, *self.slots.values()))


def generate_questions(plan: QuestionPlan) -> Iterator[Request]:
    """Make the requests of a plan, in order of arrival; ``columns`` holds each one's scenario."""
    rng = Random(f"{plan.seed}/questions")
    now_s = START_S
    for number in range(plan.requests):
        topic = _topic(plan, rng)
        tenant = int(rng.random() ** 2 * plan.tenants) + 1
        user = USERS[int(rng.random() * len(USERS))]
        prompt, answer = _question(topic, rng), _answer(topic, rng)
        yield Request(
            id=f"q{number:07d}",
            arrived_s=round(now_s, 3),
            finished_s=round(now_s + PREFILL_S + len(answer) / DECODE_CHARACTERS_PER_S, 3),
            status=Status.OK,
            model="shop-chat-small",
            tenant=f"tenant-{tenant}",
            user=user,
            prompt=prompt,
            response=answer if plan.answered else None,
            answer_group=topic.name if plan.labelled else None,
            temperature=0.7,
            max_tokens=200,
            columns={"scenario": topic.intent.scenario},
        )
        now_s += rng.expovariate(1 / plan.gap_s)


def _topic(plan: QuestionPlan, rng: Random) -> Topic:
    """Draw a topic by its rank; what stands at a rank is the same for a seed."""
    rank = int((1 - rng.random()) ** (-1 / plan.tail))
    own = Random(f"{plan.seed}/topic/{rank}")
    intent = INTENTS[bisect(CUMULATIVE, own.random() * CUMULATIVE[-1])]
    return Topic(intent, {slot: own.choice(values) for slot, values in intent.slots.items()})


def _question(topic: Topic, rng: Random) -> str:
    """Ask for a topic in one of its wordings, as hurried people write."""
    text = _pick(topic.intent.wordings, rng).format(**topic.slots)
    opening, closing = _pick(OPENINGS, rng), _pick(CLOSINGS, rng)
    if opening:
        text = text[0].lower() + text[1:]
    text = opening + text + closing
    careless = rng.random()
    if careless < 0.15:
        text = text.lower()
    return text.rstrip("?.!") if 0.1 < careless < 0.25 else text


def _answer(topic: Topic, rng: Random) -> str:
    return _pick(ANSWER_OPENINGS, rng) + _pick(topic.intent.answers, rng).format(**topic.slots)


def _pick(values: tuple[str, ...], rng: Random) -> str:
    return values[int(rng.random() * len(values))]
