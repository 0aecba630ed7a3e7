"""Made questions: the same for a plan, and what may share an answer says so."""

from collections import Counter

from kvaudit.traffic.intents import INTENTS
from kvaudit.traffic.questions import QuestionPlan, generate_questions

LOG = list(generate_questions(QuestionPlan(requests=3000)))


def test_a_longer_log_begins_with_the_shorter_one_and_another_seed_gives_another():
    assert list(generate_questions(QuestionPlan(requests=50))) == LOG[:50]
    assert list(generate_questions(QuestionPlan(requests=50, seed=1))) != LOG[:50]


def test_every_slot_stands_in_every_wording_and_answer():
    for intent in INTENTS:
        for text in (*intent.wordings, *intent.answers):
            for slot in intent.slot_names:
                assert f"{{{slot}}}" in text, (intent.name, text)


def test_a_few_topics_come_all_day_and_most_come_once():
    topics = Counter(request.answer_group for request in LOG)
    assert topics.most_common(1)[0][1] > 100
    assert sum(n == 1 for n in topics.values()) > len(topics) / 2


def test_a_topic_is_asked_in_several_ways_and_a_text_is_of_one_topic():
    by_text = {}
    for request in LOG:
        assert by_text.setdefault(request.prompt, request.answer_group) == request.answer_group
    texts = Counter(by_text.values())
    assert texts.most_common(1)[0][1] > 20
