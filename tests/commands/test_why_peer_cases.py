"""`kvaudit why` on the logs on which other linters of prompts went wrong.

Each is one application, made by hand or by the generator, with one thing in it: a fault that is
to be named, or something that only looks like one.
"""

import json
from random import Random

import pytest

from kvaudit.cli import run
from kvaudit.core.errors import Exit
from kvaudit.core.why import Cause
from kvaudit.logs.writing.records import write_records
from kvaudit.traffic.english import ENGLISH
from kvaudit.traffic.fault import Planted
from kvaudit.traffic.generate import TrafficPlan, generate

REQUESTS = 50
RULES = "\n".join(f"- {rule}" for rule in ENGLISH.sentences("rule", Random("rules"), 24))
OTHER_RULES = "\n".join(f"- {rule}" for rule in ENGLISH.sentences("rule", Random("more"), 24))
SHOTS = [
    (ENGLISH.paragraph("question", Random(f"shot {n}"), 2), ENGLISH.sentence("answer", Random(n)))
    for n in range(10)
]
PARAMETERS = {
    name: {"type": "string", "description": ENGLISH.sentence("rule", Random(name))}
    for name in ("order", "reason", "since", "language")
}
TOOLS = [
    {
        "name": f"{verb}_order",
        "description": ENGLISH.sentence("rule", Random(verb)),
        "parameters": {"type": "object", "properties": PARAMETERS, "required": ["order"]},
    }
    for verb in ("find", "cancel", "refund", "send")
]
NAMES = ("Ada Obi", "Bilal Khan", "Chen Wei", "Dora Nagy", "Emil Berg", "Fatma Kaya", "Ivo Horn")
DAYS = ("Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag")


def chat(n, system, *turns, **fields):
    """Return a request: its system text, perhaps more turns, and a question of its own."""
    question = ENGLISH.paragraph("question", Random(f"question {n}"), 1)
    messages = [
        {"role": "system", "content": system},
        *turns,
        {"role": "user", "content": question},
    ]
    return {"id": f"r{n}", "arrived_s": 1_772_438_400 + 37.0 * n, "messages": messages, **fields}


def shuffled(n, items):
    return Random(f"order {n}").sample(items, len(items))


def with_keys_shuffled(n, value):
    if isinstance(value, list):
        return [with_keys_shuffled(n, each) for each in value]
    if isinstance(value, dict):
        return {key: with_keys_shuffled(n, value[key]) for key in shuffled(n, list(value))}
    return value


def pairs(shots):
    return [
        {"role": role, "content": text}
        for shot in shots
        for role, text in zip(("user", "assistant"), shot, strict=True)
    ]


def clock(n):
    return f"2026-03-02 {8 + n // 60:02}:{n % 60:02}:{n * 37 % 60:02}"


def clock_at_the_top(n):
    return chat(n, f"Current time: {clock(n)}\n{RULES}", tenant=f"t{n % 2}")


def examples_in_the_text(n):
    shots = "\n\n".join(f"Q: {q}\nA: {a}" for q, a in shuffled(n, SHOTS))
    return chat(n, f"{RULES}\n\n{shots}")


def examples_as_turns(n):
    return chat(n, RULES, *pairs(shuffled(n, SHOTS)))


def keys_of_tools(n):
    return chat(n, RULES, tools=with_keys_shuffled(n, TOOLS))


def order_of_tools(n):
    return chat(n, RULES, tools=shuffled(n, TOOLS))


def uuid_in_one_line(n):
    text = f"{Random(f'id {n}').getrandbits(128):032x}"
    uuid = "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
    return chat(n, f"You help. Request {uuid}. {RULES}".replace("\n", " "))


def double_spaces(n):
    return chat(n, RULES.replace(". ", ".  ").replace(", ", ",  ") if n % 2 else RULES)


def name_and_row(n):
    return chat(n, f"You write to {NAMES[n % 7]} (row {n * 13 + 1004}).\n{RULES}")


def owner_number(n):
    return chat(n, f"You are the assistant for customer-{n % 9 * 7 + 11}.\n{RULES}")


def name_alone(n):
    return chat(n, f"You write to {NAMES[n % 7]}.\n{RULES}")


def name_and_row_in_a_sentence(n):
    return chat(n, f"The customer is {NAMES[n % 7]} and the row is {n * 13 + 1004}.\n{RULES}")


def uuid_and_clock_in_one_line(n):
    request = uuid_in_one_line(n)
    request["messages"][0]["content"] += f" It is now {clock(n)}."
    return request


def chinese_date(n):
    return chat(n, f"今天是二〇二六年三月{'一二三四五六七八九十'[n // 5]}日。\n{RULES}")


def german_date(n):
    day = f"{DAYS[n // 5 % 7]}, der {2 + n // 5}. März 2026"
    return chat(n, f"Du hilfst Kunden. Heute ist {day}.\n{RULES}")


FAULTY = [
    (clock_at_the_top, {Cause.SUB_DAY_CLOCK}),
    (examples_in_the_text, {Cause.SHUFFLED_EXAMPLES}),
    (examples_as_turns, {Cause.SHUFFLED_EXAMPLES}),
    (keys_of_tools, {Cause.JSON_KEY_ORDER}),
    (order_of_tools, {Cause.TOOL_ORDER}),
    (uuid_in_one_line, {Cause.RANDOM_ID}),
    (double_spaces, {Cause.WHITESPACE_DRIFT}),
    (name_and_row, {Cause.IDENTITY, Cause.COUNTER}),
    (name_and_row_in_a_sentence, {Cause.IDENTITY, Cause.COUNTER}),
    (name_alone, {Cause.IDENTITY}),
    (owner_number, {Cause.IDENTITY}),
    (uuid_and_clock_in_one_line, {Cause.RANDOM_ID}),
    (german_date, {Cause.CALENDAR_DATE}),
    (chinese_date, {Cause.CALENDAR_DATE}),
]


def found(capsys, path, *args):
    assert run(["why", str(path), "--format", "json", *args]) == Exit.OK
    report = json.loads(capsys.readouterr().out)
    return report, {c["cause"] for c in report["causes"] if c["lost_tokens"]}


def written(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.mark.parametrize(("made", "causes"), FAULTY, ids=[made.__name__ for made, _ in FAULTY])
def test_each_fault_is_named(made, causes, tmp_path, capsys):
    _, named = found(capsys, written(tmp_path / "log.jsonl", map(made, range(REQUESTS))))
    assert named
    assert named <= causes


def one_tenant(n):
    return chat(n, RULES, tenant="t0")


def own_system_prompts(n):
    return chat(n, OTHER_RULES if n % 2 else RULES, tenant=f"t{n % 2}")


def clock_at_the_end(n):
    return chat(n, f"{RULES}\nCurrent time: {clock(n)}", tenant=f"t{n % 2}")


def many_tenants_that_are_named(n):
    tenant = Random(n // 10).randrange(10, 99)
    rules = "\n".join(f"- {each}" for each in ENGLISH.sentences("rule", Random(tenant), 24))
    return chat(n, f"You answer the letters that customers write to tenant-{tenant}.\n{rules}")


def five_turns(n):
    conversation, turn = divmod(n, 5)
    said = [
        (
            ENGLISH.paragraph("question", Random(f"{conversation} {k}"), 2),
            ENGLISH.paragraph("answer", Random(f"{conversation} {k}"), 3),
        )
        for k in range(5)
    ]
    request = chat(n, RULES, *pairs(said[:turn]), session=f"s{conversation}")
    request["messages"][-1]["content"] = said[turn][0]
    return request


HEALTHY = [
    one_tenant,
    own_system_prompts,
    many_tenants_that_are_named,
    clock_at_the_end,
    five_turns,
]


@pytest.mark.parametrize("made", HEALTHY, ids=[made.__name__ for made in HEALTHY])
def test_healthy_logs_are_called_healthy(made, tmp_path, capsys):
    report, named = found(capsys, written(tmp_path / "log.jsonl", map(made, range(REQUESTS))))
    assert (report["lost_tokens"], named) == (0, set())
    assert (report["groups"], report["log_checks"]) == ([], [])
    assert report["hit_rate"] > 0.8


@pytest.mark.parametrize(
    ("workload", "faults"),
    [("support", ()), ("labelling", ("clock-at-the-end",)), ("extraction", ())],
)
def test_healthy_traffic_of_the_generator(workload, faults, tmp_path, capsys):
    plan = TrafficPlan(
        seed=5,
        requests=REQUESTS,
        workloads=(workload,),
        tenants=2,
        faults=tuple(Planted(fault=name) for name in faults),
    )
    write_records(generate(plan), tmp_path / "log.jsonl")
    report, named = found(capsys, tmp_path / "log.jsonl")
    assert (report["lost_tokens"], named) == (0, set())


def test_messages_of_other_makes_are_read(tmp_path, capsys):
    log = [one_tenant(n) for n in range(6)]
    for request in log:
        text = request["messages"][0]["content"]
        parts = [{"type": "text", "text": text}]
        request["messages"][0] = {"role": "developer", "content": parts}
    report, named = found(capsys, written(tmp_path / "log.jsonl", log))
    assert (report["requests"], report["lost_tokens"], named) == (6, 0, set())


def documents(order):
    """Return requests that each bring one of several documents of 1,600 tokens, as token ids."""
    for n, document in enumerate(order):
        ids = [document * 10_000 + k for k in range(1600)]
        yield {"id": f"r{n}", "token_ids": [*ids, *range(1_000_000 + n * 50, 1_000_050 + n * 50)]}


def test_a_cache_that_is_too_small_is_blamed_and_no_prompt(tmp_path, capsys):
    # Five in turn come back just after they have left; freed tail first, their heads remain.
    path = written(tmp_path / "log.jsonl", documents([n % 5 for n in range(60)]))
    report, named = found(capsys, path, "--capacity", "450blocks")
    evicted = {c["cause"]: c["tokens"] for c in report["causes"]}["evicted"]
    assert named == {Cause.EVICTED}
    assert {group["cause"] for group in report["groups"]} == {"evicted"}
    roomy, _ = found(capsys, path)
    assert evicted == roomy["hit_tokens"] - report["hit_tokens"] > 0
