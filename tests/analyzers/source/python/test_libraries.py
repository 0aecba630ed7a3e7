"""Prompts as libraries have them written: placeholders, tool classes, compiled templates."""

import pytest

from kvaudit.core.document import Origin, Position

from .reading import found, segments

RULES = "Follow the rules of this house with care, and name the page. " * 30
LOOKUP = """
def ask(question):
    return ChatPromptTemplate.from_messages([
        ("system", "You are a helper. Use these: {{context}}. Answer briefly."), {placeholder},
        ("human", "{{input}}"),
    ])
"""


@pytest.mark.parametrize(
    "placeholder",
    [
        '("placeholder", "{chat_history}")',
        'MessagesPlaceholder("chat_history")',
        "MessagesPlaceholder(variable_name='chat_history', optional=True)",
    ],
)
def test_request_content_before_a_placeholder_of_the_history_is_found(placeholder):
    assert found(LOOKUP.format(placeholder=placeholder)) == [("KV203", "{context}")]


def test_notes_of_the_newest_turn_are_no_history():
    placed = '("human", "{input}"), MessagesPlaceholder("agent_scratchpad"),'
    text = LOOKUP.replace("{placeholder},", placed).replace('("human", "{{input}}"),', "")
    text = text.replace("{{", "{").replace("}}", "}")
    assert found(text) == []
    assert [s.position for s in segments(text)][-1] is Position.TAIL


@pytest.mark.parametrize(
    "placeholder", ['("placeholder", "{chat_history}")', 'MessagesPlaceholder("chat_history")']
)
def test_fixed_text_behind_the_history_is_lost_on_every_turn(placeholder):
    text = f"ChatPromptTemplate.from_messages([{placeholder}, ('system', {RULES * 4!r})])"
    assert [code for code, _ in found(text)] == ["KV204"]
    reminder = "ChatPromptTemplate.from_messages([" + placeholder + ", ('system', 'Be brief.')])"
    assert found(reminder) == []
    rules = "Answer from the handbook. " * 50
    short = f"ChatPromptTemplate.from_messages([{placeholder}, ('system', {rules!r})])"
    assert found(short) == []


def test_messages_of_every_class_have_their_role():
    messages = "[SystemMessage(RULES), HumanMessagePromptTemplate.from_template('{q} or {n}')]"
    roles = [s.position for s in segments(f"ChatPromptTemplate.from_messages({messages})")]
    assert roles[0] is Position.SYSTEM
    assert Position.NEWEST in roles


def test_a_conversation_kept_in_a_memory_is_the_history():
    text = (
        "def ask(q):\n    turns = self.memory.get_messages()\n"
        "    return llm.chat(messages=[*turns, {'role': 'user', 'content': q}])"
    )
    assert Origin.HISTORY in {s.origin for s in segments(text)}
    assert found(text) == []


TOOL = """
class Interpreter(Tool):
    description = "Runs code."
    def __init__(self, extra):
        self.modules = {made}
        self.inputs = {{"code": {{"description": f"May import {{self.modules}}."}}}}
"""


def test_the_order_of_a_set_in_a_tool_class_is_found():
    assert found(TOOL.format(made="list(set(BASE) | set(extra))")) == [
        ("KV102", "set(BASE) | set(extra)")
    ]
    assert found(TOOL.format(made="sorted(set(BASE) | set(extra))")) == []
    other = TOOL.replace("(Tool)", "(Page)").format(made="list(set(BASE) | set(extra))")
    assert found(other) == []


def test_a_session_value_in_the_property_of_a_tool_class_is_found():
    text = (
        "import os\nclass ShellTool(BaseTool):\n    @property\n    def description(self):\n"
        "        return f'Runs a command in {os.getcwd()}.'"
    )
    assert found(text) == [("KV106", "os.getcwd()")]


def test_the_values_of_a_compiled_template_stand_where_its_holes_are():
    text = (
        "from datetime import datetime\nfrom jinja2 import Template\n"
        f"SYSTEM_TEMPLATE = Template('It is {{{{ now }}}}. {RULES}')\n"
        "def start():\n    return SYSTEM_TEMPLATE.render(now=datetime.now())"
    )
    assert ("KV001", "datetime.now()") in found(text)


def test_what_fills_a_template_of_another_file_reaches_the_prompt():
    text = (
        "from datetime import datetime\n@dataclass\nclass Info:\n    date: str\n"
        "class PromptManager:\n    def build(self):\n"
        "        info = Info(date=str(datetime.now()))\n"
        "        return self.system_template.render(info=info)"
    )
    assert [code for code, _ in found(text)] == ["KV001"]


def test_of_a_record_among_the_messages_the_time_is_for_the_store():
    text = (
        "from datetime import datetime\nclass Record(BaseModel):\n    role: str\n    {0}: str\n"
        "def step(history, rows):\n"
        "    told = [Record(role='approval', {0}=datetime.now()) for row in rows]\n"
        "    return llm.chat(messages=history + told)"
    )
    assert found(text.format("created_at")) == []
    assert [code for code, _ in found(text.format("reason"))] == ["KV001"]


def test_of_a_message_only_what_is_sent_is_text():
    made = "Message(role='tool', content=result, id=str(uuid4()), created_at=datetime.now())"
    text = (
        "from datetime import datetime\nfrom uuid import uuid4\n"
        f"def step(history, result):\n    turns = history + [{made}]\n"
        "    return llm.chat(messages=turns)"
    )
    assert found(text) == []
    assert not {Origin.RANDOM, Origin.CLOCK} & {s.origin for s in segments(text)}
    sent = text.replace("content=result", "content=f'{datetime.now()} {result}'")
    assert Origin.CLOCK in {s.origin for s in segments(sent)}


def test_what_is_stored_is_not_sent():
    system = "{{'role': 'system', 'content': f'{{datetime.now()}} ' + RULES}}"
    text = (
        "from datetime import datetime\ndef keep(history):\n"
        "    {}(messages=[" + system + ", *history])"
    )
    assert found(text.format("store.create_many_messages")) == []
    assert found(text.format("llm.chat")) == [("KV001", "datetime.now()")]


def test_a_clock_alone_is_no_prompt_whatever_the_name():
    text = (
        "from datetime import datetime\ndef package_system_message(system_message):\n"
        "    return json.dumps({'message': system_message, 'time': str(datetime.now())})"
    )
    assert found(text) == []


def test_a_number_that_tells_agents_apart_is_no_counter():
    text = (
        "def team():\n    for i in range(3):\n"
        "        agents.append({}(model=MODEL, instructions=f'You are helper {{i}}. {RULES}'))"
    )
    assert found(text.replace("{RULES}", RULES).format("Agent")) == []
    assert [c for c, _ in found(text.replace("{RULES}", RULES).format("llm.chat"))] == ["KV006"]


@pytest.mark.parametrize(("value", "codes"), [('kwargs["tools"]', []), ("kwargs", ["KV103"])])
def test_keyword_arguments_come_in_an_order_of_others_and_each_in_its_own(value, codes):
    text = f"def system_prompt(**kwargs):\n    return 'Help. ' + json.dumps({value}) + RULES"
    assert [code for code, _ in found(text)] == codes


@pytest.mark.parametrize(
    "call",
    [
        "Message(role=Role.SYSTEM, content=text)",
        "ChatMessageSimple(message=text, message_type=MessageType.SYSTEM)",
        "self.format_chat_message(role='system', content=text)",
    ],
)
def test_a_message_is_one_whoever_makes_it(call):
    text = (
        "from datetime import datetime\n"
        "def ask(self, client, history):\n    text = f'It is {datetime.now()}. Answer briefly.'\n"
        f"    return client.create(messages=[{call}, *history])\n"
    )
    assert found(text) == [("KV001", "datetime.now()")]


def test_a_history_beside_a_system_text_is_a_conversation():
    text = (
        "from datetime import datetime\n"
        "def ask(agent, q, past):\n    text = f'It is {datetime.now()}. Answer briefly.'\n"
        "    return run_llm(q, system_prompt=text, chat_history_x=past)\n"
    )
    assert Position.HISTORY not in {s.position for s in segments(text)}
    text = text.replace("chat_history_x", "message_history")
    assert Position.HISTORY in {s.position for s in segments(text)}
