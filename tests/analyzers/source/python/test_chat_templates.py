"""Templates of conversations: what is put into them, and when."""

import pytest

from kvaudit.analyzers.checks.order import with_loss

from .reading import documents, found

TEMPLATE = """\
from datetime import datetime
from langchain_core.prompts import ChatPromptTemplate

RULES = "You answer questions about invoices. " * 200
prompt = ChatPromptTemplate.from_messages([
    ("system", "It is {moment}. " + RULES),
    ("placeholder", "{messages}"),
])
"""
NODE = TEMPLATE + "def node(model, state):\n"


def put_in(text):
    return [what for code, what in found(text) if code == "KV001"]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("    return prompt.partial(moment=datetime.now()) | model\n", "datetime.now()"),
        ("    return (prompt | model).invoke({'moment': datetime.now()})\n", "datetime.now()"),
        (
            "    chain = prompt | model\n"
            "    return chain.invoke({'moment': datetime.now().isoformat(), **state})\n",
            "datetime.now().isoformat()",
        ),
        ("    return prompt.partial(moment=state['moment']) | model\n", None),
    ],
)
def test_what_fills_a_template_is_told_where_it_arises(body, told):
    assert put_in(NODE + body) == ([] if told is None else [told])


def test_messages_that_a_template_gives_are_those_that_are_sent():
    text = NODE + (
        "    messages = prompt.format_messages(moment=datetime.now(), messages=state)\n"
        "    return model.invoke(messages)\n"
    )
    assert put_in(text) == ["datetime.now()"]


def test_a_function_is_called_anew_and_its_result_is_not():
    loaded = TEMPLATE + "filled = prompt.partial(moment=%s)\n"
    assert put_in(loaded % "datetime.now") == ["datetime.now"]
    assert put_in(loaded % "datetime.now()") == []
    own = TEMPLATE + "def clock():\n    return datetime.now()\n\n"
    own += "filled = prompt.partial(moment=%s)\n"
    assert put_in(own % "clock") == ["datetime.now()"]
    assert put_in(own % "clock()") == []


def test_text_that_a_variable_is_bound_to_counts_behind_a_clock():
    text = (
        TEMPLATE.replace('" + RULES', '{rules}"').replace("placeholder", "human")
        + "def node(model, state):\n    now = datetime.now()\n"
        "    return prompt.partial(moment=now{}) | model\n"
    )

    def lost(given):
        return max(
            loss.tokens
            for document in documents(text.replace("{}", given))
            for segment, loss in with_loss(document.segments)
            if segment.expression == "now"
        )

    assert lost("") < 500 < 1000 < lost(", rules=RULES")
