"""A conversation that a loop puts together, or goes on with, is one behind its system text."""

import pytest

from kvaudit.core.document import Position

from .reading import found, segments

CLOCK = """
from datetime import datetime

def system():
    return {"role": "system", "content": f"It is {datetime.now()}. You answer with care."}
"""
COPIED = """
def ask(client, history):
    messages = [system()]
    for said in history:
        messages.append({"role": said.role, "content": said.text})
    return client.create(messages=messages)
"""
GOES_ON = """
def run(client, task):
    messages = [system(), {"role": "user", "content": task}]
    while True:
        answer = client.create(messages=messages)
        messages.append({"role": "assistant", "content": answer.text})
        messages.append({"role": "user", "content": observe(answer)})
"""
HANDED = """
def put(said, messages):
    messages.append({"role": said.role, "content": said.text})

def ask(client, history):
    messages = [system()]
    for said in history:
        put(said, messages)
    return client.create(messages=messages)
"""
OF_A_CLASS = """
class Talk:
    def put(self, said, messages):
        messages.append({"role": said.role, "content": said.text})

    def ask(self, client):
        messages = [system()]
        for said in self.history:
            self.put(said, messages)
        return client.create(messages=messages)
"""


@pytest.mark.parametrize("text", [COPIED, GOES_ON, HANDED, OF_A_CLASS])
def test_a_loop_over_messages_makes_a_conversation(text):
    assert Position.HISTORY in {s.position for s in segments(CLOCK + text)}
    assert ("KV001", "datetime.now()") in found(CLOCK + text)


EACH = """
def ask(client, questions):
    for question in questions:
        messages = [system()]
        messages.append({"role": "user", "content": question})
        client.create(messages=messages)
"""
LOGGED = """
def log(said, messages):
    print(said, len(messages))

def ask(client, lines):
    messages = [system(), {"role": "user", "content": "Which of them is wrong?"}]
    for said in lines:
        log(said, messages)
    return client.create(messages=messages)
"""


@pytest.mark.parametrize("text", [EACH, LOGGED])
def test_a_request_that_is_made_anew_in_each_round_has_no_history(text):
    assert Position.HISTORY not in {s.position for s in segments(CLOCK + text)}
    roles = [s.position for s in segments(CLOCK + text) if s.text or s.expression]
    assert Position.NEWEST in roles


def test_other_lists_that_grow_hold_what_is_put_into_them():
    text = (
        "def system_prompt(rows):\n    lines = ['Answer with care, and name the page.']\n"
        "    for row in rows:\n        lines.append(row.rule)\n    return '\\n'.join(lines)\n"
    )
    assert [s.expression for s in segments(text) if s.expression] == ["row.rule"]


@pytest.mark.parametrize(("begun", "told"), [("trace.text()", ["KV001"]), ("f'<{tag}>'", [])])
def test_an_answer_that_goes_on_is_a_conversation_and_first_words_for_one_are_none(begun, told):
    text = (
        "from datetime import datetime\n\ndef ask(client, trace, tag):\n    messages = [\n"
        "        {'role': 'system', 'content': f'You search. It is {datetime.now()}. Go on.'},\n"
        "        {'role': 'user', 'content': trace.query},\n"
        f"        {{'role': 'assistant', 'content': {begun}, 'prefix': True}},\n    ]\n"
        "    return client.chat.completions.create(model='m', messages=messages)\n"
    )
    assert [code for code, _ in found(text)] == told


@pytest.mark.parametrize(
    "put",
    [
        "messages[0]['content'] = text",
        "messages[0].content[0].text = text",
        "messages[0] = {'role': 'system', 'content': text}",
        "messages.insert(0, {'role': 'system', 'content': text})",
        "messages[system_index]['content'] = f'{text} and more'",
    ],
)
def test_what_is_put_into_the_first_message_stands_before_the_conversation(put):
    text = (
        "from datetime import datetime\n\nclass Agent:\n    def texts(self):\n"
        "        return f'It is {datetime.now()}. Go on.', self.found\n\n"
        "    async def step(self, kept):\n        messages = await self.kept(kept)\n"
        "        text, found = self.texts()\n        {}\n"
        "        return await self.reply(messages)\n"
    )
    assert [code for code, _ in found(text.replace("{}", put))] == ["KV001"]
    elsewhere = put.replace("0", "-1", 1).replace("system_index", "-1")
    assert found(text.replace("{}", elsewhere)) == [] or "insert" in put


def test_no_turns_stand_in_a_list_that_is_written_out():
    text = (
        "from datetime import datetime\n\ndef ask(client, question, history):\n"
        "    text = f'It is {datetime.now()}. Go on. '\n"
        "    messages = [{more}{'role': 'user', 'content': question}]\n"
        "    messages[0]['content'] = text\n    return client.create(messages=messages)\n"
    )
    assert found(text.replace("{more}", "")) == []
    assert [c for c, _ in found(text.replace("{more}", "*history, "))] == ["KV001"]


AGENT = """\
from datetime import datetime
RULES = "You answer questions about invoices. " * 200

def run(client, task, history):
    now = datetime.now().isoformat()
    messages = [{{"role": "system", "content": f"It is {{now}}."}}, {turns}
                {{"role": "user", "content": task}}]
    while True:
        {again}
        reply = client.chat.completions.create(model="m", messages=messages)
        messages.append(reply.choices[0].message)
"""


def test_what_a_conversation_begins_with_is_sent_again_as_it_was():
    once = AGENT.format(turns="", again="pass")
    assert found(once) == []
    of_each_turn = AGENT.format(turns="*history,", again="pass")
    assert [code for code, _ in found(of_each_turn)] == ["KV001"]
    in_the_loop = 'messages[0] = {"role": "system", "content": f"It is {datetime.now()}."}'
    assert [code for code, _ in found(AGENT.format(turns="", again=in_the_loop))] == ["KV001"]


def test_what_is_put_into_the_list_that_is_sent_goes_out_with_it():
    text = (
        "def ask(client, history, question, kept):\n"
        "    seed = f'Context: {kept}. ' + question\n"
        "    messages = [{'role': 'user', 'content': seed}]\n"
        "    for row in history:\n        messages.append(row)\n"
        "    messages.append({'role': 'user', 'content': question})\n"
        "    return client.chat.completions.create(model='m', messages=messages)\n"
    )
    assert [code for code, _ in found(text) if code == "KV110"] == []


def test_a_turn_stays_as_it_is_while_an_agent_works_at_it():
    text = AGENT.replace('f"It is {{now}}."', "RULES").replace(
        '"content": task}}', '"content": f"It is {{now}}. " + RULES + task}}'
    )
    assert found(text.format(turns="*history,", again="pass")) == []
    assert found(text.format(turns="", again="pass")) == []


def test_a_second_try_that_says_the_same_again_is_another_turn():
    text = (
        "class Chat:\n    def ask(self, client, question):\n"
        "        self.history.append({'role': 'user', 'content': question})\n"
        "        reply = client.chat.completions.create(model='m', messages=self.history)\n"
        "        retry = self.history + [{'role': 'assistant', 'content': reply},\n"
        "            {'role': 'user', 'content': f'Try again. {question}'}]\n"
        "        return client.chat.completions.create(model='m', messages=retry)\n"
    )
    assert found(text) == []


def test_a_loop_that_copies_earlier_turns_begins_no_conversation():
    text = AGENT.partition("    while")[0].format(turns="") + (
        "    for row in history:\n"
        "        messages.append({'role': row.role, 'content': row.text})\n"
        "    return client.chat.completions.create(model='m', messages=messages)\n"
    )
    assert [code for code, _ in found(text)] == ["KV001"]
