"""What looks like a fault on real code and is none, beside the same fault where it is one."""

from dataclasses import replace
from pathlib import Path

import pytest

from kvaudit.analyzers.arbitration import settled
from kvaudit.analyzers.profile import Profile
from kvaudit.analyzers.run import documents_of, lint_document
from kvaudit.core.findings import Severity
from kvaudit.core.rulebook import load_rules
from kvaudit.core.sources import Source

from .reading import Files, found

RULES = load_rules()
LONG = "RULES = '''" + "Answer from the handbook and from nothing else. " * 120 + "'''\n"
CLOCK = "from datetime import date, datetime\nimport uuid\n"


def graded(text, *, low=False, path="prompts.py"):
    """Codes and severities of what is reported, information included."""
    return {
        (f.code, f.severity)
        for d in documents_of(Source(path, text), Files())
        for f in settled(d, lint_document(replace(d, low_stakes=low), RULES, Profile()))
    }


def codes(text, **modules):
    return {code for code, _ in found(text, **modules)}


def test_a_day_that_a_constructor_reads_is_a_day_and_a_time_is_the_sessions():
    agent = (
        CLOCK + LONG + "class Agent:\n    def __init__(self):\n        self.at = {}\n"
        "    def system_prompt(self):\n        return f'Began {{self.at}}. ' + RULES\n"
    )
    assert ("KV002", Severity.INFO) in graded(agent.format("date.today()"))
    assert codes(agent.format("date.today()")) == set()
    assert codes(agent.format("datetime.now()")) == {"KV005"}


def test_nothing_stands_behind_a_value_in_a_template_that_is_not_known():
    text = (
        "import tempfile\n" + LONG + "def build_prompt(settings):\n"
        "    return {}.format(folder=tempfile.mkdtemp(), rules=RULES)\n"
    )
    assert codes(text.format("settings.prompt")) == set()
    assert codes(text.format("'Write to {folder}. {rules}'")) == {"KV005"}


def test_a_time_of_a_message_is_not_what_it_says():
    text = (
        "from dataclasses import dataclass, field\nfrom time import time\n\n"
        "@dataclass\nclass Said:\n    type: str\n    content: str\n"
        "    at: float = field(default_factory=time)\n\n"
        "def keep(rows):\n"
        "    return Payload(messages=[Said(type='user', content={}) for _ in rows])\n"
    )
    assert codes(text.format("'hello'")) == set()
    assert codes(text.format("f'hello at {time()}'")) == {"KV001"}


def test_what_a_run_gave_is_kept_and_not_sent():
    text = (
        "from dataclasses import dataclass, field\nfrom time import time\n\n"
        "@dataclass\nclass Execution:\n    name: str\n"
        "    at: float = field(default_factory=time)\n\n"
        "def finish(history, question, names):\n"
        "    ran = [Execution(name=name) for name in names]\n"
        "    said = [*history, {{'role': 'user', 'content': question}}]\n"
        "    return {}(messages=said, tools=ran)\n"
    )
    assert codes(text.format("runs.RunOutput")) == set()
    assert codes(text.format("client.chat.completions.create")) == {"KV001"}


def test_behind_the_system_text_the_newest_message_is_the_newest():
    body = (
        "def ask(model, text, history):\n    tag = str(uuid.uuid4())\n"
        "    turns = [{{'role': 'system', 'content': {} + RULES}},\n"
        "             {{'role': 'user', 'content': {} + text + 'Output:'}}]\n"
        "    return model.chat({})\n"
    )
    text = CLOCK + LONG + body
    assert codes(text.format("''", "tag", "turns[0]['content'], turns[1:]")) == set()
    assert codes(text.format("tag", "''", "[*turns, *history]")) == {"KV003"}


def test_events_of_a_protocol_are_no_prompt():
    body = "():\n    name = str(uuid.uuid4())\n    return [f'Begin {name}', f'End {name}']\n"
    assert codes(CLOCK + "def system_prompt_events" + body) == set()
    assert codes(CLOCK + "def system_prompt" + body) == {"KV003"}


def test_a_set_costs_nothing_behind_what_differs_anyway():
    text = LONG + "def make_prompt(page, tags):\n    return {} + ', '.join(set(tags)) + RULES\n"
    assert codes(text.format("'Tags: '")) == {"KV102"}
    assert codes(text.format("f'The page {page} is open. '")) == set()


def test_the_order_of_a_set_is_no_matter_where_each_numbered_row_differs_anyway():
    text = LONG + (
        "def make_prompt(self, query, topics):\n"
        "    rows = []\n    for n, row in enumerate(list(set({})), 1):\n"
        "        rows.append(f'{{n}}. {{row}}')\n"
        "    return 'Known: ' + ', '.join(rows) + RULES\n"
    )
    assert "KV102" in codes(text.format("topics"))
    assert "KV102" not in codes(text.format("self.memory.search(query)"))


def test_what_is_found_in_a_store_called_a_mem_is_read_anew():
    text = LONG + (
        "def make_prompt(self, query):\n    return f'Known: {{self.{}.search(query)}} ' + RULES\n"
    )
    assert codes(text.format("cube.text_mem")) == {"KV009"}
    assert codes(text.format("cube.member")) == set()


def test_a_set_whose_elements_could_only_fail_stands_in_no_prompt():
    text = LONG + (
        "def make_prompt(found):\n    hits = {}\n    return 'Known: ' + ', '.join(hits) + RULES\n"
    )
    kept = "{{f'{{hit.{}}}' for hit in found if isinstance(hit, {})}}"
    assert codes(text.format(kept.format("uri", "dict"))) == set()
    assert codes(text.format(kept.format("uri", "Hit"))) == {"KV102"}
    assert codes(text.format(kept.format("strip()", "str"))) == {"KV102"}


def test_what_is_only_called_a_memory_needs_more_behind_it_than_a_guess():
    text = LONG + (
        "def agent_prompt(user_memories, custom_instructions):\n"
        "    return f'Known: {{user_memories}}\\n' + {}\n"
    )
    assert ("KV009", Severity.WARNING) in graded(text.format("RULES"))
    assert codes(text.format("f'Also: {custom_instructions}'")) == set()


def test_input_near_the_end_of_a_long_prompt_is_information():
    text = LONG + "def answer_prompt(question):\n    return {}\n"
    closing = "' Mind the form of the answer, and keep it brief.' * 6"
    early = graded(text.format("f'{question}' + RULES"))
    late = graded(text.format(f"RULES + f'{{question}}' + {closing}"))
    assert ("KV201", Severity.WARNING) in early
    assert ("KV201", Severity.WARNING) not in late


def test_braces_of_a_page_that_a_prompt_shows_are_no_holes():
    page = "Write Vue like this: <div id='app'>{{ message }}</div> <input value={message} /> "
    code = "so: return { message } "
    rules = "Answer from the handbook and from nothing else. " * 120
    assert codes(f'SYSTEM_PROMPT = """{page}{code}{rules}"""\n') == set()
    assert codes(f'SYSTEM_PROMPT = """<asked>{{{{ message }}}}</asked> {rules}"""\n') == {"KV201"}


def test_a_getter_whose_caller_says_how_many_is_no_window():
    text = "class Memory:\n    def get_{}_messages(self, n):\n        return self.messages[-{}:]\n"
    assert codes(text.format("recent", "n")) == set()
    assert codes(text.format("recent", "n:] if self.messages else [][0")) == set()
    assert codes(text.format("recent", "self.n")) == {"KV114"}


def test_a_window_of_two_exchanges_and_a_question_asks_about_the_newest_messages():
    text = "def ask(client, history):\n    return client.create(messages=history[-{}:])\n"
    assert codes(text.format(5)) == set()
    assert codes(text.format(6)) == {"KV114"}


def test_a_constant_in_a_file_that_imports_a_client_is_no_request_without_a_mark():
    text = "import anthropic\n" + LONG.replace("RULES", "SYSTEM_PROMPT")
    assert codes(text) == set()
    call = "def ask(client, q):\n    return client.messages.create(model='claude-sonnet-4-5', "
    assert codes(text + call + "system=SYSTEM_PROMPT, messages=[*hist(), q])\n") == {"KV302"}


def test_a_text_that_changes_so_that_no_cache_hits_is_meant():
    text = (
        CLOCK
        + LONG
        + (
            "def system_prompt():\n    # {}\n    run = uuid.uuid4()\n"
            "    return f'Run {{run}}. ' + RULES\n"
        )
    )
    assert codes(text.format("Prevents prompt caching between runs")) == set()
    assert codes(text.format("keep in mind: avoid cache misses here")) == {"KV003"}


def test_a_test_that_counts_hits_makes_prompts_differ_on_purpose():
    text = CLOCK + LONG + "def system_prompt():\n    return f'Run {uuid.uuid4()}. ' + RULES\n"
    assert ("KV003", Severity.ERROR) in graded(text)
    assert ("KV003", Severity.WARNING) in graded(text, low=True)
    counting = text + "assert usage.cache_read_input_tokens == 0\n"
    assert ("KV003", Severity.INFO) in graded(counting, low=True)
    assert ("KV003", Severity.ERROR) in graded(counting)


def test_a_program_that_makes_one_agent_reads_its_clock_once():
    made = (
        CLOCK + "{}def {}():\n    agent = Agent(instructions=f'It is {{datetime.now()}}. Help.')\n"
        "    agent.run()\n"
    )
    started = "if __name__ == '__main__':\n    main()\n"
    assert codes(made.format("", "main") + started) == set()
    assert codes(made.format("", "handle")) == {"KV001"}


def test_a_template_object_is_the_text_that_it_was_made_of():
    text = (
        CLOCK + "def act(name, seen):\n"
        "    prompt = PromptTemplate.from_template('It is {now}. {seen} What does {name} do?')\n"
        "    return prompt.format(now=datetime.now(), seen=seen, name=name)\n"
    )
    assert codes(text) == set()
    assert codes(text.replace("What does", "What does" + " it say and do" * 90)) == {"KV001"}


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("Talk with {{$name}}.\n{{$bot}} {{$question}}\n{{$history}}\n{{$input}}\n", "info"),
        ("Talk with {{$name}}.\n{{$bot}} {{$question}}\n{{$history}}\n{{$question}}\n", "warning"),
    ],
)
def test_what_is_asked_before_the_conversation_stays(text, level, tmp_path):
    source = Source(str(Path("skprompt.txt")), text)
    severities = {
        f.severity.value
        for d in documents_of(source, Files())
        for f in settled(d, lint_document(d, RULES, Profile()))
        if f.code == "KV203"
    }
    assert severities == {level}


def test_a_server_that_is_asked_again_until_it_answers_is_one_server():
    text = (
        "class Manager:\n    async def fetch_tools(self, servers, client):\n        tools = []\n"
        "        for server in {}:\n            tools.extend(await {}.list_tools())\n"
        "        return tools\n"
    )
    assert codes(text.format("range(3)", "client")) == set()
    assert codes(text.format("servers", "server")) == {"KV104"}


@pytest.mark.parametrize(
    "entry", ["event.dateTime", 'event["timestamp"]', 'event.get("date_time")']
)
def test_the_time_of_a_record_is_not_the_present_one(entry):
    text = LONG + "def make_prompt(event, settings):\n    return f'At {{{}}}: ' + RULES\n"
    assert codes(text.format(entry)) == set()
    assert codes(text.format("settings.current_time")) == {"KV001"}


def test_a_question_that_a_record_holds_is_no_question_of_the_user():
    text = LONG + "def make_prompt(q):\n    return f'For example: {{{}}}. ' + RULES\n"
    assert codes(text.format('q.get("question", "")')) == set()
    assert codes(LONG + "def make_prompt(question):\n    return f'{question}' + RULES\n") == {
        "KV201"
    }


def test_the_messages_that_a_memory_keeps_are_the_conversation():
    text = (
        LONG + "class Agent:\n    def ask(self):\n        messages = self.memory.{}()\n"
        "        return self.client.create(model='m', system=RULES, {}=messages)\n"
    )
    assert codes(text.format("get_messages", "messages")) == set()
    assert codes(text.format("get_message_history", "messages")) == set()
    assert codes(text.format("get_facts", "instructions")) == {"KV009"}


def test_what_a_generator_tells_of_its_progress_is_not_what_it_returns():
    text = (
        CLOCK
        + LONG
        + (
            "def steps(q):\n    yield f'started {{uuid.uuid4()}}'\n    {}\n\n"
            "def system_prompt(q):\n    return f'{{steps(q)}} ' + RULES\n"
        )
    )
    assert codes(text.format("return str(q)")) == set()
    assert codes(text.format("yield 'ended'")) == {"KV003"}


def test_what_was_answered_is_a_conversation_and_no_example():
    shown = "Mind what the warnings say before you go on with the next change. " * 40
    text = (
        f"MIND = {shown!r}\n" + LONG + "def ask(client, file_contents, {args}):\n"
        "    return client.create(model='m', messages=[\n"
        "        {{'role': 'system', 'content': RULES}},\n"
        "        {{'role': 'user', 'content': 'Begin.'}},\n"
        "        {{'role': 'assistant', 'content': {answer}}},\n"
        "        {{'role': 'user', 'content': f'{{file_contents}} {{MIND}}'}},\n"
        "        {{'role': 'user', 'content': 'Go on.'}}])\n"
    )
    assert codes(text.format(args="said", answer="said")) == set()
    assert codes(text.format(args="said", answer="'I begin.'")) == {"KV202"}


def test_behind_a_conversation_no_fixed_text_is_shared():
    text = LONG + (
        "def ask(client, question, history):\n    return client.create(model='m', messages=[\n"
        "        {}{{'role': 'user', 'content': f'{{question}} {{RULES}}'}}])\n"
    )
    assert codes(text.format("*history, ")) == set()
    assert codes(text.format("{'role': 'system', 'content': RULES}, ")) == {"KV201"}


def test_a_page_about_a_prompt_only_mentions_its_marks():
    rules = "Answer from the handbook and from nothing else. " * 120
    for text in (
        "The context has {name}, {history}, {user_message}.\n" + rules,
        "The {user_message} variable is filled by the caller.\n" + rules,
    ):
        assert graded(text, path="prompts/about.md") == set()
    asked = graded("Answer this: {user_message}\n" + rules, path="prompts/ask.md")
    assert asked == {("KV201", Severity.WARNING)}


def test_what_is_asked_once_differs_before_its_clock_already():
    text = (
        CLOCK
        + LONG
        + (
            "def map_prompt(analyses):\n"
            "    return f'Map this. {}Mapped at {{datetime.now()}}. ' + RULES\n"
        )
    )
    assert ("KV001", Severity.ERROR) in graded(text.format(""))
    assert {s for c, s in graded(text.format("{analyses} ")) if c == "KV001"} == {Severity.INFO}


def test_what_goes_with_a_turn_is_the_newest_message():
    text = (
        CLOCK
        + LONG
        + ("def build_{}system_context():\n    return f'At {{datetime.now()}}. ' + RULES\n")
    )
    assert codes(text.format("")) == {"KV001"}
    assert codes(text.format("turn_")) == set()
    assert codes(text.replace("{}system_context", "time_suffix_context")) == set()


def test_an_order_costs_nothing_behind_what_differs_on_each_turn():
    text = (
        CLOCK
        + "import random\n"
        + LONG
        + (
            "def system_prompt(names):\n    random.shuffle(names)\n"
            "    return f'It is {}. Examples: {{names}}. ' + RULES\n"
        )
    )
    assert codes(text.format("late")) == {"KV101"}
    assert codes(text.format("{datetime.now()}")) == {"KV001"}


def test_what_fills_a_template_that_is_not_known_has_no_order():
    text = (
        "class Maker:\n    def build_prompt(self, nodes):\n        return {}\n\n"
        "    def make(self, q):\n        return self.build_prompt(self.retriever.retrieve(q))\n"
    )
    filled = "TEMPLATE.format(file=self.file, nodes=nodes, rules=self.examples)"
    summed = "self.file + nodes + self.examples + MORE_RULES"
    assert codes(text.format(filled)) == set()
    assert codes(text.format(summed)) == {"KV107"}


def test_a_list_of_messages_that_a_caller_gives_has_their_positions():
    text = LONG + (
        "def check(self, messages):\n    return self.llm.invoke(messages=messages)\n\n"
        "def run(self, inventory, task):\n    return check(self, [\n"
        "        {{'role': 'system', 'content': {}}},\n"
        "        {{'role': 'user', 'content': f'Have: {{inventory}} {{RULES}}'}}])\n"
    )
    assert "KV009" not in codes(text.format("RULES"))
    assert "KV009" in codes(text.format("f'Have: {inventory} {RULES}'"))


def test_what_is_made_once_and_kept_belongs_to_the_session():
    text = (
        CLOCK
        + LONG
        + (
            "class Agent:\n    @property\n    def id(self):\n        {}\n"
            "            self._id = str(uuid.uuid4())\n        return self._id\n\n"
            "    def system_prompt(self):\n        return f'You are {{self.id}}. ' + RULES\n"
        )
    )
    assert codes(text.format("if self._id is None:")) == {"KV005"}
    assert codes(text.format("if True:")) == {"KV003"}


def test_the_zone_of_a_clock_is_no_time():
    text = (
        CLOCK
        + LONG
        + ("def system_prompt(tz):\n    return f'In {{datetime.now(tz).strftime({})}}. ' + RULES\n")
    )
    assert codes(text.format('"%Z"')) == set()
    assert codes(text.format('"%H:%M %Z"')) == {"KV001"}


def test_a_condition_that_no_round_changes_gives_each_round_the_same_tools():
    text = (
        "def run(client, messages, tools, bound, most):\n    for at in range(most):\n"
        "        client.create(model='m', messages=messages, tools=tools if {} else None)\n"
    )
    assert codes(text.format("bound")) == set()
    assert codes(text.format("at < most")) == {"KV105"}


def test_what_a_refused_request_is_cut_to_is_no_window():
    text = (
        "def ask(self, client, history):\n    try:\n        {}\n"
        "        return client.create(model='m', messages=history)\n    except TooLong:\n"
        "        {}\n        return client.create(model='m', messages=history)\n"
    )
    cut = "history = history[-self.most:]"
    assert codes(text.format("pass", cut)) == set()
    assert codes(text.format(cut, "pass")) == {"KV114"}


def test_whether_there_are_tools_is_the_same_on_every_turn():
    text = (
        "def ask(client, messages, tools):\n    return client.create(messages=messages, "
        "tools=tools, tool_choice=pick(tools) if len({}) > 2 else None)\n"
    )
    assert codes(text.format("tools")) == set()
    assert codes(text.format("messages")) == {"KV308"}


@pytest.mark.parametrize(
    ("call", "name", "told"),
    [
        ("messages.create", "tool_choice", {"KV308"}),
        ("chat.completions.create", "tool_choice", set()),
        ("chat.completions.create", "response_format", {"KV308"}),
    ],
)
def test_openais_cache_does_not_depend_on_the_choice_of_a_tool(call, name, told):
    text = (
        f"def ask(client, messages):\n    return client.{call}(messages=messages, "
        f"{name}=PICK if len(messages) > 2 else None)\n"
    )
    assert codes(text) == told


def test_a_list_that_is_left_out_where_it_is_empty_does_not_change():
    text = (
        "def run(self, client, messages):\n    while True:\n        r = client.create("
        "messages=messages, tools=self.tools if {} else None)\n        messages.append(r)\n"
    )
    assert codes(text.format("self.tools")) == set()
    assert codes(text.format("len(self.tools) > 0")) == set()
    assert codes(text.format("self.may_act")) == {"KV105"}


def test_a_lifetime_in_a_dict_that_has_a_name_is_one():
    text = (
        "async def keep(self, model, seconds):\n    config = {{'tools': self.tools{}}}\n"
        "    return await self.client.aio.caches.create(model=model, config=config)\n"
    )
    assert codes(text.format("")) == {"KV310"}
    assert codes(text.format(", 'ttl': f'{seconds}s'")) == set()


@pytest.mark.parametrize(
    "made",
    [
        "given = given or uuid.uuid4()",
        "given = given if given else uuid.uuid4()",
        "if given is None:\n        given = str(uuid.uuid4())",
        "try:\n        given = given.id\n    except AttributeError:\n        given = uuid.uuid4()",
    ],
)
def test_an_id_that_is_made_where_none_was_given_lasts_a_session(made):
    text = (
        CLOCK + LONG + "def ask(client, messages, given=None):\n    {}\n    return "
        "client.create(model='m', system=f'In {{given}}. {{RULES}}', messages=messages)\n"
    )
    assert codes(text.format(made)) == {"KV005"}
    assert codes(text.format("given = None\n    if not given:\n        given = uuid.uuid4()")) == {
        "KV003"
    }
    assert codes(text.format("given = given or datetime.now()")) == {"KV001"}


def test_a_long_file_that_only_asks_a_model_is_read():
    text = CLOCK + LONG + "def ask(client, q):\n    return client.messages.create("
    text += "model='m', system=f'{datetime.now()} {RULES}', messages=[('user', q)])\n"
    assert len(text) < 6_000
    assert codes(text + "# " + "x" * 6_000) == {"KV001"}


def test_what_goes_into_a_store_as_a_row_is_made_once():
    text = (
        CLOCK
        + LONG
        + "def importing(client, rows, conversation_id):\n    made = []\n    for row in rows:\n"
        "        said = f'[{{uuid.uuid4()}}] {{row.text}}'\n"
        "        made.append(Message(role=row.role, content=said{}))\n"
        "    system = {{'role': 'system', 'content': RULES}}\n"
        "    newest = {{'role': 'user', 'content': 'Go on. ' + RULES}}\n"
        "    return client.chat.completions.create(messages=[system, *made, newest])\n"
    )
    assert codes(text.format("")) == {"KV003"}
    assert codes(text.format(", conversation_id=conversation_id")) == set()


def test_days_that_are_left_change_once_a_day():
    text = (
        CLOCK + LONG + "def system_prompt(end):\n    left = (end - datetime.now()).{}\n"
        "    return f'{{left}} are left. ' + RULES\n"
    )
    assert codes(text.format("total_seconds()")) == {"KV001"}
    assert codes(text.format("days")) == set()
