"""A history that is cut to a budget loses its start on every turn, once it has reached it."""

import pytest

from .reading import found

NEWEST_FIRST = """
def fitting(messages, max_tokens):
    kept, total = [], 0
    for message in {rows}:
        cost = count(message)
        if total + cost > max_tokens:
            break
        total += cost
        kept.{put}
    return kept

def ask(client, history):
    return client.create(messages=fitting(history, 4000))
"""
DROPS = """
def ask(client, history):
    trimmed = {copy}
    {loop}:
        {drop}
    return client.create(messages=trimmed)
"""
IN_PLACE = """
class Chat:
    def shrink(self):
        {loop}:
            {drop}

    async def ask(self, client, text):
        self.messages.append({{"role": "user", "content": text}})
        {call}
        return await client.create(messages=self.messages)
"""


def told(text):
    return [written for code, written in found(text) if code == "KV114"]


@pytest.mark.parametrize(
    ("rows", "put"),
    [
        ("reversed(messages)", "insert(0, message)"),
        ("messages[::-1]", "append(message)"),
        ("reversed(list(messages))", "appendleft(message)"),
    ],
)
def test_the_newest_that_fit(rows, put):
    assert told(NEWEST_FIRST.format(rows=rows, put=put)) == ["total + cost > max_tokens"]


def test_indices_from_the_end():
    text = NEWEST_FIRST.format(rows="range(len(messages) - 1, -1, -1)", put="append(message)")
    assert told(text) == ["total + cost > max_tokens"]
    oldest_first = NEWEST_FIRST.format(rows="messages", put="append(message)")
    assert told(oldest_first) == []


def test_a_budget_that_is_used_up():
    text = """
def ask(client, history, remaining):
    kept = []
    for message in reversed(history):
        cost = count(message)
        if cost > remaining:
            break
        remaining -= cost
        kept.append(message)
    return client.create(messages=kept[::-1])
"""
    assert told(text) == ["cost > remaining"]


@pytest.mark.parametrize("copy", ["list(history)", "history[:]", "history.copy()"])
@pytest.mark.parametrize("drop", ["trimmed.pop(0)", "trimmed.popleft()", "del trimmed[1]"])
def test_the_oldest_are_dropped(copy, drop):
    loop = "while count(trimmed) > LIMIT"
    assert told(DROPS.format(copy=copy, loop=loop, drop=drop)) == ["count(trimmed) > LIMIT"]


@pytest.mark.parametrize(
    ("loop", "drop"),
    [
        ("while len(trimmed) > 3", "trimmed.pop(0)"),  # asks about the newest
        ("while count(trimmed) > LIMIT", "trimmed.pop(-1)"),  # takes from the end
        ("while trimmed[0].role == 'tool'", "trimmed.pop(0)"),  # no budget
        ("while len(trimmed) > 20", "chunks.pop(0)"),
    ],
)
def test_what_is_no_window(loop, drop):
    assert told(DROPS.format(copy="list(history)", loop=loop, drop=drop)) == []


@pytest.mark.parametrize("call", ["self.shrink()", "await self.shrink()"])
def test_a_method_that_shrinks_the_history_before_it_is_sent(call):
    text = IN_PLACE.format(
        loop="if len(self.messages) > 20", drop="self.messages.pop(0)", call=call
    )
    assert told(text) == ["len(self.messages) > 20"]


RARE = """
def ask(client, history):
    messages = list(history)
    if count(messages) > {high}:
        while count(messages) > {low}:
            messages.pop(0)
    return client.create(messages=messages)
"""
EARLY = """
def fitting(messages):
    if count(messages) <= {high}:
        return messages
    while count(messages) > {low}:
        messages.pop(0)
    return messages

def ask(client, history):
    return client.create(messages=fitting(history))
"""


@pytest.mark.parametrize("text", [RARE, EARLY])
def test_a_deep_cut_is_rare(text):
    assert told(text.format(high="MOST", low="MOST")) == ["count(messages) > MOST"]
    assert told(text.format(high="MOST", low="MOST // 2")) == []
    assert told(text.format(high="MOST", low="TARGET")) == []


def test_a_cut_after_an_error_is_rare():
    text = """
def ask(client, messages):
    try:
        return client.create(messages=messages)
    except ContextLengthError:
        while count(messages) > LIMIT:
            messages.pop(0)
        return client.create(messages=messages)
"""
    assert told(text) == []


def test_rounds_are_counted_too():
    text = """
def truncate(query, most):
    kept, rounds = [], 0
    for message in query.messages[::-1]:
        if rounds < most():
            kept.append(message)
            rounds += 1
        else:
            break
    query.messages = kept[::-1]
    return client.create(messages=query.messages)
"""
    assert told(text) == ["rounds < most()"]


WINDOW = """
def ask(client, history, n):
    messages = [{{"role": "system", "content": RULES}}]
    {join}
    return client.create(messages=messages)
"""


@pytest.mark.parametrize(
    ("join", "window"),
    [
        ("messages += history[-n:]", "history[-n:]"),
        ("messages.extend(history[-1 * n:])", "history[-1 * n:]"),
        ("messages.extend(history[-n * 2:])", "history[-n * 2:]"),
        ("messages += history[len(history) - n:]", "history[len(history) - n:]"),
        ("messages += history[max(0, len(history) - n):]", "history[max(0, len(history) - n):]"),
        ("recent = history[-n:]\n    messages += recent", "history[-n:]"),
        ("recent = history[-n:]\n    messages.extend(recent)", "history[-n:]"),
        (
            "if len(history) > n:\n        history = history[-n:]\n    messages += history",
            "history[-n:]",
        ),
        ("if history:\n        messages += history[-n:]", "history[-n:]"),
    ],
)
def test_spellings_of_a_window(join, window):
    assert told(WINDOW.format(join=join)) == [window]


@pytest.mark.parametrize(
    "join",
    [
        "recent = history[-n:]\n    note(recent)",  # not sent
        "messages += history[len(other) - n:]",
        "messages += history[n * 2:]",
        "if len(history) > 2 * n:\n        history = history[-k:]\n    messages += history",
    ],
)
def test_what_does_not_slide(join):
    assert told(WINDOW.format(join=join)) == []


KEPT = """\
class Bot:
    def add(self, row):
        self.{name}.append({row})
        if len(self.{name}) > self.limit:
            self.{name}.pop(0)

    def ask(self, client, question):
        self.add(question)
        return client.chat.completions.create(model="m", messages=self.sent(question))
"""


@pytest.mark.parametrize(
    ("name", "row", "told"),
    [
        ("chat_history", "row", ["KV114"]),
        ("mood_history", "row", []),
        ("mood_history", "{'role': 'user', 'content': row}", ["KV114"]),
    ],
)
def test_what_an_object_keeps_is_a_conversation_or_another_past(name, row, told):
    text = KEPT.format(name=name, row=row)
    assert [code for code, _ in found(text)] == told
