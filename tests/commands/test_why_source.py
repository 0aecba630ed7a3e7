"""`kvaudit why --source`: the planted line is found in every kind of project, and no other."""

import json

import pytest

from kvaudit.cli import run
from kvaudit.core.config import load_config
from kvaudit.core.errors import Exit

RULES = " ".join(f"Rule {n}: quote the number of the invoice in every answer." for n in range(40))


def clock(n):
    return f"2026-03-02 08:{n // 60:02}:{n % 60:02}"


def identifier(n):
    return f"{n * 2654435761 % 2**32:08x}-1b2c-4d3e-9f00-{n * 40503 % 2**48:012x}"


JINJA = {
    "prompts/support.j2": '{% include "head.j2" %}\n'
    "You answer questions about invoices.\n"
    "{% if vip %}Be quick, it is a customer of note.{% endif %}\n"
    f"{RULES}\n",
    "prompts/head.j2": '{% include "parts/stamp.j2" %}\nYou are the clerk of a mail-order shop.\n',
    "prompts/parts/stamp.j2": "{# who asks, and when #}\nCurrent time: {{ now() }}\n",
    "prompts/other.j2": "You translate texts into {{ language }}.\nAt {{ now() }} nobody asked.\n",
}
PYTHON = {
    "app/chat.py": "from openai import OpenAI\n"
    "\n"
    "from app.texts import RULES, opening\n"
    "\n"
    "client = OpenAI()\n"
    "\n"
    "\n"
    "def system(customer):\n"
    "    parts = ['You are the clerk of a mail-order shop.', opening()]\n"
    "    parts.append(RULES)\n"
    "    return '\\n'.join(parts)\n"
    "\n"
    "\n"
    "def ask(question, customer):\n"
    "    return client.chat.completions.create(model='m', messages=[\n"
    "        {'role': 'system', 'content': system(customer)},\n"
    "        {'role': 'user', 'content': question}])\n",
    "app/texts.py": "import uuid\n"
    "\n"
    f"RULES = {RULES!r}\n"
    "\n"
    "\n"
    "def opening():\n"
    "    trace = uuid.uuid4()\n"
    "    return f'The trace of this order is {trace} in all systems.'\n",
}
TYPESCRIPT = {
    "src/agent.ts": 'import OpenAI from "openai";\n'
    'import { RULES } from "./rules";\n'
    "const client = new OpenAI();\n"
    "export async function plan(task: string) {\n"
    "  const system = `You plan routes for vans.\n"
    "Planner ${crypto.randomUUID()} is on duty.\n"
    "${RULES}`;\n"
    '  return client.chat.completions.create({ model: "m", messages: [\n'
    '    { role: "system", content: system }, { role: "user", content: task } ] });\n'
    "}\n",
    "src/rules.ts": f'export const RULES = "{RULES}";\n',
}
HANDLEBARS = {
    "mails/answer.hbs": "You write answers to mails.\n"
    "{{#if notes}}Notes: {{notes}}{{/if}}\n"
    "The ticket {{ticketId}} was opened by a customer.\n"
    f"{RULES}\n",
}
FORMAT = {
    "desk.py": "import uuid\n"
    "from openai import OpenAI\n"
    f"RULES = {RULES!r}\n"
    "TEXT = '''You serve the returns desk.\n"
    "The trace {trace} is at hand.\n"
    "{rules}'''\n"
    "def ask(question):\n"
    "    system = TEXT.format(trace=uuid.uuid4(), rules=RULES)\n"
    "    return OpenAI().chat.completions.create(model='m', messages=[\n"
    "        {'role': 'system', 'content': system}, {'role': 'user', 'content': question}])\n",
}
EXTENDS = {
    "t/base.j2": "{% from 'm.j2' import stamp %}\nReturns of all kinds.\n"
    f"{{% block head %}}{{% endblock %}}\n{RULES}\n",
    "t/child.j2": "{% extends 'base.j2' %}\n"
    "{% block head %}The request {{ number }} came by mail.{% endblock %}\n",
}
PROJECTS = {
    "format": (
        FORMAT,
        lambda n: f"You serve the returns desk.\nThe trace {identifier(n)} is at hand.\n{RULES}",
        ("desk.py", 5, "random-id-in-prefix"),
    ),
    "extends": (
        EXTENDS,
        lambda n: f"Returns of all kinds.\nThe request {identifier(n)} came by mail.\n{RULES}\n",
        ("t/child.j2", 2, "random-id-in-prefix"),
    ),
    "jinja": (
        JINJA,
        lambda n: (
            f"Current time: {clock(n)}\n\nYou are the clerk of a mail-order shop.\n\n"
            f"You answer questions about invoices.\n\n{RULES}\n"
        ),
        ("prompts/parts/stamp.j2", 2, "sub-day-clock"),
    ),
    "python": (
        PYTHON,
        lambda n: (
            "You are the clerk of a mail-order shop.\n"
            f"The trace of this order is {identifier(n)} in all systems.\n{RULES}"
        ),
        ("app/texts.py", 8, "random-id-in-prefix"),
    ),
    "typescript": (
        TYPESCRIPT,
        lambda n: f"You plan routes for vans.\nPlanner {identifier(n)} is on duty.\n{RULES}",
        ("src/agent.ts", 6, "random-id-in-prefix"),
    ),
    "handlebars": (
        HANDLEBARS,
        lambda n: (
            "You write answers to mails.\n\n"
            f"The ticket {identifier(n)} was opened by a customer.\n{RULES}\n"
        ),
        ("mails/answer.hbs", 3, "random-id-in-prefix"),
    ),
}


def project(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def log(path, system, requests=30, **fields):
    rows = [
        {
            "arrived_s": 1000.0 + n,
            "session": f"s{n}",
            "messages": [
                {"role": "system", "content": system(n)},
                {"role": "user", "content": f"Where is parcel {n * 7919 % 10007} now?"},
            ],
        }
        | {name: value(n) for name, value in fields.items()}
        for n in range(requests)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def explained(capsys, *args, code=Exit.OK):
    assert run(["why", *args, "--format", "json"]) == code
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("kind", PROJECTS)
def test_the_planted_line_is_found(kind, tmp_path, capsys):
    files, system, (path, line, rule) = PROJECTS[kind]
    project(tmp_path / "code", files)
    project(tmp_path / "code", {"README.md": "Current time: see {{ now() }} of the planner.\n"})
    report = explained(capsys, log(tmp_path / "log.jsonl", system), "--source", "code")
    group = report["groups"][0]
    assert group["lost_tokens"] > 10_000
    found = group["locations"]
    written = [at for at in found if at["by"] != "value"]
    assert [(at["path"], at["line"], at["evidence"]) for at in written] == [
        (f"code/{path}", line, "measured")
    ]
    assert (found[0]["rule"], found[0]["by"]) == (rule, "text")


@pytest.mark.parametrize("kind", PROJECTS)
def test_a_project_that_wrote_none_of_it_is_not_blamed(kind, tmp_path, capsys):
    _, system, _ = PROJECTS[kind]
    for other, (files, _, _) in PROJECTS.items():
        if other != kind:
            project(tmp_path / "code", {k: v.replace(RULES, "") for k, v in files.items()})
    project(tmp_path / "code", {"prompts/bare.j2": "{{ now() }}\n{{ trace }}: {{ ticket }}\n"})
    report = explained(capsys, log(tmp_path / "log.jsonl", system), "--source", "code")
    assert [group["locations"] for group in report["groups"]] == [[]] * len(report["groups"])


def test_a_word_that_stands_somewhere_in_the_prompt_is_no_fixed_text_around_the_slot(
    tmp_path, capsys
):
    code = (
        "from openai import OpenAI\n"
        "def ask(call, trace, note):\n"
        "    parts = [{'type': 'customer', 'text': trace}]\n"
        "    return OpenAI().chat.completions.create(model='m', messages=[\n"
        "        {'role': 'system', 'content': f'invoice {call} answer'},\n"
        "        {'role': 'user', 'content': f'{note} customer'}])\n"
    )
    project(tmp_path / "code", {"other.py": code, "prompts/o.j2": "{{ now() }} invoice number"})
    report = explained(
        capsys, log(tmp_path / "log.jsonl", PROJECTS["jinja"][1]), "--source", "code"
    )
    assert [group["locations"] for group in report["groups"]] == [[]]


def test_two_places_that_fit_alike_are_both_named_as_ambiguous(tmp_path, capsys):
    files, system, _ = PROJECTS["handlebars"]
    project(tmp_path / "code/v1", files)
    project(tmp_path / "code/v2", files)
    report = explained(capsys, log(tmp_path / "log.jsonl", system), "--source", "code")
    assert [(at["path"], at["evidence"]) for at in report["groups"][0]["locations"]] == [
        ("code/v1/mails/answer.hbs", "ambiguous"),
        ("code/v2/mails/answer.hbs", "ambiguous"),
    ]
    # More of the prompt stands in one than in the other.
    text = files["mails/answer.hbs"]
    project(tmp_path / "code/v2", {"mails/answer.hbs": text + "{{sign}} is how you sign.\n"})
    report = explained(capsys, log(tmp_path / "log.jsonl", system), "--source", "code")
    assert [at["path"] for at in report["groups"][0]["locations"]] == ["code/v1/mails/answer.hbs"]


def test_a_value_that_a_caller_gives_is_found_where_the_template_writes_it(tmp_path, capsys):
    source = (
        "from openai import OpenAI\n"
        f"RULES = {RULES!r}\n"
        "client = OpenAI()\n"
        "def system(name, goods):\n"
        "    head = f'The customer of today is {name} of our shop.'\n"
        "    return head + RULES + ' Sold were ' + ', '.join(goods) + ' and no more. ' + RULES\n"
        "def ask(question, user, goods):\n"
        "    return client.chat.completions.create(model='m', messages=[\n"
        "        {'role': 'system', 'content': system(user.name, goods)},\n"
        "        {'role': 'user', 'content': question}])\n"
    )
    project(tmp_path / "code", {"shop.py": source})
    names = ["Ann Lee", "Bo Chen", "Cy Rowe", "Di Marsh", "Ed Fox"]

    def system(n, name="Ann Lee"):
        goods = ["apples", "pears", "plums", "quinces"]
        sold = ", ".join(goods[n % 4 :] + goods[: n % 4])
        head = f"The customer of today is {name} of our shop."
        return f"{head}{RULES} Sold were {sold} and no more. {RULES}"

    path = log(
        tmp_path / "log.jsonl", lambda n: system(0, names[n % 5]), user=lambda n: names[n % 5]
    )
    group = explained(capsys, path, "--source", "code")["groups"][0]
    assert [(at["line"], at["by"], at["evidence"]) for at in group["locations"]] == [
        (5, "text", "measured"),
        (9, "value", "name"),
    ]
    group = explained(capsys, log(tmp_path / "log.jsonl", system), "--source", "code")["groups"][0]
    assert [(at["line"], at["by"]) for at in group["locations"]] == [(6, "text"), (7, "value")]


def test_what_is_no_value_is_found_by_its_rule_in_a_document_that_stands_in_the_prompt(
    tmp_path, capsys
):
    source = (
        "import json\n"
        "import random\n"
        "from openai import OpenAI\n"
        f"RULES = {RULES!r}\n"
        "client = OpenAI()\n"
        "def ask(question, tools):\n"
        "    random.shuffle(tools)\n"
        "    return client.chat.completions.create(model='m', tools=tools, messages=[\n"
        "        {'role': 'system', 'content': RULES},\n"
        "        {'role': 'user', 'content': question}])\n"
    )
    project(tmp_path / "code", {"shop.py": source, "idle.py": source.replace("Rule", "Law")})

    def tools(n):
        names = ["find", "stop", "send", "list"]
        return [
            {"type": "function", "function": {"name": name, "description": f"{name} it. " * 30}}
            for name in names[n % 4 :] + names[: n % 4]
        ]

    path = log(tmp_path / "log.jsonl", lambda n: RULES, tools=tools)
    group = explained(capsys, path, "--source", "code")["groups"][0]
    assert group["cause"] == "tool-order"
    found = [(at["path"], at["line"], at["by"], at["rule"]) for at in group["locations"]]
    assert found == [("code/shop.py", 7, "rule", "shuffled-examples")]


@pytest.mark.parametrize(
    ("format_", "shown"),
    [
        ("full", "= written: code/mails/answer.hbs:3 (measured: ticketId)"),
        ("concise", "g1, written: code/mails/answer.hbs:3 (measured: ticketId)"),
        ("github", "::warning file=code/mails/answer.hbs,line=3,endLine=3,col=12,endColumn=24,"),
        ("sarif", '"uri": "code/mails/answer.hbs"'),
    ],
)
def test_every_format_names_the_place(format_, shown, tmp_path, capsys):
    files, system, _ = PROJECTS["handlebars"]
    project(tmp_path / "code", files)
    args = [log(tmp_path / "log.jsonl", system), "--source", "code", "--format", format_]
    assert run(["why", *args]) == Exit.OK
    assert shown in capsys.readouterr().out


def test_sarif_has_rule_cost_and_evidence(tmp_path, capsys):
    files, system, _ = PROJECTS["jinja"]
    project(tmp_path / "code", files)
    path = log(tmp_path / "log.jsonl", system)
    assert run(["why", path, "--source", "code", "--format", "sarif"]) == Exit.OK
    made = json.loads(capsys.readouterr().out)["runs"][0]
    result = made["results"][0]
    assert result["ruleId"] == "sub-day-clock"
    assert made["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "sub-day-clock"
    assert result["properties"]["evidence"] == "measured"
    assert result["properties"]["lostTokens"] > 10_000
    region = result["locations"][0]["physicalLocation"]["region"]
    assert (region["startLine"], region["startColumn"]) == (2, 15)


def test_a_source_that_is_not_there_is_an_error(tmp_path, capsys):
    _, system, _ = PROJECTS["jinja"]
    path = log(tmp_path / "log.jsonl", system)
    assert run(["why", path, "--source", "nowhere"]) == Exit.ERROR
    assert "nowhere does not exist" in capsys.readouterr().err
    assert run(["why", path, "--learn"]) == Exit.ERROR
    assert "--source" in capsys.readouterr().err


LEARNED = {
    "jinja": (
        {
            "prompts/support.j2": "You are the clerk of {{ shop }} in all matters of mail.\n"
            "The plan of this customer is {{ plan_tier }} as of now.\n"
            "Today is {{ day_label }} in the calendar of the shop.\n"
            "The last step was {{ user.progress }} of the whole task.\n"
            "{% if banner %}Please note: {{ banner }} and thank you.{% endif %}\n"
            f"{RULES}\n"
        },
        {"shop": "constant", "plan_tier": "identity", "day_label": "day", "user.progress": "turn"},
    ),
    "python": (
        {
            "app.py": "from openai import OpenAI\n"
            f"RULES = {RULES!r}\n"
            "client = OpenAI()\n"
            "def ask(question, shop, plan_tier, day_label, progress):\n"
            "    system = (f'You are the clerk of {shop} in all matters of mail.\\n'\n"
            "        f'The plan of this customer is {plan_tier} as of now.\\n'\n"
            "        f'Today is {day_label} in the calendar of the shop.\\n'\n"
            "        f'The last step was {progress} of the whole task.\\n' + RULES)\n"
            "    return client.chat.completions.create(model='m', messages=[\n"
            "        {'role': 'system', 'content': system},\n"
            "        {'role': 'user', 'content': question}])\n"
        },
        {"shop": "constant", "plan_tier": "identity", "day_label": "day", "progress": "turn"},
    ),
    "typescript": (
        {
            "app.ts": 'import OpenAI from "openai";\n'
            "const client = new OpenAI();\n"
            "export async function ask(q: string, shop: string, planTier: string,\n"
            "    dayLabel: string, progress: string) {\n"
            "  const system = `You are the clerk of ${shop} in all matters of mail.\n"
            "The plan of this customer is ${planTier} as of now.\n"
            "Today is ${dayLabel} in the calendar of the shop.\n"
            f"The last step was ${{progress}} of the whole task.\n{RULES}`;\n"
            '  return client.chat.completions.create({ model: "m", messages: [\n'
            '    { role: "system", content: system }, { role: "user", content: q } ] });\n'
            "}\n",
        },
        {"shop": "constant", "planTier": "identity", "dayLabel": "day", "progress": "turn"},
    ),
}


@pytest.mark.parametrize("kind", LEARNED)
def test_levels_of_variables_are_learned_and_are_settings_that_lint_reads(
    kind, tmp_path, capsys, monkeypatch
):
    files, levels = LEARNED[kind]
    project(tmp_path / "code", files)

    def system(n):
        return (
            "You are the clerk of the mail-order shop in all matters of mail.\n"
            f"The plan of this customer is {['gold', 'basic', 'basic'][n // 4 % 3]} as of now.\n"
            f"Today is the day number {n // 24} in the calendar of the shop.\n"
            f"The last step was {n % 4} of the whole task.\n\n{RULES}"
        )

    path = log(
        tmp_path / "log.jsonl",
        system,
        requests=120,
        arrived_s=lambda n: n * 3600.0,
        tenant=lambda n: f"tenant {n // 4 % 3}",
        session=lambda n: f"session {n // 4}",
    )
    report = explained(capsys, path, "--source", "code", "--learn")
    assert {each["name"]: each["level"] for each in report["variables"]} == levels
    assert all(each["requests"] == 120 for each in report["variables"])
    assert run(["why", path, "--source", "code", "--learn", "--format", "toml"]) == Exit.OK
    made = capsys.readouterr().out
    (tmp_path / "kvaudit.toml").write_text(made.replace("tool.kvaudit.", ""))
    assert load_config().settings.variables == levels
    # What was learned is no longer a guess by name, and so not learned again.
    assert explained(capsys, path, "--source", "code", "--learn")["variables"] == []


def test_a_log_that_has_none_of_the_variables_says_so(tmp_path, capsys):
    project(tmp_path / "code", LEARNED["jinja"][0])
    path = log(tmp_path / "log.jsonl", PROJECTS["jinja"][1])
    assert run(["why", path, "--source", "code", "--learn", "--format", "toml"]) == Exit.OK
    assert capsys.readouterr().out.startswith("# no variable")
