"""Each check of a log fires on its own fault, says so once, and is silent on a sound log."""

from dataclasses import replace

import numpy as np
import pytest

from kvaudit.analyzers.log_checks.facts import UNKNOWN, Modelled, Seen
from kvaudit.analyzers.log_checks.run import log_checks, other_notes
from kvaudit.core.requests import Request
from kvaudit.core.summaries import Note

SYSTEM = {"role": "system", "content": "Be brief."}


def turn(session, number, **more):
    """Request ``number`` of a session of which all earlier turns stand in the history."""
    history = [SYSTEM]
    for n in range(number):
        history.append({"role": "user", "content": f"question {session}.{n}"})
        history.append({"role": "assistant", "content": f"answer {session}.{n}"})
    history.append({"role": "user", "content": f"question {session}.{number}"})
    start = 60.0 * number + session
    return Request(
        id=f"{session}/{number}",
        session=str(session),
        arrived_s=start,
        finished_s=start + 1,
        messages=history,
        response=f"answer {session}.{number}",
        **more,
    )


def conversations(sessions=12, turns=5):
    """A sound log: prompts of 1,000 tokens and 500 more a turn, of which the earlier are hits."""
    log = []
    for number in range(turns):
        for session in range(sessions):
            prompt = 2000 + 500 * number
            log.append(
                turn(
                    session,
                    number,
                    prompt_tokens=prompt,
                    cached_tokens=prompt - 500 if number else 0,
                    output_tokens=100,
                    ttft_s=0.05 + (500 if number else 2000) / 10_000,
                )
            )
    return log


def modelled(log, **changes):
    counted = np.array([request.prompt_tokens or UNKNOWN for request in conversations()], np.int64)
    hits = np.full(60, 2000, np.int64)
    made = Modelled(counted=counted, hit_rate=0.7, possible_rate=0.75, hits=hits, bounded=False)
    return replace(made, **changes)


def found(log, model=None):
    seen = Seen(log)
    assert list(seen) == list(log)
    return {each.check: each for each in log_checks(seen.facts(), model or modelled(log), [])}


def changed(log, where=lambda request: True, **changes):
    def of(request):
        return {
            name: value(request) if callable(value) else value for name, value in changes.items()
        }

    return [replace(request, **of(request)) if where(request) else request for request in log]


def is_later(request):
    return bool(request.cached_tokens)


def test_a_sound_log_has_nothing_wrong():
    assert found(conversations()) == {}
    assert log_checks(Seen([]).facts(), None, []) == []


def test_more_cached_than_prompt_tokens():
    log = changed(conversations(), lambda r: r.id in ("1/2", "3/4"), cached_tokens=9000)
    assert found(log)["cached-over-prompt"].count == 2


def test_prompt_tokens_without_the_cached_ones():
    log = changed(
        conversations(), is_later, prompt_tokens=lambda r: r.prompt_tokens - r.cached_tokens
    )
    assert found(log)["prompt-without-cached"].count == 48
    # Anthropic's counts leave out what was written as well.
    written = changed(
        conversations(),
        is_later,
        prompt_tokens=20,
        cache_write_5m_tokens=lambda r: r.prompt_tokens - r.cached_tokens - 20,
    )
    assert found(written)["prompt-without-cached"].count == 48


def test_cached_tokens_counted_twice():
    log = changed(
        conversations(), is_later, prompt_tokens=lambda r: r.prompt_tokens + r.cached_tokens
    )
    assert found(log)["cached-counted-twice"].count == 48


def test_another_tokenizer_is_no_double_counting():
    log = changed(
        conversations(),
        prompt_tokens=lambda r: 2 * r.prompt_tokens,
        cached_tokens=lambda r: 2 * r.cached_tokens,
    )
    assert found(log) == {}
    # Half of it cached: against unscaled texts that would look like counting twice.
    half = changed(log, is_later, cached_tokens=lambda r: r.prompt_tokens // 2)
    assert "cached-counted-twice" not in found(half)


def test_tokens_that_were_read_and_written():
    log = changed(conversations(), is_later, cache_write_5m_tokens=600)
    assert found(log)["read-and-written"].count == 48
    fitting = changed(conversations(), is_later, cache_write_5m_tokens=500)
    assert found(fitting) == {}


def test_rows_that_are_there_twice():
    log = conversations()
    copied = [*log, log[7], replace(log[8], id="retried")]
    assert found(copied)["duplicate-rows"].count == 2
    # The same prompt again, at another time, is another request.
    again = [replace(r, id=f"again {r.id}", arrived_s=r.arrived_s + 7) for r in log]
    assert "duplicate-rows" not in found([*log, *again])
    # And of hashed prompts at one coarse time nothing is known.
    blocks = [Request(id=str(n), arrived_s=1.0, block_ids=(1, 2)) for n in range(3)]
    assert "duplicate-rows" not in found(blocks)


def test_turns_that_the_log_lacks():
    log = [r for r in conversations() if r.id not in ("2/1", "3/3", "4/4")]
    assert found(log)["missing-turns"].count == 2  # the last turn of a session leaves no trace
    # Examples in a first request are nobody's turns.
    examples = [{"role": "user", "content": "1+1"}, {"role": "assistant", "content": "2"}] * 2
    shown = [Request(id=str(n), messages=[SYSTEM, *examples, SYSTEM]) for n in range(9)]
    assert found(shown) == {}


def test_parallel_calls_put_together_are_no_missing_turns():
    user = [{"role": "user", "content": f"part {n}"} for n in range(3)]
    said = [{"role": "assistant", "content": f"result {n}"} for n in range(3)]
    apart = [Request(id=str(n), messages=[user[n]], response=f"result {n}") for n in range(3)]
    history = [user[0], said[0], user[1], said[1], user[2], said[2]]
    whole = Request(id="whole", messages=[*history, {"role": "user", "content": "compare"}])
    assert found([*apart, whole]) == {}
    unanswered = [replace(request, response=None) for request in apart]
    assert found([*unanswered, whole]) == {}
    assert found([apart[0], whole])["missing-turns"].count == 2


def test_a_log_without_times_that_is_newest_first():
    log = changed(conversations(), arrived_s=None, finished_s=None)
    assert found(log) == {}
    assert found(log[::-1])["reversed-order"].count == 48
    assert "reversed-order" not in found(conversations()[::-1])  # times put it right


def test_a_reported_rate_that_the_texts_cannot_give():
    log = conversations()
    assert "above" in str(found(log, modelled(log, possible_rate=0.3)))
    warm = changed(log, cached_tokens=lambda r: r.prompt_tokens - 100)
    check = found(warm)["reported-above-possible"]
    assert check.count == 60
    assert "75.0% at most" in check.message
    assert "warm" in check.message
    # A few requests that report are not the log's rate.
    few = changed(warm, lambda r: r.session != "1", cached_tokens=None)
    assert found(few) == {}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"cached_tokens": 0}, "prefix caching is off"),
        ({"cached_tokens": lambda r: 1024 if r.cached_tokens else 0}, "provider's"),
        ({"cached_tokens": lambda r: 400 if r.cached_tokens else 0}, "unbounded: --capacity"),
    ],
)
def test_a_reported_rate_far_below_the_modelled_has_likely_reasons(change, reason):
    log = conversations()
    check = found(changed(log, **change), modelled(log, hit_rate=0.74))["reported-below-modelled"]
    assert reason in check.message


def test_no_hits_where_no_prefix_is_long_enough_for_a_provider_say_so():
    log = changed(conversations(), cached_tokens=0)
    check = found(log, modelled(log, hits=np.full(60, 900)))["reported-below-modelled"]
    assert "1,024 tokens from which providers cache" in check.message
    # And a model that hits little itself is no measure.
    assert found(log, modelled(log, hit_rate=0.2)) == {}


def test_what_a_provider_does_not_count_is_no_shortfall():
    log = changed(conversations(), cached_tokens=lambda r: 1024 if r.id == "1/1" else 0)
    assert "reported-below-modelled" in found(log)
    # Were nearly all modelled hits below the minimum, a provider would report as little.
    short = np.full(60, 1000)
    short[0] = 1100
    assert found(log, modelled(log, hits=short)) == {}


def test_turns_that_hit_only_the_earlier_prompt_say_so():
    log = changed(
        conversations(),
        cached_tokens=lambda r: (
            max((r.prompt_tokens - 500) // 16 * 16, 0) if r.cached_tokens else 0
        ),
    )
    check = found(log, modelled(log, hit_rate=0.99, possible_rate=0.99))["reported-below-modelled"]
    assert "generated tokens are not reused" in check.message


def test_misses_after_a_pause_are_told_from_the_others():
    turns = conversations(sessions=40, turns=3)
    turns = changed(turns, ttft_s=None)
    late = changed(turns[80:], arrived_s=lambda r: 10.0 * r.arrived_s, cached_tokens=0)
    seen = Seen([*turns[:80], *late])
    list(seen)
    model = Modelled(
        counted=np.full(120, UNKNOWN, np.int64),
        hit_rate=0.9,
        possible_rate=0.9,
        hits=np.zeros(120, np.int64),
        bounded=True,
    )
    (check,) = log_checks(seen.facts(), model, [])
    assert "entries expire" in check.message
    assert "unbounded" not in check.message


def test_hits_that_took_as_long_as_misses():
    def log(seconds_a_hit):
        return [
            replace(
                turn(n, 0, prompt_tokens=3000, cached_tokens=2900 if n % 2 else 0),
                ttft_s=(seconds_a_hit if n % 2 else 0.4) + n / 1e4,
            )
            for n in range(60)
        ]

    assert found(log(0.39), modelled(None, hit_rate=None))["hits-without-speed"].count == 30
    assert found(log(0.1), modelled(None, hit_rate=None)) == {}


def test_what_the_reader_says_of_the_log_becomes_a_check_and_is_said_once():
    truncated = Note(topic="truncated-prompt", text="3 requests are cut", count=3)
    order = Note(topic="order", text="in order of arrival", count=1)
    over = Note(topic="cached-over-prompt", text="said by a check", count=1)
    (check,) = log_checks(Seen([]).facts(), None, [truncated, order, over])
    assert (check.check, check.count, check.message) == ("truncated-prompt", 3, truncated.text)
    assert other_notes([truncated, order, over]) == [order]
