"""Prompts that reach a model through functions of the project are sent to it."""

import pytest

from kvaudit.analyzers.profile import Profile
from kvaudit.analyzers.ruleset import choose_rules
from kvaudit.analyzers.run import look
from kvaudit.core.doubt import Doubt
from kvaudit.core.findings import Severity
from kvaudit.core.sources import Source

from .reading import Files

RULES = choose_rules().used
LONG = f"RULES = {'Quote the number of each invoice that is asked for. ' * 100!r}\n"
HEAD = f'"""Asks an llm."""\nfrom datetime import datetime\nfrom wire import ask\n{LONG}'
CALLS = {
    "by place": 'def answer(q):\n    return ask(f"It is {datetime.now()}. " + RULES, q)\n',
    "by name": (
        "def answer(q):\n"
        '    text = f"It is {datetime.now()}. " + RULES\n    return ask(question=q, rules=text)\n'
    ),
    "built elsewhere": (
        'def rules():\n    return f"It is {datetime.now()}. " + RULES\n\n'
        "def answer(q):\n    return ask(rules(), q)\n"
    ),
}
SENDS = """\
def ask(rules, question):
    return client.chat.completions.create(
        model="m", messages=[{"role": "system", "content": rules},
                             {"role": "user", "content": question}])
"""
WIRES = {
    "itself": SENDS,
    "a wrapper": SENDS.replace("ask(", "_post(")
    + "\ndef ask(rules, question):\n    return retry(lambda: 0) or _post(rules, question)\n",
    "over http": """\
def ask(rules, question):
    body = {"model": "m", "messages": [{"role": "system", "content": rules},
                                       {"role": "user", "content": question}]}
    return httpx.post(URL, json=body)
""",
    "by a method": """\
class Client:
    def run(self, rules, question):
        return self.llm.ainvoke([SystemMessage(content=rules), HumanMessage(content=question)])

client = Client()

def ask(rules, question):
    return client.run(rules, question)
""",
}


def told(text, **modules):
    """The severity and the doubt of the gravest finding of a clock."""
    looked = look(Source("app.py", text), Files(**modules), RULES, Profile())
    found = [f for f in looked.findings if f.code == "KV001"]
    return max(((f.severity, f.doubt) for f in found), key=lambda row: row[0].rank, default=None)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("wire", WIRES)
def test_what_a_function_elsewhere_sends_is_sent(call, wire):
    assert told(HEAD + CALLS[call], wire=WIRES[wire]) == (Severity.ERROR, None)


def test_what_a_function_only_writes_down_is_not_sent():
    writes = "def ask(rules, question):\n    log.info(rules)\n    store(rules, question)\n"
    severity, doubt = told(HEAD + CALLS["by name"].replace("text", "system_prompt"), wire=writes)
    assert (severity, doubt) == (Severity.INFO, Doubt.NOT_SENT)


def test_functions_that_call_each_other_in_a_circle_end():
    circle = (
        "def ask(rules, question):\n    return more(rules, question)\n\n"
        "def more(r, q):\n    return ask(r, q) or print('the messages')\n"
    )
    told(HEAD + CALLS["by place"], wire=circle)


def test_messages_in_another_form_are_the_same_messages():
    text = (
        LONG
        + """\
from datetime import datetime

def answer(llm, memory, asked):
    system_prompt = f"It is {datetime.now()}. Answer with care."
    system = {"role": "system", "content": system_prompt}
    messages = llm.format_msg([system, *memory, {"role": "user", "content": asked}])
    return llm.aask(messages)
"""
    )
    assert told(text) == (Severity.ERROR, None)


def test_a_message_has_its_position_wherever_it_is_put():
    wire = """\
def ask(first, past):
    every = []
    if first:
        every.append(first)
    every.extend(past)
    return client.create(messages=every)
"""
    text = """\
from datetime import datetime
from wire import ask

def answer(history):
    system_prompt = f"It is {datetime.now()}. Answer with care."
    return ask({"role": "system", "content": system_prompt}, history)
"""
    assert told(text, wire=wire) == (Severity.ERROR, None)


def test_a_conversation_of_another_file_is_not_looked_for_in_this_one():
    wire = """\
def ask(rules, history):
    history.insert(0, {"role": "system", "content": rules})
    return client.chat.completions.create(model="m", messages=history)
"""
    text = HEAD.replace("\n", "\n# 設定設定設定設定\n", 1) + (
        'def answer(history):\n    return ask(f"It is {datetime.now()}. " + RULES, history)\n'
    )
    assert told(text, wire=wire) == (Severity.ERROR, None)
