"""Values that reach a prompt through returned tuples and dicts, fields and other modules."""

import pytest

from .reading import found

BEHIND = "Judge the answers by these rules and give your reasons. " * 30
DRAWN = """
import random
def load(pool):
    chosen = random.sample(pool, 3)
    return {returned}
def judge(pool):
    {taken}
    return llm.chat(messages=[{"role": "user", "content": PROMPT.format(shots=str(shots))}])
PROMPT = "Here are some. {shots} {behind}"
""".replace("{behind}", BEHIND)


def drawn(returned, taken):
    return DRAWN.replace("{returned}", returned).replace("{taken}", taken)


@pytest.mark.parametrize(
    ("returned", "taken"),
    [
        ("3, chosen", "_, shots = load(pool)"),
        ('{"shots": chosen, "n": 3}', 'shots = load(pool)["shots"]'),
        ("chosen", "shots = load(pool)"),
    ],
)
def test_examples_that_a_function_draws_are_found_in_its_callers_prompt(returned, taken):
    text = drawn(returned, taken)
    assert found(text) == [("KV101", "random.sample(pool, 3)")]


def test_what_is_drawn_behind_all_fixed_text_costs_nothing():
    text = drawn("chosen", "shots = load(pool)")
    text = text.replace("{shots} " + BEHIND, BEHIND + " {shots}")
    assert found(text) == []


def test_the_finding_shows_where_the_order_reaches_the_prompt():
    text = (
        "import random\ndef system_prompt(pool):\n    shots = random.sample(pool, 3)\n"
        "    return 'Help.' + ', '.join(s for s in shots) + RULES"
    )
    assert found(text, related=True) == [
        ("KV101", "random.sample(pool, 3)", ["', '.join(s for s in shots)"])
    ]


FIELD = """
from datetime import datetime
class Context(BaseModel):
    opened: datetime = {made}
    def system_prompt(self):
        return f"Opened {{self.opened}}. " + RULES
"""


@pytest.mark.parametrize("factory", ["lambda: datetime.now()", "datetime.now"])
@pytest.mark.parametrize("maker", ["Field", "field"])
def test_a_factory_of_a_field_runs_once_for_an_object(maker, factory):
    made = f"{maker}(default_factory={factory})"
    assert found(FIELD.format(made=made)) == [("KV005", "self.opened")]


def test_a_factory_runs_anew_for_an_object_that_each_call_makes():
    text = FIELD.format(made="Field(default_factory=lambda: datetime.now())").split("    def")[0]
    made = "\ndef system_prompt():\n    c = Context()\n    return f'{c.opened} ' + RULES"
    assert found(text + made) == [("KV001", "c.opened")]
    given = made.replace("Context()", "Context(opened=START)")
    assert found(text + given) == []


def test_the_type_of_a_parameter_says_what_its_fields_are():
    text = FIELD.format(made="Field(default_factory=lambda: datetime.now())").split("    def")[0]
    asked = "\ndef system_prompt(c: {}):\n    return f'{{c.opened}} ' + RULES"
    for written in ("Context", "Context | None", "Optional[Context]"):
        assert found(text + asked.format(written)) == [("KV005", "c.opened")]
    assert found(text + asked.format("Other")) == []


def test_passages_in_order_of_score_cost_only_where_something_stands_behind():
    text = (
        "def ask(q, history):\n    docs = store.similarity_search(q)\n"
        "    system = f'You are a helper. Use only this: {docs}. Answer briefly.'\n"
        "    return llm.chat(messages=[{'role': 'system', 'content': system}, %s"
        "{'role': 'user', 'content': q}])"
    )
    assert found(text % "") == []
    assert found(text % "*history, ") == [("KV203", "docs")]


def test_what_a_memory_holds_is_live_state_before_it_is_content():
    text = (
        "def ask(q, history):\n    known = memory.search(q)\n"
        "    system = f'You are a helper. You know: {known}.'\n"
        "    return llm.chat(messages=[{'role': 'system', 'content': system}, *history])"
    )
    assert found(text) == [("KV009", "known")]


@pytest.mark.parametrize(
    ("hole", "told"),
    [
        ("now()", ["KV001"]),
        ("now().strftime('%H:%M')", ["KV001"]),
        ("uuid4()", ["KV003"]),
        ("now().strftime('%d %B')", []),
        ("persona()", []),
    ],
)
def test_a_hole_that_calls_something_is_read_as_in_a_template(hole, told):
    text = (
        f'SYSTEM_PROMPT = """You are kind. It is {{{{ {hole} }}}}. {"Answer kindly. " * 300}"""\n'
        "def ask(client, question):\n    text = Template(SYSTEM_PROMPT).render(now=datetime.now)\n"
        "    return client.create(messages=[{'role': 'system', 'content': text}])\n"
    )
    assert [code for code, _ in found(text)] == told


@pytest.mark.parametrize(("mark", "told"), [("{now}", ["KV001"]), ("{never}", [])])
def test_marks_that_a_loop_puts_in_are_followed(mark, told):
    text = (
        f"from datetime import datetime\nTEXT = 'You are kind. It is {{now}}. ' + {BEHIND!r}\n"
        "def ask(client, who):\n    text = TEXT\n"
        f"    marks = {{'{mark}': str(datetime.now()), '{{who}}': who}}\n"
        "    for mark, value in marks.items():\n        text = text.replace(mark, value)\n"
        "    part = ChatTextContent(text=text)\n"
        "    return client.create(messages=[ChatMessage(role='system', content=[part])])\n"
    )
    assert [code for code, _ in found(text)] == told


@pytest.mark.parametrize("first", ["None", "''"])
@pytest.mark.parametrize(("name", "told"), [("prompt", ["KV001"]), ("weather", [])])
def test_a_prompt_that_one_method_keeps_is_sent_by_another(first, name, told):
    text = (
        "from datetime import datetime\nclass Agent:\n"
        f"    def __init__(self):\n        self.{name} = {first}\n"
        "    def ask(self, llm, question):\n        self.build()\n"
        f"        return llm.invoke([('system', self.{name}), ('user', question)])\n"
        "    def build(self):\n"
        f"        self.{name} = f'It is {{datetime.now()}}. ' + {BEHIND!r}\n"
    )
    assert [code for code, _ in found(text)] == told
