"""Money: the textbook errors of provider caches, each with what it costs, and what is not known.

Opus 4.8, a million tokens in dollars: input 5, read 0.50, written 6.25 or 10, output 25.
"""

import json

import pytest
from hosted_logs import END_TOKENS, EPHEMERAL, HOUR, block, replayed, request, system, user

from kvaudit.cli import run
from kvaudit.core.errors import Exit

QUESTION = 101
REST = QUESTION + END_TOKENS
"""Tokens behind the system text that are never cached."""


def hosted(tmp_path, capsys, *requests, engine="anthropic", options=()):
    report, _ = replayed(tmp_path, capsys, engine, *requests, options=options)
    assert report["savings"]["usd"] == report["hosted"]["usd_saved"]
    return report["hosted"], {note["topic"]: note["text"] for note in report["notes"]}


def dollars(**millionths):
    rates = {"input": 5.0, "read": 0.5, "write": 6.25, "hour": 10.0, "output": 25.0}
    return pytest.approx(sum(rates[name] * n for name, n in millionths.items()) / 1e6)


def test_a_cached_prefix_is_worth_what_the_list_says(tmp_path, capsys):
    log = [request(60 * n, system(2000), user(QUESTION), output_tokens=50) for n in range(10)]
    bill, _ = hosted(tmp_path, capsys, *log)
    assert bill["usd_without"] == dollars(input=10 * (2000 + REST), output=500)
    assert bill["usd_with"] == dollars(write=2000, read=9 * 2000, input=10 * REST, output=500)
    assert bill["usd_saved"] == pytest.approx(bill["usd_without"] - bill["usd_with"])
    assert bill["usd_saved_per_day"] == pytest.approx(bill["usd_saved"] * 86_400 / 540)
    assert bill["models"][0]["source"].startswith("https://platform.claude.com/")


def test_a_prefix_below_the_minimum_costs_the_full_price_and_no_error_says_so(tmp_path, capsys):
    log = [request(n, system(1000), user(QUESTION)) for n in range(5)]
    bill, notes = hosted(tmp_path, capsys, *log)
    assert bill["usd_with"] == bill["usd_without"] == dollars(input=5 * (1000 + REST))
    assert bill["below_minimum"] == 5
    assert "minimum" in notes["below-minimum"]


def test_a_fifth_marker_is_refused_and_bills_nothing(tmp_path, capsys):
    def marked(count):
        return [user(1100, fill=f"part {n} ", mark=EPHEMERAL) for n in range(count)]

    bill, notes = hosted(
        tmp_path, capsys, request(0, *marked(5)), request(1, *marked(4)), request(2, *marked(4))
    )
    assert bill["refused"] == 1
    assert bill["usd_without"] == dollars(input=2 * (4400 + END_TOKENS))
    assert bill["usd_with"] == dollars(write=4400, read=4400, input=2 * END_TOKENS)
    assert "error" in notes["refused"]


def test_a_longer_lifetime_behind_a_shorter_one_is_refused(tmp_path, capsys):
    wrong = request(0, system(1100), user(1100, mark=HOUR))
    bill, _ = hosted(tmp_path, capsys, wrong)
    assert bill["refused"] == 1


def test_a_marker_behind_a_clock_is_written_every_time_and_never_read(tmp_path, capsys):
    def at(n):
        clock = block(51, role="system", fill=f"It is 12:00:{n:02d}. ")
        rules = block(2000, fill="rules ", mark=EPHEMERAL)
        head = {"role": "system", "content": [clock, rules]}
        return request(n, head, user(QUESTION))

    bill, _ = hosted(tmp_path, capsys, *(at(n) for n in range(8)))
    assert bill["modelled"]["cached_read"] == 0
    assert bill["usd_with"] == dollars(write=8 * 2051, input=8 * REST)
    assert bill["usd_saved"] == dollars(write=-8 * 2051, input=8 * 2051)
    assert bill["usd_saved"] < 0


def test_a_gap_of_six_minutes_pays_the_write_again(tmp_path, capsys):
    log = [request(n * 360, system(2000), user(QUESTION)) for n in range(4)]
    bill, _ = hosted(tmp_path, capsys, *log, options=("--ttl", "5m,1h,keepalive"))
    assert bill["usd_with"] == dollars(write=4 * 2000, input=4 * REST)
    choices = {choice["name"]: choice for choice in bill["lifetimes"]}
    assert choices["as sent"]["usd"] == choices["5m"]["usd"] == bill["usd_with"]
    assert choices["1h"]["usd"] == dollars(hour=2000, read=3 * 2000, input=4 * REST)
    # One ping in each gap of 6 minutes, and eleven in the hour after the last request.
    assert choices["keepalive"]["pings"] == 3 + 11
    assert choices["keepalive"]["usd"] == dollars(
        write=2000, read=(3 + 14) * 2000, input=4 * REST, output=14
    )
    assert [name for name, choice in choices.items() if choice["best"]] == ["1h"]


def test_one_marker_for_the_whole_request_is_compared_where_none_is_set(tmp_path, capsys):
    turns = [user(1100, fill="a"), user(100, fill="b"), user(100, fill="c")]
    log = [request(n, *turns[: n + 1]) for n in range(3)]
    bill, notes = hosted(tmp_path, capsys, *log, options=("--ttl", "automatic"))
    assert bill["modelled"]["cached_read"] == 0
    assert "--ttl automatic" in notes["no-marker"]
    sent, automatic = bill["lifetimes"]
    assert sent["usd"] == bill["usd_with"]
    assert automatic["usd"] == dollars(write=1300, read=1100 + 1200, input=3 * END_TOKENS)
    assert automatic["best"]


def test_a_warm_up_is_left_out_of_pings_too(tmp_path, capsys):
    log = [request(n * 360, system(2000), user(QUESTION)) for n in range(4)]
    options = ("--ttl", "keepalive", "--warmup", "2")
    bill, _ = hosted(tmp_path, capsys, *log, options=options)
    assert bill["requests"] == 2
    assert bill["lifetimes"][1]["pings"] == 2 + 11


def test_a_day_is_projected_from_the_time_of_the_requests_that_count(tmp_path, capsys):
    log = [request(n * 60, system(2000), user(QUESTION)) for n in range(10)]
    bill, _ = hosted(tmp_path, capsys, *log, options=("--warmup", "5"))
    assert bill["usd_saved"] == dollars(input=5 * 2000, read=-5 * 2000)
    assert bill["usd_saved_per_day"] == pytest.approx(bill["usd_saved"] * 86_400 / 240)


def test_ids_have_no_place_for_a_mark(tmp_path, capsys):
    log = [
        {"arrived_s": n, "model": "claude-opus-4-8", "token_ids": [*range(2000)]} for n in (0, 1)
    ]
    _, notes = hosted(tmp_path, capsys, *log)
    assert "log messages" in notes["no-marker"]
    assert "automatic" not in notes["no-marker"]


def test_usage_that_cannot_be_is_not_billed(tmp_path, capsys):
    right = {"prompt_tokens": 2200, "cached_tokens": 2000, "output_tokens": 5}
    wrong = {"prompt_tokens": 2200, "cached_tokens": 20_000, "output_tokens": 5}
    log = [request(n, system(2000), user(), **u) for n, u in enumerate((right, wrong))]
    bill, _ = hosted(tmp_path, capsys, *log)
    assert bill["reported_requests"] == 1
    assert bill["usd_reported"] == dollars(input=200, read=2000, output=5)


def test_one_lifetime_alone_is_also_the_one_replayed(tmp_path, capsys):
    log = [request(n * 360, system(2000), user(QUESTION)) for n in range(2)]
    bill, _ = hosted(tmp_path, capsys, *log, options=("--ttl", "1h"))
    assert bill["usd_with"] == dollars(hour=2000, read=2000, input=2 * REST)


def test_the_logs_own_count_is_what_is_billed(tmp_path, capsys):
    log = [
        request(n, system(2000), user(QUESTION), prompt_tokens=2 * (2000 + REST), cached_tokens=c)
        for n, c in enumerate((0, 4100, 0))
    ]
    bill, _ = hosted(tmp_path, capsys, *log)
    assert bill["modelled"]["cached_read"] == 2 * 4000
    assert bill["usd_without"] == dollars(input=3 * 2 * (2000 + REST))
    # What the rules allow and the log did not read is not the prompt's fault.
    assert (bill["unexplained_tokens"], bill["surplus_tokens"]) == (4000, 100)
    assert bill["reported_requests"] == 3
    assert bill["reported"]["cached_read"] == 4100


def test_a_prompt_beyond_the_limit_of_the_list_is_billed_at_its_higher_rates(tmp_path, capsys):
    long = {"arrived_s": 0.0, "model": "gemini-2.5-pro", "token_ids": list(range(200_001))}
    bill, _ = hosted(tmp_path, capsys, long, engine="gemini")
    assert bill["usd_without"] == pytest.approx(200_001 * 2.5 / 1e6)


def test_a_model_without_a_price_gets_a_sentence_and_no_number(tmp_path, capsys):
    log = [
        request(n, system(2000), user(QUESTION), model=model)
        for n, model in enumerate(("claude-opus-4-8", "claude-opus-48"))
    ]
    bill, notes = hosted(tmp_path, capsys, *log)
    assert "did you mean claude-opus-4-8 or" in notes["no-price"]
    assert [m["usd_with"] is None for m in bill["models"]] == [False, True]
    bill, _ = hosted(tmp_path, capsys, log[1])
    assert bill["usd_with"] is bill["usd_saved"] is None


def test_a_model_may_be_asked_for_in_place_of_the_logs(tmp_path, capsys):
    log = [request(n, system(2000), user(QUESTION), model="llama") for n in range(2)]
    bill, _ = hosted(tmp_path, capsys, *log, options=("--model", "claude-opus-4-8"))
    assert bill["usd_with"] == dollars(write=2000, read=2000, input=2 * REST)


def test_nothing_marked_is_nothing_cached(tmp_path, capsys):
    log = [request(n, system(2000, mark=None), user(QUESTION)) for n in range(2)]
    bill, notes = hosted(tmp_path, capsys, *log)
    assert bill["usd_saved"] == 0
    assert "no request marks a block" in notes["no-marker"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--engine", "anthropic", "--ttl", "2h"), "known: 1h, 5m, automatic, keepalive"),
        (("--engine", "openai", "--ttl", "automatic"), "has no such lifetime"),
        (("--engine", "vllm", "--ttl", "5m"), "--engine vllm has none"),
        (("--ttl", "5m"), "has none"),
        (("--engine", "openai", "--capacity", "9blocks"), "--capacity means nothing"),
        (("--engine", "openai", "--block-size", "16"), "--block-size means nothing"),
        (("--engine", "openai", "--chat-template", "llama3"), "leave the option out"),
        (("--engine", "openai", "--engine-version", "2"), "has no versions"),
        (
            (
                "--engine",
                "antropic",
            ),
            "did you mean anthropic",
        ),
    ],
)
def test_what_a_provider_does_not_have_is_refused(tmp_path, capsys, options, said):
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps(request(0, system(2000), user())) + "\n")
    assert run(["replay", str(log), *options]) == Exit.ERROR
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err


def test_block_hashes_are_not_for_providers(tmp_path, capsys):
    log = tmp_path / "log.jsonl"
    log.write_text('{"timestamp":0,"input_length":1300,"output_length":2,"hash_ids":[0,1,2]}\n')
    assert run(["replay", str(log), "--engine", "openai"]) == Exit.ERROR
    assert "block hashes only" in capsys.readouterr().err


def test_the_screen_shows_the_bill_within_80_columns(tmp_path, capsys):
    log = [request(n * 360, system(2000), user(QUESTION)) for n in range(4)]
    replayed(tmp_path, capsys, "anthropic", *log)
    arguments = ["--engine", "anthropic", "--tokenizer", "bytes", "--ttl", "5m,1h"]
    assert run(["replay", "log.jsonl", *arguments, "--format", "full"]) == Exit.OK
    screen = capsys.readouterr().out
    for part in ("billed", "cache write", "USD, list prices", "best", "rules read 2026-10"):
        assert part in screen
    assert max(map(len, screen.splitlines())) <= 80
    assert run(["replay", "log.jsonl", *arguments, "--format", "concise"]) == Exit.OK
    assert "usd, lifetime 1h: " in capsys.readouterr().out


def test_the_screen_says_why_nothing_was_read_and_what_marking_cost(tmp_path, capsys):
    def at(n):
        clock = block(51, fill=f"It is 12:00:{n:02d}. ", mark=EPHEMERAL)
        return request(n, {"role": "system", "content": [*system(2000)["content"][:1], clock]})

    def unmarked(n):
        message = at(n)
        del message["messages"][0]["content"][0]["cache_control"]
        return message

    report, _ = replayed(tmp_path, capsys, "anthropic", *(unmarked(n) for n in range(2)))
    assert report["lost"]["not_marked"] >= 2000
    log = ["replay", str(tmp_path / "log.jsonl"), "--engine", "anthropic", "--tokenizer", "bytes"]
    run([*log, "--format", "full"])
    screen = capsys.readouterr().out
    assert "    not marked " in screen
    assert "  costs more:  0.00" in screen
    run([*log, "--format", "concise"])
    facts = capsys.readouterr().out
    assert f"not marked tokens: {report['lost']['not_marked']}" in facts
    assert "last block tokens" not in facts
