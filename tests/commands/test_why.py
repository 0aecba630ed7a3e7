"""`kvaudit why` as it is called: planted faults by cause, sums, formats, exit codes, bad input."""

import json
from dataclasses import replace
from uuid import NAMESPACE_URL, uuid5

import jsonschema
import pytest

from kvaudit.cli import run
from kvaudit.commands.schema import Document, json_schema
from kvaudit.core.errors import Exit
from kvaudit.core.why import Cause
from kvaudit.logs.writing.records import write_records
from kvaudit.traffic.fault import Planted
from kvaudit.traffic.generate import TrafficPlan, generate
from kvaudit.traffic.registry import all_faults

REQUESTS = 120


def made(path, *faults, requests=REQUESTS, **plan):
    planted = tuple(Planted(fault=name, share=share) for name, share in faults)
    write_records(generate(TrafficPlan(seed=3, requests=requests, faults=planted, **plan)), path)
    return str(path)


def written(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def called(capsys, *args):
    code = run(["why", *args, "--format", "json"])
    out, err = capsys.readouterr()
    assert code == Exit.OK, err
    report = json.loads(out)
    jsonschema.validate(report, json_schema(Document.WHY))
    tokens = sum(cause["tokens"] for cause in report["causes"])
    assert report["hit_tokens"] + tokens == report["prompt_tokens"]
    lost = sum(cause["lost_tokens"] for cause in report["causes"])
    assert report["lost_tokens"] == lost
    return report


def lost(report):
    return {c["cause"]: c["lost_tokens"] for c in report["causes"] if c["lost_tokens"]}


def computed(report):
    return report["prompt_tokens"] - report["hit_tokens"]


FAULTS = sorted(f.name for f in all_faults().values() if f.cause)


SOUND = {}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_a_planted_fault_costs_is_named_by_its_cause(fault, tmp_path, capsys):
    # Dates need days; and white space, and what is there or not, some requests without the fault.
    days = {"session_gap_s": 6000.0} if fault == "calendar-date" else {}
    share = 1.0 if days else 0.7
    if str(days) not in SOUND:
        SOUND[str(days)] = called(capsys, made(tmp_path / "sound.jsonl", **days))
    sound = SOUND[str(days)]
    report = called(capsys, made(tmp_path / "faulty.jsonl", (fault, share), **days))
    cause = all_faults()[fault].cause
    # A fault may make prompts longer or shorter; neither is what it keeps from being shared.
    cost = min(computed(report) - computed(sound), sound["hit_tokens"] - report["hit_tokens"])
    found = lost(report)
    beside = sum(n for name, n in found.items() if name != cause)
    assert found[cause] >= 0.95 * cost
    # What else is found is in the sound log too: tenants that share a beginning.
    assert beside <= sum(lost(sound).values()) * 1.5 + 0.05 * cost
    group = max(
        (g for g in report["groups"] if g["cause"] == cause), key=lambda g: g["lost_tokens"]
    )
    assert group["position"] == all_faults()[fault].position


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        ((("sub-day-clock", 1.0), ("shuffled-examples", 1.0)), {"sub-day-clock"}),
        ((("json-key-order", 1.0), ("random-id", 0.5)), {"random-id", "json-key-order"}),
    ],
)
def test_of_two_faults_the_first_that_parts_a_prompt_is_to_blame(
    faults, expected, tmp_path, capsys
):
    found = lost(called(capsys, made(tmp_path / "log.jsonl", *faults)))
    named = {cause for cause, tokens in found.items() if tokens > 0.02 * sum(found.values())}
    assert named == expected


@pytest.mark.parametrize(
    "faults",
    [("counter", "identity"), ("random-id", "sub-day-clock"), ("random-id", "session-value")],
)
def test_a_request_with_one_value_and_a_relative_with_another(faults, tmp_path, capsys):
    log = made(tmp_path / "log.jsonl", *((fault, 0.5) for fault in faults), tenants=2)
    found = lost(called(capsys, log))
    assert sum(found[fault] for fault in faults) >= 0.95 * sum(found.values())


def test_a_sound_log_loses_next_to_nothing(tmp_path, capsys):
    report = called(capsys, made(tmp_path / "sound.jsonl", tenants=2))
    assert lost(report) == {}


CHAT = "You help. Answer in one sentence, and name the page of the handbook it is from. "
RULES = " ".join(f"Rule {n}: do not promise what step {n + 3} forbids." for n in range(30))


def conversation(*contents, **fields):
    roles = ("user", "assistant")
    turns = [{"role": roles[n % 2], "content": c} for n, c in enumerate(contents)]
    return {"messages": [{"role": "system", "content": CHAT + RULES}, *turns], **fields}


ANSWER = " ".join(f"Step {n} is described on page {n * 7}." for n in range(20))
LETTER = " ".join(f"Line {n} of what I wrote to you before." for n in range(20))


@pytest.mark.parametrize(
    ("second", "cause"),
    [
        # The oldest turn is cut off.
        (["Q2 and more?", ANSWER + "2", "Q3 is it?"], Cause.HISTORY_TRIMMED),
        # An old message is said in other words.
        (
            ["Q1 what? (repeated)", ANSWER, "Q2 and more?", ANSWER + "2", "Q3?"],
            Cause.HISTORY_REWRITTEN,
        ),
        # What came with the newest message is not sent again.
        (["Q1 what?", ANSWER, "Q2 and more?", ANSWER + "2", "Q3?"], Cause.ENVIRONMENT_NOT_REPLAYED),
    ],
)
def test_histories(second, cause, tmp_path, capsys):
    first = ["Q1 what?", ANSWER, "Q2 and more?", ANSWER + "2"]
    if cause == Cause.ENVIRONMENT_NOT_REPLAYED:
        first = ["Q1 what?\n<environment>cwd /home/a\nbranch main</environment>", ANSWER]
        first = [first[0], ANSWER, "Q2 and more?", ANSWER + "2"]
        log = [
            conversation(first[0], id="a", session="s", arrived_s=1),
            conversation(*second, id="b", session="s", arrived_s=2),
        ]
        log[0]["messages"].append({"role": "assistant", "content": ANSWER})
        log[0]["messages"].append({"role": "tool", "content": LETTER})
        log[1]["messages"].insert(3, {"role": "tool", "content": LETTER})
    else:
        log = [
            conversation(*first, id="a", session="s", arrived_s=1),
            conversation(*second, id="b", session="s", arrived_s=2),
        ]
    report = called(capsys, written(tmp_path / "log.jsonl", log), "--show-text")
    assert set(lost(report)) == {cause}
    example = report["groups"][0]["example"]
    assert (example["request"], example["relative"]) == ("b", "a")


@pytest.mark.parametrize(
    ("values", "cause"),
    [
        (["Montag, 2. März 2026", "Dienstag, 3. März 2026"], Cause.CALENDAR_DATE),
        (["2026年3月2日 星期一", "2026年3月3日 星期二"], Cause.CALENDAR_DATE),
        (["lundi 2 mars 2026", "mardi 3 mars 2026"], Cause.CALENDAR_DATE),
        (["lunes, 2 de marzo de 2026", "martes, 3 de marzo de 2026"], Cause.CALENDAR_DATE),
        (["March 2, 2026", "March 3, 2026"], Cause.CALENDAR_DATE),
        (["15时30分20秒", "15时31分02秒"], Cause.SUB_DAY_CLOCK),
        (["3:31 PM", "3:32 PM"], Cause.SUB_DAY_CLOCK),
        (["req_8f3a91bc22", "req_77aa01cdef"], Cause.RANDOM_ID),
        (["ada@example.com", "bilal@example.org"], Cause.IDENTITY),
    ],
)
def test_values_in_several_languages(values, cause, tmp_path, capsys):
    log = [
        {"id": str(n), "messages": [
            {"role": "system", "content": f"Now: {value}.\n{RULES}"},
            {"role": "user", "content": f"Question {n}?"},
        ]}
        for n, value in enumerate(values)
    ]  # fmt: skip
    report = called(capsys, written(tmp_path / "log.jsonl", log), "--show-text")
    assert set(lost(report)) == {cause}
    group = report["groups"][0]
    assert group["template"].startswith("Now: ⟨…⟩")
    assert values[0] in group["slot"]


def test_a_number_within_a_chinese_word_is_no_id(tmp_path, capsys):
    rules = "".join(f"第{n}条：先核对送货单据再更改步骤。" for n in range(60))
    log = [
        {"id": str(n), "messages": [
            {"role": "system", "content": f"这是第{n}次请求处理\n{rules}"},
            {"role": "user", "content": "退回哪一件？"},
        ]}
        for n in range(90, 120)
    ]  # fmt: skip
    assert set(lost(called(capsys, written(tmp_path / "log.jsonl", log)))) == {"counter"}


def test_a_date_in_front_of_a_line_that_only_some_requests_have(tmp_path, capsys):
    rules = "\n".join(f"Rule {n}: look before you change step {n + 2}." for n in range(60))
    days = [f"{day}, March {n + 1}, 2026" for n, day in enumerate(("Sunday", "Monday", "Tuesday"))]
    log = [
        {"id": str(n), "messages": [
            {"role": "system", "content": f"Today is {days[n // 20]}.\n"
             + (f"Request id: {uuid5(NAMESPACE_URL, str(n))}\n" if n % 3 == 0 else "") + rules},
            {"role": "user", "content": f"What is next after {n}?"},
        ]}
        for n in range(60)
    ]  # fmt: skip
    report = called(capsys, written(tmp_path / "log.jsonl", log))
    assert set(lost(report)) == {"calendar-date", "random-id"}


def test_texts_may_hold_the_character_of_no_meaning(tmp_path, capsys):
    log = [
        {"id": str(n), "prompt": f"\0Time\0: 2026-03-02 08:00:{n:02d}\0\n" + "Look\0 first.\n" * 40}
        for n in range(20)
    ]
    path = written(tmp_path / "log.jsonl", log)
    assert set(lost(called(capsys, path, "--what-if", "all"))) == {"sub-day-clock"}
    assert run(["why", path, "--show-text", "--explain", "5"]) == Exit.OK
    out, err = capsys.readouterr()
    assert ("\0" in out, err) == (False, "")


def test_what_no_pattern_knows_is_shown_as_unclassified(tmp_path, capsys):
    log = [
        {"id": word, "messages": [
            {"role": "system", "content": f"Mood: {word} today.\n{RULES}"},
            {"role": "user", "content": f"Question {word}?"},
        ]}
        for word in ("sunny", "rainy", "dusty")
    ]  # fmt: skip
    report = called(capsys, written(tmp_path / "log.jsonl", log), "--show-text")
    assert set(lost(report)) == {"unclassified"}
    group = report["groups"][0]
    assert (group["template"], group["requests"]) == ("Mood: ⟨…⟩ today.", 2)
    assert group["example"]["a"].startswith("Mood: rainy today.")


def test_two_prompts_with_nothing_in_front_are_no_template(tmp_path, capsys):
    log = [
        {"id": f"{n}{first}", "session": f"s{n}", "prompt": f"{first}\n{RULES} {n}"}
        for n in range(8)
        for first in (f"Plan{'n' * n} the steps ahead.", f"Open{'n' * n} pages as told.")
    ]
    report = called(capsys, written(tmp_path / "log.jsonl", log), "--input-format", "record")
    assert not {"session-value", "live-state"} & set(lost(report))


def test_texts_are_shown_only_when_asked_for_and_never_secrets(tmp_path, capsys):
    log = [
        {"messages": [{"role": "system", "content": f"{line}\n{RULES}"}]}
        for line in ("Key sk-abcdefabcdef1234567890 a", "Key sk-zzzzzzabcdef1234567890 b")
    ]
    path = written(tmp_path / "log.jsonl", log)
    assert run(["why", path, "--format", "json"]) == Exit.OK
    hidden = capsys.readouterr().out
    assert "Key" not in hidden
    assert "characters, #" in hidden
    assert run(["why", path, "--format", "full", "--show-text"]) == Exit.OK
    asked = capsys.readouterr().out
    assert "Key" in asked
    assert "abcdef1234567890" not in asked


def test_what_a_small_cache_drops_is_evicted(tmp_path, capsys):
    log = [{"token_ids": [n % 3, *range(100 * (n % 3), 100 * (n % 3) + 63)]} for n in range(9)]
    path = written(tmp_path / "log.jsonl", log)
    report = called(capsys, path, "--capacity", "8blocks", "--schedule", "sequential")
    assert lost(report) == {"evicted": 6 * 48}
    assert report["engine_rule_tokens"] == 6 * 16  # the block of the last token


def test_replicas(tmp_path, capsys):
    log = [{"token_ids": list(range(64)), "arrived_s": n} for n in range(4)]
    path = written(tmp_path / "log.jsonl", log)
    report = called(capsys, path, "--instances", "2")
    assert lost(report) == {"other-replica": 48}


def test_token_logs_have_no_text_to_show(tmp_path, capsys):
    log = [{"token_ids": [n, *range(100, 400)]} for n in (1, 2, 3)]
    report = called(capsys, written(tmp_path / "log.jsonl", log))
    assert lost(report) == {"unclassified": 600}
    assert report["groups"][0]["example"]["offset_tokens"] == 0


def test_block_hashes_part_once_and_for_all(tmp_path, capsys):
    log = [{"block_ids": [1, 2, n], "block_tokens": 16} for n in (3, 4)]
    report = called(capsys, written(tmp_path / "log.jsonl", log))
    assert lost(report) == {}


def test_the_warm_up_does_not_count(tmp_path, capsys):
    path = made(tmp_path / "log.jsonl", ("random-id", 1.0), requests=40)
    report = called(capsys, path, "--warmup", "10")
    assert report["requests"] == 30


def test_a_log_far_out_of_order_gives_the_same(tmp_path, capsys):
    path = made(tmp_path / "log.jsonl", ("random-id", 1.0), requests=60)
    lines = (tmp_path / "log.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "back.jsonl").write_text("".join(reversed(lines)))
    one, other = called(capsys, path), called(capsys, "back.jsonl")
    assert (one["causes"], one["groups"]) == (other["causes"], other["groups"])


def test_same_input_same_bytes(tmp_path, capsys):
    path = made(tmp_path / "log.jsonl", ("identity", 1.0), requests=60)
    outputs = []
    for _ in range(2):
        assert run(["why", path, "--format", "json", "--output", "json:out.json"]) == Exit.OK
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1] == (tmp_path / "out.json").read_text()


@pytest.mark.parametrize("name", ["full", "concise", "github"])
def test_other_formats_say_the_cause_and_stay_on_the_screen(name, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    made(tmp_path / "log.jsonl", ("sub-day-clock", 1.0), requests=40)
    assert run(["why", "log.jsonl", "--format", name, "--show-text"]) == Exit.OK
    out = capsys.readouterr().out
    assert "sub-day-clock" in out
    assert "Current time: ⟨…⟩" in out
    if name == "full":
        assert max(map(len, out.splitlines())) <= 80


def test_an_empty_log_is_nothing_to_check(tmp_path, capsys):
    path = written(tmp_path / "log.jsonl", [])
    assert run(["why", path]) == Exit.NOTHING_CHECKED
    path = written(tmp_path / "counts.jsonl", [{"id": "a", "prompt_tokens": 9, "model": "m"}] * 3)
    assert (
        run(["why", path, "--input-format", "record", "--format", "json"]) == Exit.NOTHING_CHECKED
    )
    assert "no hit rate" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["nowhere.jsonl"], "nowhere.jsonl"),
        (["log.jsonl", "--format", "junit"], "not a format"),
        (["log.jsonl", "--engine", "vlm"], "did you mean"),
        (["log.jsonl", "--output", "json:log.jsonl"], "one of the files to read"),
    ],
)
def test_bad_calls(args, said, tmp_path, capsys):
    written(tmp_path / "log.jsonl", [{"token_ids": [1, 2]}])
    assert run(["why", *args]) == Exit.ERROR
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert "Traceback" not in err


def test_what_is_wrong_with_the_log_itself_is_a_check_and_stands_on_the_screen(tmp_path, capsys):
    sound = list(generate(TrafficPlan(seed=3, requests=60)))
    write_records(sound, tmp_path / "sound.jsonl")
    assert called(capsys, str(tmp_path / "sound.jsonl"))["log_checks"] == []
    over = replace(sound[5], cached_tokens=10**6)
    write_records([*sound[:5], over, *sound[6:], sound[9]], tmp_path / "odd.jsonl")
    report = called(capsys, str(tmp_path / "odd.jsonl"))
    counts = {each["check"]: each["count"] for each in report["log_checks"]}
    assert counts == {"cached-over-prompt": 1, "duplicate-rows": 1}
    assert "cached-over-prompt" not in [note["topic"] for note in report["notes"]]
    run(["why", str(tmp_path / "odd.jsonl"), "--format", "full"])
    assert "log check    cached-over-prompt (1): more cached tokens" in capsys.readouterr().out


def test_a_log_of_counts_alone_is_checked_too(tmp_path, capsys):
    rows = [{"id": str(n), "prompt_tokens": 10, "cached_tokens": 20} for n in range(3)]
    path = written(
        tmp_path / "counts.jsonl", [{"arrived_s": 1.0 * n, **r} for n, r in enumerate(rows)]
    )
    assert run(["why", path, "--format", "json"]) == Exit.NOTHING_CHECKED
    report = json.loads(capsys.readouterr().out)
    assert [each["check"] for each in report["log_checks"]] == ["cached-over-prompt"]


FIELD = {
    # The block of the newest message is not sent again.
    "KV110": [
        {"messages": [{"role": "user", "content": "fix it\n<env>09:00</env>"}]},
        {"messages": [
            {"role": "user", "content": "fix it"}, {"role": "assistant", "content": "ok"},
            {"role": "user", "content": "more\n<env>09:02</env>"},
        ]},
    ],
    # Arguments of a past call are printed again with their keys in another order.
    "KV108": [
        {"messages": [{"role": "assistant", "content": "", "tool_calls": [
            {"function": {"name": "f", "arguments": "{\"b\":1,\"a\":2}"}}]}]},
        {"messages": [{"role": "assistant", "content": "", "tool_calls": [
            {"function": {"name": "f", "arguments": "{\"a\":2,\"b\":1}"}}]},
            {"role": "tool", "content": "ok"}]},
    ],
}  # fmt: skip


@pytest.mark.parametrize("code", FIELD)
def test_faults_that_cost_little_in_an_excerpt_are_named_even_so(code, tmp_path, capsys):
    report = called(capsys, written(tmp_path / "log.jsonl", FIELD[code]))
    assert [group["code"] for group in report["groups"]] == [code]


def test_short_requests_that_only_look_alike_are_healthy(tmp_path, capsys):
    log = [
        {"session": "s", "messages": [
            {"role": "system", "content": "You help."},
            {"role": "user", "content": f"What does {name}(x) do?"},
        ]}
        for name in ("parse", "print", "pack", "pick")
    ]  # fmt: skip
    assert called(capsys, written(tmp_path / "log.jsonl", log))["groups"] == []


def test_prompts_that_the_log_cut_at_a_length_are_left_out_and_counted(tmp_path, capsys):
    log = [
        {
            "messages": [
                {
                    "role": "user",
                    "content": (f"{n} is the part. " * 200)[: 1024 if n % 3 else 600 + n],
                }
            ]
        }
        for n in range(30)
    ]
    path = written(tmp_path / "log.jsonl", log)
    report = called(capsys, path)
    assert (report["requests"], report["log"]["skipped_reasons"]) == (10, {"truncated-prompt": 20})
    said = {check["check"]: check["count"] for check in report["log_checks"]}
    assert said == {"length-ceiling": 20, "truncated-prompt": 20}
    assert run(["why", path]) == Exit.OK
    assert "20 requests have a prompt that the log cut short" in capsys.readouterr().out


def test_text_that_the_log_cut_short(tmp_path, capsys):
    log = [
        {"prompt": f"{RULES[:1024]}...{tail}{ANSWER}"}
        for tail in ("and so he went on to say. ", "there is more of this kind. ")
    ]
    path = written(tmp_path / "log.jsonl", log)
    assert set(lost(called(capsys, path, "--input-format", "record"))) == {"truncated-log"}


def test_a_parameter_that_a_providers_cache_obeys(tmp_path, capsys):
    text = "\n".join(f"{n}. {RULES}" for n in range(4))
    log = [
        {
            "id": str(n), "session": "s", "arrived_s": n, "model": "claude-sonnet-4-5",
            "cache_options": {"tool_choice": {"type": choice}},
            "messages": [
                {"role": "system", "content": "You help."},
                {"role": "user", "content": [
                    {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}},
                    {"type": "text", "text": f"Question {n}?"},
                ]},
            ],
        }
        for n, choice in enumerate(("auto", "any", "auto"))
    ]  # fmt: skip
    report = called(capsys, written(tmp_path / "log.jsonl", log), "--engine", "anthropic")
    assert lost(report)["parameter-change"] > 1000
    fixed = report["groups"][0]["what_if"]
    assert fixed["fix"] == "hold the parameters fixed in each session"
    assert fixed["helps"]


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        (["", "Reasoning: low", "", "Reasoning: high", ""], Cause.PARAMETER_CHANGE),
        (["", "Du sprichst mit Ada Obi.", "", "Du sprichst mit Emil Roth.", ""], Cause.IDENTITY),
        (["", "你正在与王伟对话。", "", "你正在与李娜对话。", ""], Cause.IDENTITY),
        (["", "conversation_id=ab12cd34", "", "conversation_id=ef56ab78", ""], Cause.SESSION_VALUE),
        (["", "今天是3月1日，星期日", "", "今天是3月2日，星期一", ""], Cause.CALENDAR_DATE),
    ],
)
def test_a_line_that_only_some_requests_have(lines, cause, tmp_path, capsys):
    log = [
        {"id": str(n), "messages": [
            {"role": "system", "content": f"{CHAT}\n{line}\n{RULES}"},
            {"role": "user", "content": f"Question {n}?"},
        ]}
        for n, line in enumerate(lines)
    ]  # fmt: skip
    report = called(capsys, written(tmp_path / "log.jsonl", log))
    assert set(lost(report)) == {cause}
    assert report["causes"][0]["requests"] == 2


SHOTS = [(f"What is in box {n}?", f"Box {n}: {LETTER}") for n in range(3)]


def test_examples_that_are_turns_may_be_followed_by_a_history(tmp_path, capsys):
    shots = [[text for n in order for text in SHOTS[n]] for order in ((0, 1, 2), (2, 0, 1))]
    log = [
        conversation(*shots[0], "Q1 what?", id="a", session="s", arrived_s=1),
        conversation(*shots[1], "Q1 what?", ANSWER, "Q2?", id="b", session="s", arrived_s=2),
    ]
    report = called(capsys, written(tmp_path / "log.jsonl", log))
    assert set(lost(report)) == {Cause.SHUFFLED_EXAMPLES}


@pytest.mark.parametrize("session", [{}, {"session": "s"}])
@pytest.mark.parametrize("raw", [True, False])
def test_a_trimmed_history_is_told_in_any_log(session, raw, tmp_path, capsys):
    said = [f"Question {n}: {LETTER}" if n % 2 == 0 else f"{ANSWER} {n}" for n in range(7)]
    log = [
        conversation(*said[max(0, 2 * turn - 2) : 2 * turn + 1], id=str(turn), **session)
        for turn in range(4)
    ]
    if raw:
        for request in log:
            first, *turns = request.pop("messages")
            request["prompt"] = f"{first['content']}\n\n" + "".join(
                f"{message['role'].title()}: {message['content']}\n\n" for message in turns
            )
    report = called(capsys, written(tmp_path / "log.jsonl", log), "--input-format", "record")
    assert set(lost(report)) == {Cause.HISTORY_TRIMMED}
    assert report["groups"][0]["what_if"]["helps"]
