"""Anthropic, Bedrock and OpenAI since GPT-5.6: entries stand where a breakpoint was."""

import pytest
from hosted_logs import (
    END_TOKENS,
    EPHEMERAL,
    HOUR,
    block,
    reads,
    replayed,
    request,
    system,
    text,
    user,
)


@pytest.fixture
def read(tmp_path, capsys):
    def of(*requests, engine="anthropic", options=()):
        return reads(tmp_path, capsys, engine, *requests, options=options)

    return of


def many(blocks, *, mark_last=True):
    """One user message of numbered blocks of 60 tokens, the last one marked."""
    content = [block(60, role="user" if n == 0 else "", fill=f"block {n} ") for n in range(blocks)]
    if mark_last:
        content[-1]["cache_control"] = EPHEMERAL
    return {"role": "user", "content": content}


def test_what_stands_before_a_breakpoint_is_read_and_no_more(read):
    assert read(
        request(0, system(2000), user()),
        request(60, system(2000), user()),
        request(120, system(2000, mark=None), user()),
    ) == [0, 2000, 0]


def test_a_lifetime_begins_anew_with_every_use(read):
    times = (0, 290, 580, 581 + 300)
    assert read(*(request(t, system(2000), user()) for t in times)) == [0, 2000, 2000, 0]


def test_an_hour_outlives_a_gap_of_six_minutes(read):
    for mark, expected in ((EPHEMERAL, 0), (HOUR, 2000)):
        gap = [request(t, system(2000, mark=mark), user()) for t in (0, 360)]
        assert read(*gap) == [0, expected]


def test_a_look_back_reaches_twenty_positions(read):
    """The documented case: a conversation that adds up to twenty blocks a turn still reads."""
    assert read(
        request(0, many(30)),
        request(1, many(35)),
        request(2, many(54)),  # the entry at 35 is position 20 from the breakpoint at 54
        request(3, many(74)),  # and here that at 54 is position 21
    ) == [0, 30 * 60, 35 * 60, 0]


def test_a_second_breakpoint_bridges_what_the_look_back_does_not(read):
    marked = many(74)
    marked["content"][53]["cache_control"] = EPHEMERAL
    assert read(request(0, many(54)), request(1, marked)) == [0, 54 * 60]


def test_parallel_results_are_one_position(read):
    def turn(results, *, mark=True):
        content = [
            {"type": "tool_result", "tool_use_id": str(n), "content": text(30, fill=f"result {n} ")}
            for n in range(results)
        ]
        last = block(20, fill="and now? ", mark=EPHEMERAL if mark else None)
        return {"role": "user", "content": [*content, last]}

    first = request(0, user(1100, fill="q", mark=EPHEMERAL))
    assert read(first, request(1, user(1100, fill="q"), turn(40))) == [0, 1100]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, 3200),
        ({"tools": [{"name": "b", "cache_control": EPHEMERAL}]}, 0),
        ({"messages": [system(1100, fill="other"), user(1000, fill="u", mark=EPHEMERAL)]}, 1100),
        ({"cache_options": {"tool_choice": {"type": "any"}}}, 2200),
        ({"cache_options": {"thinking": {"type": "enabled"}}}, 2200),
    ],
)
def test_a_change_loses_what_follows_in_the_hierarchy(read, change, expected):
    # A tool of 1,100 tokens, then the system text, then the message, each marked.
    tools = [{"name": text(1100)[:-14], "cache_control": EPHEMERAL}]
    whole = request(0, system(1100), user(1000, fill="u", mark=EPHEMERAL), tools=tools)
    assert read(whole, {**whole, "arrived_s": 1, **change}) == [0, expected]


def test_an_entry_can_be_read_once_the_first_response_has_begun(tmp_path, capsys):
    sent = (0.0, 0.0, 1.5, 2.5)
    report, rows = replayed(
        tmp_path,
        capsys,
        "anthropic",
        *(request(t, system(2000), user(), ttft_s=2.0) for t in sent),
    )
    assert [row["cached_tokens"] for row in rows] == [0, 0, 0, 2000]
    assert report["lost"]["dispersed"] == 2 * 2000
    assert report["lost"]["expired"] == 0


def test_markers_of_both_lifetimes_are_billed_apart(tmp_path, capsys):
    """The documented sum: reads up to A, an hour's write up to B, five minutes' up to C."""
    first = request(0, system(1100, mark=HOUR), user(1000, fill="u", mark=EPHEMERAL))
    later = request(
        1,
        system(1100, mark=HOUR),
        user(1000, fill="u"),
        user(500, fill="v", mark=HOUR),
        user(200, fill="w", mark=EPHEMERAL),
    )
    report, _ = replayed(tmp_path, capsys, "anthropic", first, later)
    assert report["hosted"]["modelled"] == {
        "input": 2 * END_TOKENS,
        "cached_read": 2100,
        "cache_write_5m": 1000 + 200,
        "cache_write_1h": 1100 + 500,
        "output": 0,
    }


def test_one_marker_for_the_whole_request_moves_with_the_conversation(read):
    auto = {"cache_options": {"cache_control": EPHEMERAL}}
    turns = [user(1100, fill="a"), user(100, fill="b"), user(100, fill="c")]
    assert read(*(request(n, *turns[: n + 1], **auto) for n in range(3))) == [0, 1100, 1200]


def test_a_minimum_is_by_model(read):
    for model, expected in (
        ("claude-opus-5", 600),
        ("claude-opus-4-8", 0),
        ("claude-haiku-4-5", 0),
    ):
        twice = [request(t, system(600), user(), model=model) for t in (0, 1)]
        assert read(*twice) == [0, expected]


def test_checkpoints_of_converse_are_read(read):
    def converse(at_s, question, model):
        head = {"role": "system", "content": [block(1500, role="system", fill="s")]}
        head["content"].append({"cachePoint": {"type": "default"}})
        return request(at_s, head, user(fill=question), model=model)

    claude, nova = "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "amazon.nova-pro-v1:0"
    for model in (claude, nova):
        pair = converse(0, "a", model), converse(1, "b", model)
        assert read(*pair, engine="bedrock") == [0, 1500]


def test_nova_does_not_look_back(read):
    def turn(at_s, *messages, model):
        return request(at_s, *messages, model=model)

    for model, expected in (("anthropic.claude-opus-4-8", 1500), ("amazon.nova-pro-v1:0", 0)):
        first = turn(0, user(1500, fill="a", mark=EPHEMERAL), model=model)
        later = turn(1, user(1500, fill="a"), user(50, fill="b", mark=EPHEMERAL), model=model)
        assert read(first, later, engine="bedrock") == [0, expected]


def gpt(at_s, *messages, **more):
    return request(at_s, *messages, model="gpt-5.6-sol", **more)


PLAIN = {"role": "system", "content": [block(1500, role="system", fill="s")]}
OTHER = {"role": "system", "content": [block(1500, role="system", fill="x")]}
ANSWER = {"role": "assistant", "content": "Yes."}


def test_since_gpt_5_6_a_conversation_reads_up_to_its_newest_message(tmp_path, capsys):
    one, two = user(200, fill="one"), user(300, fill="two")
    report, rows = replayed(
        tmp_path,
        capsys,
        "openai",
        gpt(0, PLAIN, one),
        gpt(9, PLAIN, one, ANSWER, two),
        gpt(18, OTHER, one),  # one token of the system text differs: nothing is left
    )
    assert [row["cached_tokens"] for row in rows] == [0, 1700, 0]
    # Each writes up to its newest message; the answer is 5 tokens of it.
    assert report["hosted"]["modelled"]["cache_write_5m"] == 1700 + (5 + 300) + 1700


def test_since_gpt_5_6_the_mode_may_leave_all_to_explicit_breakpoints(read):
    explicit = {"cache_options": {"prompt_cache_options": {"mode": "explicit"}}}
    marked = {"role": "system", "content": [{**PLAIN["content"][0]}]}
    marked["content"][0]["prompt_cache_breakpoint"] = {"mode": "explicit"}
    for head, expected in ((PLAIN, 0), (marked, 1500)):
        pair = [gpt(t, head, user(200, fill=str(t)), **explicit) for t in (0, 9)]
        assert read(*pair, engine="openai") == [0, expected]


def test_since_gpt_5_6_entries_live_half_an_hour_at_least(read):
    pair = [gpt(0, PLAIN, user(fill="a")), gpt(1790, PLAIN, user(fill="b"))]
    assert read(*pair, engine="openai") == [0, 1500]
    late = [pair[0], {**pair[1], "arrived_s": 1810}]
    assert read(*late, engine="openai") == [0, 0]


def test_since_gpt_5_6_a_longer_lifetime_is_written_at_its_own_price(tmp_path, capsys):
    long = {"cache_options": {"prompt_cache_options": {"mode": "implicit", "ttl": "12h"}}}
    pair = [gpt(t, PLAIN, user(200, fill=str(t)), **long) for t in (0, 40_000)]
    report, rows = replayed(tmp_path, capsys, "openai", *pair)
    assert [row["cached_tokens"] for row in rows] == [0, 1500]
    assert report["hosted"]["modelled"]["cache_write_5m"] == 0
    assert report["hosted"]["modelled"]["cache_write_1h"] == 1700 + 200


def test_at_bedrock_every_checkpoint_needs_the_minimum_of_its_own(read):
    """The documented case: at a minimum of 1,024 the second checkpoint counts from 2,048 on."""
    model = "anthropic.claude-sonnet-4-5"
    for second, expected in ((900, 1100), (1000, 2100)):

        def sent(at_s, size=second):
            marked = (system(1100), user(size, fill="u", mark=EPHEMERAL))
            return request(at_s, *marked, model=model)

        assert read(sent(0), sent(1), engine="bedrock") == [0, expected]


HOSTILE = [
    {"cache_control": True},
    {"cache_control": {"ttl": 5}},
    {"prompt_cache_options": "explicit"},
    {"prompt_cache_options": {"ttl": ["12h"]}},
    {"prompt_cache_retention": 24},
    {"thinking": [1, {"a": None}], "reasoning": "high", "output_config": {"effort": {}}},
]


@pytest.mark.parametrize("options", HOSTILE)
@pytest.mark.parametrize("engine", ["anthropic", "openai"])
def test_options_of_any_shape_are_borne(read, engine, options):
    odd = {"role": "user", "content": ["text", 5, {"cachePoint": 1}, {"cache_control": [], "a": 1}]}
    called = {"role": "tool", "tool_calls": [7]}
    sent = [gpt(t, PLAIN, odd, called, cache_options=options) for t in (0, 1)]
    assert len(read(*sent, engine=engine)) == 2


@pytest.mark.parametrize(
    ("reason", "messages", "options"),
    [
        ("not_marked", [system(2000, mark=None), user()], {}),
        ("below_minimum", [system(1000), user()], {}),
        ("refused", [user(1100, fill=f"part {n} ", mark=EPHEMERAL) for n in range(5)], {}),
        ("parameter_change", [user(1100, mark=EPHEMERAL)], {"tool_choice": {"type": "any"}}),
    ],
)
def test_what_was_sent_before_and_not_read_has_its_reason(
    tmp_path, capsys, reason, messages, options
):
    first, later = (request(t, *messages) for t in (0, 1))
    later = {**later, "cache_options": options} if options else later
    report, rows = replayed(tmp_path, capsys, "anthropic", first, later)
    lost, ideal = report["lost"], report["ideal"]["hit_tokens"]
    assert [row["cached_tokens"] for row in rows] == [0, 0]
    assert sum(lost.values()) == report["prefix"]["computed_tokens"]
    reasons = {name for name, tokens in lost.items() if tokens >= 1000}
    assert reasons - {"first_seen"} == {reason}
    assert lost[reason] <= ideal


def test_a_parameter_that_never_changes_costs_nothing(tmp_path, capsys):
    same = {"cache_options": {"tool_choice": {"type": "any"}}}
    log = [request(t, user(1100, fill="u", mark=EPHEMERAL), **same) for t in range(3)]
    report, _ = replayed(tmp_path, capsys, "anthropic", *log)
    assert report["lost"]["parameter_change"] == 0
    assert report["prefix"]["hit_tokens"] == 2 * 1100
