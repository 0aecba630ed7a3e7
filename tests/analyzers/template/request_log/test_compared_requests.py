"""Logs: what differs between requests is found by its rule, and sound logs give nothing."""

import json

import pytest

from kvaudit.analyzers.profile import Profile
from kvaudit.analyzers.run import documents_of, lint_document
from kvaudit.core.rulebook import load_rules
from kvaudit.core.sources import Source

RULES = load_rules()
LONG = "Quote the invoice number in every answer, and never guess an amount. " * 30


class NoProject:
    """A project of one file."""

    def __init__(self):
        self.variables = {}

    def sibling(self, source, name):
        return None

    def module(self, source, dotted):
        return None


def lint(rows):
    text = rows if isinstance(rows, str) else "\n".join(map(json.dumps, rows)) + "\n"
    documents = documents_of(Source("requests.jsonl", text), NoProject())
    return [f for d in documents for f in lint_document(d, RULES, Profile())]


def codes(rows):
    return {finding.code for finding in lint(rows)}


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


def system(text):
    return {"role": "system", "content": text}


def chat(turns, *, head=(), question="question {}", answer="answer {}"):
    """Requests of one conversation, each with all that came before."""
    rows, messages = [], list(head)
    for turn in range(turns):
        messages = [*messages, user(question.format(turn))]
        rows.append({"model": "gpt-4.1", "messages": messages})
        messages = [*messages, assistant(answer.format(turn))]
    return rows


def with_system(texts, turns=None):
    rows = chat(turns or len(texts))
    for row, text in zip(rows, texts, strict=False):
        row["messages"] = [system(text), *row["messages"]]
    return rows


def picture(url):
    return user([{"type": "image_url", "image_url": {"url": url}}])


def marked(row):
    """The newest message with a marker on it."""
    *older, newest = row["messages"]
    block = {"type": "text", "text": newest["content"], "cache_control": {"type": "ephemeral"}}
    return [*older, user([block])]


TOOL = {"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}
OTHER = {"type": "function", "function": {"name": "send", "parameters": {"type": "object"}}}
CALL = {
    "id": "1",
    "type": "function",
    "function": {"name": "find", "arguments": '{"b": 1, "a": "é"}'},
}


def calls(arguments):
    call = {**CALL, "function": {"name": "find", "arguments": arguments}}
    first = [user("go"), {"role": "assistant", "content": None, "tool_calls": [CALL]}]
    result = {"role": "tool", "tool_call_id": "1", "content": "r"}
    again = [user("go"), {"role": "assistant", "content": None, "tool_calls": [call]}, result]
    return [{"messages": [*first, result]}, {"messages": [*again, user("on")]}]


def tool_use(second):
    block = {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1, "b": 2}}
    result = user([{"type": "tool_result", "tool_use_id": "t", "content": "r"}])
    start = [user("go"), assistant([block]), result]
    later = [user("go"), assistant([{**block, "input": second}]), result]
    return [{"messages": start}, {"messages": [*later, assistant("x"), user("on")]}]


def sliding(window, turns=6):
    messages = [m for t in range(turns + window) for m in (user(f"q {t}"), assistant(f"a {t}"))]
    return [
        {"messages": [system("S"), *messages[2 * t : 2 * t + 2 * window - 1]]} for t in range(turns)
    ]


def aging(turns=6):
    def view(turn):
        rows = [user("go")]
        for t in range(turn):
            text = f"result {t} " * 40 if turn - t < 3 else "[old result]"
            rows += [
                {"role": "assistant", "content": None, "tool_calls": [CALL]},
                {"role": "tool", "tool_call_id": "1", "content": text},
            ]
        return rows

    return [{"messages": view(t)} for t in range(1, turns)]


def thinking():
    thought = {"role": "assistant", "content": "two", "reasoning_content": "hm"}
    first = [user("one"), thought, user("three")]
    return [
        {"messages": first},
        {"messages": [user("one"), assistant("two"), *first[2:], assistant("4"), user("5")]},
    ]


FAULTS = {
    "clock in the system text": (
        with_system([f"It is 09:00:{s}. {LONG}" for s in (11, 42, 57)]),
        "KV001",
    ),
    "clock to the minute": (with_system([f"It is 9:{m} AM. {LONG}" for m in (11, 42)]), "KV001"),
    "ISO clock": (with_system([f"{LONG} 2026-11-29T09:00:{s}Z {LONG}" for s in (11, 42)]), "KV001"),
    "seconds since 1970": (with_system([f"now={1764400000 + s} {LONG}" for s in (1, 9)]), "KV001"),
    "clock, conversations of one turn": (
        [{"messages": [system(f"It is 09:00:{s}. {LONG}"), user(f"q {s}")]} for s in (11, 42)],
        "KV001",
    ),
    "date in the system text": (
        with_system([f"Today is 2026-11-{d}. {LONG}" for d in (28, 29)]),
        "KV002",
    ),
    "written date": (
        with_system([f"Today is November {d}, 2026. {LONG}" for d in (28, 29)]),
        "KV002",
    ),
    "request id": (
        with_system(
            [
                f"id {u} {LONG}"
                for u in (
                    "7c9e6679-7425-40de-944b-e07fc1f90ae7",
                    "16fd2706-8baf-433b-82eb-8c7fada847da",
                )
            ]
        ),
        "KV003",
    ),
    "session id": (
        [
            {"session_id": s, "messages": [system(f"session {u}\n{LONG}"), *row["messages"]]}
            for s, u in (
                ("a", "7c9e6679-7425-40de-944b-e07fc1f90ae7"),
                ("b", "16fd2706-8baf-433b-82eb-8c7fada847da"),
            )
            for row in chat(2)
        ],
        "KV005",
    ),
    "counter": (with_system([f"Step {n} of 20. {LONG}" for n in (3, 4)]), "KV006"),
    "recalled memory": (
        with_system([f"Memory: {m}. {LONG}" for m in ("tea", "tea and cake")]),
        "KV009",
    ),
    "white space": (with_system([f"Be brief.\n\n{LONG}", f"Be brief.\n{LONG}"]), "KV010"),
    "line ends": (with_system([f"Be brief.\n{LONG}", f"Be brief.\r\n{LONG}"]), "KV010"),
    "composed letters": (with_system([f"Caf\u00e9. {LONG}", f"Cafe\u0301. {LONG}"]), "KV010"),
    "address": (with_system([f"<f at 0x7f{n}aa11bb> {LONG}" for n in ("01", "02")]), "KV011"),
    "transport header": (
        [
            {
                "system": [
                    {"type": "text", "text": f"x-client-billing: n={n}"},
                    {"type": "text", "text": LONG},
                ],
                **row,
            }
            for n, row in zip(("9f31c", "7aa02"), chat(2), strict=True)
        ],
        "KV012",
    ),
    "environment not kept": (
        [
            {"messages": [user("fix it\n<env>09:00</env>")]},
            {"messages": [user("fix it"), assistant("ok"), user("more\n<env>09:02</env>")]},
        ],
        "KV110",
    ),
    "block in front not kept": (
        [
            {"messages": [user("<context>open: a.py</context>\nfix it")]},
            {
                "messages": [
                    user("fix it"),
                    assistant("ok"),
                    user("<context>open: b.py</context>\nmore"),
                ]
            },
        ],
        "KV110",
    ),
    "block of the newest message not kept": (
        [
            {
                "messages": [
                    user(
                        [{"type": "text", "text": "fix"}, {"type": "text", "text": "<env>1</env>"}]
                    )
                ]
            },
            {
                "messages": [
                    user([{"type": "text", "text": "fix"}]),
                    assistant("ok"),
                    user([{"type": "text", "text": "more"}]),
                ]
            },
        ],
        "KV110",
    ),
    "a message that moves": (
        [
            {"messages": [user("skills: a"), user("q1")]},
            {"messages": [user("q1"), assistant("r"), user("skills: a"), user("q2")]},
        ],
        "KV110",
    ),
    "a message put in between": (
        [
            {"messages": [user("one"), assistant("two"), user("three")]},
            {
                "messages": [
                    user("one"),
                    user("by the way"),
                    assistant("two"),
                    user("three"),
                    assistant("4"),
                    user("5"),
                ]
            },
        ],
        "KV110",
    ),
    "arguments in another order": (calls('{"a": "é", "b": 1}'), "KV108"),
    "arguments with other blanks": (calls('{"b":1,"a":"é"}'), "KV108"),
    "arguments with escapes": (calls('{"b": 1, "a": "\\u00e9"}'), "KV108"),
    "arguments as an object": (tool_use({"b": 2, "a": 1}), "KV108"),
    "tools in another order": (
        [
            {"tools": [TOOL, OTHER], **row} if n % 2 else {"tools": [OTHER, TOOL], **row}
            for n, row in enumerate(chat(3))
        ],
        "KV104",
    ),
    "tools in another order, between conversations": (
        [
            {"tools": t, "messages": [user(f"q {n}")]}
            for n, t in enumerate(([TOOL, OTHER], [OTHER, TOOL]))
        ],
        "KV104",
    ),
    "another tool": (
        [{"tools": t, **r} for t, r in zip(([TOOL], [TOOL, OTHER]), chat(2), strict=True)],
        "KV105",
    ),
    "a tool is gone": (
        [{"tools": t, **r} for t, r in zip(([TOOL, OTHER], [OTHER]), chat(2), strict=True)],
        "KV105",
    ),
    "clock in a tool": (
        [
            {"tools": [{"name": "f", "description": f"It is 09:00:{s}"}], **r}
            for s, r in zip((11, 42), chat(2), strict=True)
        ],
        "KV106",
    ),
    "keys of a schema": (
        [
            {"tools": [{"name": "f", "input_schema": s}], **r}
            for s, r in zip(
                ({"type": "object", "properties": {}}, {"properties": {}, "type": "object"}),
                chat(2),
                strict=True,
            )
        ],
        "KV103",
    ),
    "sliding window": (sliding(3), "KV114"),
    "old results masked": (aging(), "KV114"),
    "effort": (
        [{**r, "reasoning_effort": e} for e, r in zip(("high", "low"), chat(2), strict=True)],
        "KV308",
    ),
    "another model": (
        [{**r, "model": m} for m, r in zip(("gpt-4.1", "gpt-5"), chat(2), strict=True)],
        "KV308",
    ),
    "keys of its own": (
        [{**r, "prompt_cache_key": f"k{n}"} for n, r in enumerate(chat(2))],
        "KV307",
    ),
    "examples in another order": (
        [
            {"messages": [system(LONG), *shots, user(q)]}
            for q, shots in (
                ("a", [user("1"), assistant("2"), user("3"), assistant("4")]),
                ("b", [user("3"), assistant("4"), user("1"), assistant("2")]),
            )
        ],
        "KV101",
    ),
    "bodies inside of rows": (
        [
            {"custom_id": str(n), "url": "/v1", "body": r}
            for n, r in enumerate(with_system([f"It is 9:{m}. {LONG}" for m in (11, 42)]))
        ],
        "KV001",
    ),
    "an id in a short prompt of its own": (
        [
            {"system": f"req {u}. Rules.", "messages": [user(f"question {n}")]}
            for n, u in enumerate(
                ("7c9e6679-7425-40de-944b-e07fc1f90ae7", "16fd2706-8baf-433b-82eb-8c7fada847da")
            )
        ],
        "KV003",
    ),
    "one result that is masked": (
        [
            {"messages": [user("go"), {"role": "tool", "content": "x " * 300}]},
            {
                "messages": [
                    user("go"),
                    {"role": "tool", "content": "[cleared]"},
                    assistant("b"),
                    user("c"),
                ]
            },
        ],
        "KV110",
    ),
    "a short sliding window": (sliding(2), "KV114"),
    "examples of one message in another order": (
        [
            {"messages": [user("\n\n".join([*shots, f"Q: {n}"]))]}
            for n, shots in enumerate((["Q: 1\nA: 2", "Q: 3\nA: 4"], ["Q: 3\nA: 4", "Q: 1\nA: 2"]))
        ],
        "KV101",
    ),
    "signed links": (
        [
            {**r, "messages": [picture(f"https://a.b/c.png?X-Amz-Signature={n}aa"), *r["messages"]]}
            for n, r in enumerate(chat(2))
        ],
        "KV013",
    ),
    "images encoded anew": (
        [
            {**r, "messages": [picture("data:image/png;base64," + n * 300), *r["messages"]]}
            for n, r in zip("AB", chat(2), strict=True)
        ],
        "KV013",
    ),
    "a late system message at the head": (
        [
            {
                "messages": [
                    system("S"),
                    user("one"),
                    assistant("two"),
                    system("note"),
                    user("three"),
                ]
            },
            {
                "messages": [
                    system("S"),
                    system("note"),
                    user("one"),
                    assistant("two"),
                    user("three"),
                    assistant("4"),
                    user("5"),
                ]
            },
        ],
        "KV115",
    ),
    "a marked block with a clock": (
        [
            {
                "model": "claude-sonnet-4-5",
                "system": [
                    {"type": "text", "text": LONG},
                    {
                        "type": "text",
                        "text": f"It is 09:00:{n}.",
                        "cache_control": {"type": "ephemeral"},
                    },
                ],
                "messages": r["messages"],
            }
            for n, r in zip((11, 42), chat(2), strict=True)
        ],
        "KV301",
    ),
    "a marker that outran the look-back": (
        [
            {"model": "claude-sonnet-4-5", "messages": marked(chat(n, head=[user("go")])[-1])}
            for n in (1, 16)
        ],
        "KV306",
    ),
    "prompts that are one text": (
        [{"model": "m", "prompt": f"It is 09:00:{n}. {LONG}"} for n in (11, 42)],
        "KV001",
    ),
    "counters alone": (
        [
            {"prompt_tokens": p, "cached_tokens": c}
            for p, c in ((50_000, 49_000), (49_500, 3_000), (49_700, 3_000), (49_600, 3_000))
        ],
        "KV114",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_in_the_later_request(name):
    rows, code = FAULTS[name]
    found = [f for f in lint(rows) if f.code == code]
    assert found
    assert all(f.source.place(f.span.start).line > 1 for f in found)


def test_reasoning_that_is_left_out_of_the_history_is_seen():
    text = "\n".join(map(json.dumps, thinking()))
    documents = documents_of(Source("requests.jsonl", text), NoProject())
    seen = [o for d in documents for o in d.observations]
    assert [o.kind for o in seen] == ["reasoning-stripped"]
    assert seen[0].source.place(seen[0].span.start).line == 2


def branch():
    """A user who writes the newest message again, twice."""
    head = [user("one"), assistant("two")]
    return [{"messages": [*head, user(t)]} for t in ("three", "three, please", "something else")]


def compacted():
    """A history that is cut once, deep, after many turns."""
    rows = chat(12, question="question {} " + "x" * 200, answer="answer {} " + "y" * 200)
    tail = rows[-1]["messages"][-3:]
    return [
        *rows,
        {"messages": [user("Summary: all is well."), *tail, assistant("z"), user("go on")]},
    ]


def rewound():
    rows = chat(4)
    return [*rows, rows[1], *chat(3)[2:]]


def cut_now_and_then():
    """A window that is cut by two messages at every tenth turn."""
    messages = [m for t in range(40) for m in (user(f"q {t}"), assistant(f"a {t}"))]
    return [
        {"session_id": "s", "messages": messages[2 * (t // 10) : 2 * t + 1]} for t in range(6, 36)
    ]


def fan(sizes):
    return [
        {
            "model": "claude-sonnet-4-5",
            "timestamp": 100 + n / 10,
            "system": LONG,
            "messages": [user(f"part {n}")],
            "usage": {"cache_creation_input_tokens": size, "cache_read_input_tokens": 0},
        }
        for n, size in enumerate(sizes)
    ]


def test_requests_that_start_together_are_a_fan_out_if_they_write_the_same():
    assert "KV313" in codes(fan([9000] * 5))
    assert "KV313" not in codes(fan([9000, 400, 20_000, 700, 9000]))
    late = [{**row, "timestamp": 100 + 60 * n} for n, row in enumerate(fan([9000] * 5))]
    assert "KV313" not in codes(late)


def test_a_time_that_only_changes_its_day_is_a_date():
    found = codes(with_system([f"Since 2026-11-{d} 00:00:00. {LONG}" for d in (28, 29)]))
    assert "KV002" in found
    assert "KV001" not in found


SOUND = {
    "the user writes anew, under one id": [
        {"session_id": "s", "messages": [user("one"), assistant("two"), user(text)]}
        for text in ("three", "three again", "three once more")
    ],
    "cut now and then": cut_now_and_then(),
    "a growing conversation": chat(6, head=[system(LONG)]),
    "two conversations, interleaved": [
        r
        for pair in zip(
            chat(4, head=[system(LONG)]),
            chat(4, head=[system(LONG)], question="other {}", answer="more {}"),
            strict=True,
        )
        for r in pair
    ],
    "two tenants": [
        {"session_id": t, "messages": [system(f"{LONG}\nYou serve {t}."), *r["messages"]]}
        for t in ("Acme", "Globex")
        for r in chat(3)
    ],
    "two tenants, names first": [
        {"session_id": t, "messages": [system(f"You serve {t}.\n{LONG}"), *r["messages"]]}
        for t in ("Acme", "Globex")
        for r in chat(3)
    ],
    "a clock in every user message, kept": chat(5, question="at 09:00:1{} what?"),
    "a date at the end, another day": [
        {"session_id": d, "messages": [system(f"{LONG}\nToday is 2026-11-{d}."), *r["messages"]]}
        for d in ("28", "29")
        for r in chat(2)
    ],
    "the user goes back": branch(),
    "the user rewinds": rewound(),
    "one deep compaction": compacted(),
    "other sampling": [
        {**r, "temperature": n / 10, "max_tokens": n + 1} for n, r in enumerate(chat(4))
    ],
    "markers move along": [
        {
            **r,
            "model": "claude-sonnet-4-5",
            "messages": [
                *r["messages"][:-1],
                user(
                    [
                        {
                            "type": "text",
                            "text": r["messages"][-1]["content"],
                            "cache_control": {"type": "ephemeral"},
                        }
                    ]
                ),
            ],
        }
        for r in chat(4)
    ],
    "a tool joins at the start of a conversation": [
        {"tools": t, **r}
        for t, rows in (
            ([TOOL], chat(2)),
            ([TOOL, OTHER], chat(2, question="new {}", answer="n {}")),
        )
        for r in rows
    ],
    "a key of each session": [
        {**r, "session_id": s, "prompt_cache_key": s} for s in ("s1", "s2") for r in chat(2)
    ],
    "counters of a growing prompt": [
        {"prompt_tokens": 10_000 + 900 * n, "cached_tokens": 9_000 + 900 * n} for n in range(8)
    ],
    "counters without a cache": [
        {"prompt_tokens": 10_000 + n, "cached_tokens": 0} for n in range(8)
    ],
    "a data set for training": [
        {
            "messages": [
                system("You are a judge."),
                user(f"case {n} {'word ' * n}"),
                assistant(f"verdict {n}"),
            ]
        }
        for n in range(9)
    ],
    "a data set with times of its own": [
        {"messages": [system(f"It is 09:0{n}. {LONG}"), user(f"case {n}"), assistant(f"{n}")]}
        for n in range(5)
    ],
    "records of calls under a name for tools": [
        {"session_id": "s", "model": "m", "tools": [{"tool_name": n, "emitted_at": f"9:0{n}"}]}
        for n in range(4)
    ],
    "names of tools in the rows of a data set": [
        {"task_id": str(n), "Question": f"How many {n}?", "tools": names}
        for n, names in enumerate((["Search engine", "Web browser"], ["Web browser"], ["PDF"]))
    ],
    "another agent under one id": [
        {"session_id": "s", "messages": [system(LONG), user("plan")]},
        {
            "session_id": "s",
            "messages": [system("You write titles."), user("title of: plan the work")],
        },
        {"session_id": "s", "messages": [system(LONG), user("plan"), assistant("ok"), user("on")]},
    ],
}


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_log_gives_nothing(name):
    assert [(f.code, f.message) for f in lint(SOUND[name]) if f.severity.rank > 1] == []


@pytest.mark.parametrize(
    "urls", ["https://a.b/c.png?X-Amz-Signature={}aa", "data:image/png;base64,{}"]
)
@pytest.mark.parametrize("alone", [True, False])
def test_a_file_that_is_signed_or_encoded_anew_is_told_as_that_and_as_nothing_else(urls, alone):
    def first(turn):
        asked = picture(urls.format("AB"[turn] * 300))
        return [{"role": "user", "content": asked["content"]}] if alone else [asked, user("What?")]

    rows = [
        {"session_id": "s", "messages": first(0)},
        {"session_id": "s", "messages": [*first(1), assistant("A cat."), user("And now?")]},
    ]
    (finding,) = lint(rows)
    assert (finding.code, finding.source.place(finding.span.start).line) == ("KV013", 2)
