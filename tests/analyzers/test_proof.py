"""Findings are warnings and errors where each link of their chain is seen, else information."""

from dataclasses import replace

import pytest
from linted import linted

from kvaudit.analyzers.arbitration import arbitrate
from kvaudit.analyzers.examples import OneFile
from kvaudit.analyzers.profile import Profile
from kvaudit.analyzers.ruleset import choose_rules
from kvaudit.analyzers.run import documents_of, lint_document, look
from kvaudit.core.document import Origin
from kvaudit.core.doubt import Doubt
from kvaudit.core.findings import Severity
from kvaudit.core.sources import Source

RULES = choose_rules().used
CLOCK = """\
from datetime import datetime

def system_prompt():
    return f"It is {datetime.now()}. You answer questions about invoices. " + RULES

"""
SENT = """\
def ask(client, history):
    system = {"role": "system", "content": system_prompt()}
    return client.messages.create(model="m", messages=[system, *history])
"""
ONCE = """\
def ask(client, question):
    system = {"role": "system", "content": system_prompt()}
    asked = {"role": "user", "content": question}
    return client.messages.create(model="m", messages=[system, asked])
"""
SHORT = 'RULES = "Quote the number of the invoice."\n'
MIDDLE = f"RULES = {'Quote the number of each invoice that is asked for. ' * 40!r}\n"
LONG = f"RULES = {'Quote the number of each invoice that is asked for. ' * 100!r}\n"


def told(text, path="app.py", *, rules=RULES, variables=None, code="KV001"):
    """The severity and the doubt of the gravest finding of a rule."""
    project = OneFile()
    project.variables = variables or {}
    looked = look(Source(path, text), project, rules, Profile())
    found = [f for f in arbitrate(looked.findings) if f.code == code]
    return max(((f.severity, f.doubt) for f in found), key=lambda row: row[0].rank)


def test_a_clock_before_a_conversation_is_an_error():
    assert told(SHORT + CLOCK + SENT) == (Severity.ERROR, None)


def test_a_name_does_not_prove_that_a_text_is_sent():
    severity, doubt = told(LONG + CLOCK)
    assert severity is Severity.INFO
    assert doubt is Doubt.NOT_SENT


def test_without_a_conversation_enough_fixed_text_must_be_lost():
    severity, doubt = told(MIDDLE + CLOCK + ONCE)
    assert severity is Severity.INFO
    assert doubt is Doubt.SMALL
    assert told(LONG + CLOCK + ONCE) == (Severity.ERROR, None)


@pytest.mark.parametrize("path", ["tests/test_app.py", "examples/app.py", "evals/app.py"])
def test_tests_and_examples_are_information(path):
    severity, doubt = told(SHORT + CLOCK + SENT, path)
    assert severity is Severity.INFO
    assert doubt is Doubt.ASIDE


SETUP = """\
from langchain_redis import RedisSemanticCache

def cache(embeddings):
    return RedisSemanticCache(redis_url="redis://kv", embeddings=embeddings)
"""


@pytest.mark.parametrize(
    ("path", "severity", "doubt"),
    [
        ("app/cache.py", Severity.ERROR, None),
        ("examples/cache.py", Severity.WARNING, None),
        ("tests/cache.py", Severity.INFO, Doubt.ASIDE),
        ("e2e/profiles/test_cache.py", Severity.INFO, Doubt.ASIDE),
    ],
)
def test_what_a_test_sets_up_it_tries_and_an_example_is_copied(path, severity, doubt):
    assert told(SETUP, path, code="KV503") == (severity, doubt)


def test_where_no_call_is_in_sight_what_is_named_like_a_prompt_is_one():
    def level(*texts):
        files = {f"file{n}.py": text for n, text in enumerate(texts)}
        found = linted(files, RULES).findings
        return {f.severity for f in found if f.code == "KV001"}

    sends_another = (SHORT + CLOCK + SENT).replace("{datetime.now()}", "winter")
    assert level(LONG + CLOCK) == {Severity.ERROR}
    assert level(LONG + CLOCK, sends_another) == {Severity.INFO}
    assert level(MIDDLE + CLOCK) == {Severity.INFO}


def test_of_a_function_alone_nothing_says_that_a_conversation_goes_on():
    alone = COPIED.replace('client.messages.create(model="m", messages=request)', "request")
    found = linted({"file.py": alone}, RULES).findings
    assert {f.severity for f in found if f.code == "KV110"} == {Severity.INFO}


def test_a_name_in_a_template_is_a_level_less():
    template = "It is {{ current_time }}.\n" + "You answer questions about invoices. " * 200
    assert told(template, "prompts/a.j2") == (Severity.WARNING, None)
    said = {"current_time": Origin.CLOCK}
    assert told(template, "prompts/a.j2", variables=said) == (Severity.ERROR, None)
    assert told(template.replace("current_time", "now()"), "prompts/a.j2")[0] is Severity.ERROR


def test_a_name_at_the_end_of_a_template_loses_nothing():
    template = "You answer questions about invoices. " * 200 + "It is {{ current_time }}."
    assert told(template, "prompts/a.j2") == (Severity.INFO, Doubt.SMALL)
    assert told(template, "prompts/system.j2") == (Severity.WARNING, None)
    assert told(template.replace("current_time", "now()"), "prompts/a.j2")[0] is Severity.ERROR


def test_a_template_that_calls_something_a_memory_does_not_say_when_it_is_read():
    template = "{{ memory }}\n" + "You answer questions about invoices. " * 200
    assert told(template, "prompts/a.j2", code="KV009") == (Severity.INFO, Doubt.STAYS)
    said = {"memory": Origin.LIVE_STATE}
    assert told(template, "prompts/a.j2", variables=said, code="KV009")[0] is Severity.ERROR


COPIED = """\
import copy

def turn(client, messages, note):
    request = copy.deepcopy(messages)
    request[-1]["content"] += note
    answer = client.messages.create(model="m", messages=request)
"""


def test_only_a_conversation_that_goes_on_is_sent_again():
    assert told(COPIED, code="KV110") == (Severity.INFO, Doubt.NAMED)
    goes_on = COPIED + '    messages.append({"role": "assistant", "content": answer})\n'
    assert told(goes_on, code="KV110") == (Severity.ERROR, None)


def test_what_a_store_holds_may_stay_the_same():
    text = SHORT + (CLOCK + SENT).replace("datetime.now()", "cursor.fetchone()")
    severity, doubt = told(text, code="KV009")
    assert severity is Severity.INFO
    assert doubt is Doubt.STAYS


def test_files_are_listed_alike_and_answers_are_not():
    text = """\
import asyncio, os

async def ask(client, history, folder, jobs):
    listed = ", ".join({found})
    system = {{"role": "system", "content": f"You have {{listed}}. " + {rules!r}}}
    return await client.messages.create(model="m", messages=[system, *history])
"""
    rules = "Quote the number of each invoice that is asked for. " * 30
    assert told(text.format(found="os.listdir(folder)", rules=rules), code="KV104") == (
        Severity.INFO,
        Doubt.STAYS,
    )
    finished = "[await one for one in asyncio.as_completed(jobs)]"
    assert told(text.format(found=finished, rules=rules), code="KV104") == (Severity.ERROR, None)


def test_whoever_says_how_grave_a_rule_is_means_it():
    rules = choose_rules(severity={"sub-day-clock": "warning"}).used
    assert told(LONG + CLOCK, rules=rules) == (Severity.WARNING, None)


WINDOW = """\
class Context:
    async def get_messages(self) -> {given}:
        messages = self._messages[-self._size :]
        return messages
"""


def test_a_type_of_a_model_s_messages_proves_that_they_are_sent():
    assert told(WINDOW.format(given="list[LLMMessage]"), code="KV114") == (Severity.ERROR, None)
    severity, doubt = told(WINDOW.format(given="list[Mail]"), code="KV114")
    assert (severity, doubt) == (Severity.INFO, Doubt.NOT_SENT)


@pytest.mark.parametrize("last", ["at < most - 1", "not is_last_step", "at + 1 != self.most"])
def test_no_turn_follows_the_last_round_of_a_loop_whose_tools_differ(last):
    text = (
        "def run(self, client, messages, tools, most):\n    for at in range(most):\n"
        "        is_last_step = at + 1 == most\n        client.chat.completions.create("
        "model='m', messages=messages, tools=tools if {} else None)\n"
    )
    assert told(text.format(last), code="KV105") == (Severity.INFO, Doubt.STAYS)
    assert told(text.format("at == 0"), code="KV105") == (Severity.ERROR, None)


def test_the_order_of_a_set_must_spoil_something():
    text = (
        "def ask(client, tools, question, {more}):\n"
        "    topics = ', '.join({{tool.tag for tool in tools}})\n"
        "    system = {{'role': 'system', 'content': f'Topics: {{topics}}. {{RULES}}'}}\n"
        "    asked = {{'role': 'user', 'content': question}}\n"
        "    return client.chat.completions.create(model='m', messages=[system, {turns}asked])\n"
    )
    once, again = text.format(more="at", turns=""), text.format(more="history", turns="*history, ")
    assert told(SHORT + once, code="KV102") == (Severity.INFO, Doubt.SMALL)
    assert told(LONG + LONG.replace("=", "+=", 1) + once, code="KV102") == (Severity.ERROR, None)
    assert told(SHORT + again, code="KV102") == (Severity.ERROR, None)


@pytest.mark.parametrize(("role", "told_as"), [("'Reviewer'", Severity.ERROR), ("plan.role", None)])
def test_an_agent_of_which_nothing_is_known_has_nothing_to_lose(role, told_as):
    text = (
        "def make(plan):\n    names = set(plan.tools)\n"
        "    tools = [TOOLS[name] for name in names]\n"
        f"    return Agent(role={role}, goal=plan.goal, backstory=plan.story, tools=tools)\n"
    )
    severity, doubt = told(text, code="KV102")
    assert severity is (told_as or Severity.INFO)
    assert doubt is (None if told_as else Doubt.SMALL)


@pytest.mark.parametrize("name", ["prompts/system.datetime.md", "prompts/system.j2"])
def test_a_note_is_no_system_text_whatever_its_file_is_called(name):
    note = "# Time of the reader\n- it is {{ current_time }}\n- {{ rest }}\n"
    assert told(note, name) == (Severity.INFO, Doubt.SMALL)
    assert told(note + "You answer questions.\n", name) == (Severity.WARNING, None)


def test_the_number_behind_a_limit_is_a_bound_and_no_count():
    text = "This is {}{{{{ step_count }}}} steps. " + "You say why the goal was missed. " * 200
    bound = text.format("not done within the limit of ")
    assert told(bound, "prompts/a.j2", code="KV006") == (Severity.INFO, Doubt.STAYS)
    assert told(text.format("after "), "prompts/a.j2", code="KV006")[0] is Severity.WARNING


@pytest.mark.parametrize(
    "sent", ["messages=[['user', text]]", "messages=[{'role': 'user', 'content': text}]"]
)
def test_in_a_request_of_one_message_fixed_text_behind_a_clock_is_lost(sent):
    text = (
        "from datetime import datetime\n\ndef ask(client, history, question):\n"
        "    text = f'It is {datetime.now()}. {RULES} {question}'\n"
        f"    return client.chat.completions.create(model='m', {sent})\n"
    )
    assert told(LONG + text) == (Severity.ERROR, None)
    assert told(MIDDLE + text) == (Severity.INFO, Doubt.SMALL)
    with_turns = LONG + text.replace("messages=[", "messages=[*history, ")
    looked = look(Source("app.py", with_turns), OneFile(), RULES, Profile())
    assert "KV001" not in {finding.code for finding in looked.findings}


@pytest.mark.parametrize(
    ("call", "doubt"),
    [
        ("LLM(model=name, enable_prefix_caching=False)", None),
        ("self.Settings(model=name, enable_prefix_caching=False)", Doubt.NOT_SENT),
        ("LLM(model='deepseek-ocr', enable_prefix_caching=False)", Doubt.SMALL),
        ("LLM(**{'model': 'x-reranker', 'enable_prefix_caching': False})", Doubt.SMALL),
    ],
)
def test_a_switch_proves_nothing_in_settings_or_where_nothing_is_shared(call, doubt):
    text = f"def serve(self, name, prompt):\n    llm = {call}\n    return llm.generate(prompt)\n"
    severity = Severity.WARNING if doubt is None else Severity.INFO
    assert told(text, code="KV315") == (severity, doubt)


@pytest.mark.parametrize(("again", "severity"), [(True, Severity.ERROR), (False, Severity.INFO)])
def test_a_prompt_that_is_kept_in_an_attribute_is_as_old_as_the_method_that_set_it(again, severity):
    text = (
        "from datetime import datetime\nclass Agent:\n"
        "    def ask(self, llm, history):\n        self.begin()\n"
        "        return llm.invoke([('system', self.prompt), *history])\n"
        "    def begin(self):\n        self.prompt = f'It is {datetime.now()}. ' + RULES\n"
    )
    text = text if again else text.replace("        self.begin()\n", "")
    assert told(LONG + text)[0] is severity


@pytest.mark.parametrize(
    ("found", "code", "severity"),
    [
        ("self.memory.search(question)", "KV009", Severity.ERROR),
        ("self.memory.search(messages[-1]['content'])", "KV009", Severity.ERROR),
        ("self.vector_store.similarity_search(question)", "KV203", Severity.ERROR),
        ("self.memory.search(task)", "KV009", Severity.INFO),
        ("self.memory.load()", "KV009", Severity.INFO),
    ],
)
def test_what_is_looked_up_with_the_words_of_a_turn_differs_with_them(found, code, severity):
    text = (
        f"def ask(self, client, messages, question, task):\n    found = {found}\n"
        "    system = {'role': 'system', 'content': f'You are kind. Known: {found}'}\n"
        "    asked = {'role': 'user', 'content': question}\n"
        "    return client.create(model='m', messages=[system, *messages, asked])\n"
    )
    assert told(text, code=code)[0] is severity


@pytest.mark.parametrize(("field", "level"), [("name", Severity.WARNING), ("goal", Severity.INFO)])
def test_a_list_of_tools_before_a_clock_makes_a_prompt_no_other(field, level):
    listed = "You are an agent. {% for b in barriers %}{{ b." + field + " }} {% endfor %}\n"
    listed += "It is {{ current_time }}.\n" + "Answer in one line. " * 100
    made = documents_of(Source("prompts/system.j2", listed), OneFile())
    found = lint_document(replace(made[0], multi_turn=False), RULES, Profile())
    assert [f.severity for f in found if f.code == "KV001"] == [level]


def test_what_a_tool_says_of_its_arguments_is_sent_by_the_framework_it_is_made_for():
    tool = """
class Interpreter({base}):
    description = "Runs code."
    def __init__(self, extra):
        self.modules = list(set(BASE) | set(extra))
        self.{shown} = {{"code": {{"description": f"May import {{self.modules}}."}}}}
"""

    def level(base, shown):
        text = SHORT + CLOCK + SENT + tool.format(base=base, shown=shown)
        return told(text, code="KV102")

    assert level("Tool", "inputs") == (Severity.ERROR, None)
    assert level("framework.BaseTool", "parameters") == (Severity.ERROR, None)
    # No arguments that a model could fill in: it may be any program's tool.
    severity, doubt = level("Tool", "default")
    assert (severity, doubt) == (Severity.INFO, Doubt.NOT_SENT)
