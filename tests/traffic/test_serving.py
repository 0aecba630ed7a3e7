"""The made service: steps, lifetimes and replicas."""

import pytest

from kvaudit.traffic.serving import LIFETIME_S, Service, estimated_tokens


def prompt(text: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": text}, {"role": "user", "content": "Hello"}]


@pytest.fixture
def ask():
    service = Service(len)  # one token a character, so that counts can be read off

    def ask(text: str, *, session: str = "a", now_s: float = 0.0) -> int:
        usage = service.answer(prompt(text), (), "Hi", session=session, now_s=now_s)
        return usage.cached_tokens

    return ask


def test_a_repeated_prompt_is_cached_in_steps_of_128(ask):
    assert ask("x" * 1400) == 0
    assert ask("x" * 1400) == 1408  # 1404 + 9 tokens, all but the last, rounded down


def test_a_prompt_that_parts_within_a_message_is_cached_up_to_there(ask):
    ask("x" * 3000)
    assert ask("x" * 1400 + "y" * 1600) == 1280  # 1,402 of 3,004 tokens, in proportion


def test_short_prefixes_are_not_cached(ask):
    ask("x" * 900)
    assert ask("x" * 900) == 0


def test_a_prefix_is_forgotten_after_its_lifetime(ask):
    ask("x" * 2000)
    assert ask("x" * 2000, now_s=LIFETIME_S - 1) > 0
    assert ask("y" * 2000, now_s=2 * LIFETIME_S) == 0  # makes it look for what is stale
    assert ask("x" * 2000, now_s=2 * LIFETIME_S) == 0


def test_sessions_of_another_replica_share_nothing(ask):
    ask("x" * 2000, session="a")
    cached = {session: ask("x" * 2000, session=session) for session in "bcdefg"}
    assert 0 in cached.values()
    assert 1920 in cached.values()


def test_chinese_takes_more_tokens_a_letter():
    assert estimated_tokens("x" * 450) == 101
    assert estimated_tokens("字" * 450) == 301
