"""Prompts that LangChain saved, in both of its forms."""

import json

PROMPT = {"_type": "prompt", "input_variables": ["question"], "template": "Rules {{x}} {question}"}
CHAT = {
    "lc": 1,
    "type": "constructor",
    "id": ["langchain", "prompts", "chat", "ChatPromptTemplate"],
    "kwargs": {
        "messages": [
            {
                "lc": 1,
                "id": ["langchain", "prompts", "chat", f"{kind}MessagePromptTemplate"],
                "kwargs": {
                    "prompt": {
                        "lc": 1,
                        "id": ["langchain", "prompts", "prompt", "PromptTemplate"],
                        "kwargs": {
                            "template": text,
                            "input_variables": [],
                            "template_format": form,
                        },
                    }
                },
            }
            if kind != "Placeholder"
            else {"lc": 1, "id": ["x", "MessagesPlaceholder"], "kwargs": {"variable_name": "turns"}}
            for kind, text, form in (
                ("System", "It is {{now}}.", "mustache"),
                ("Placeholder", "", ""),
                ("Human", "{{question}}", "mustache"),
            )
        ]
    },
}
FEW_SHOT = {
    "_type": "few_shot",
    "input_variables": ["word"],
    "prefix": "Give the opposite.",
    "examples": [{"input": "tall", "output": "short"}],
    "suffix": "Word: {word}",
}


def told(documents):
    (document,) = documents
    return [(s.text or s.expression, s.position.name) for s in document.segments]


def test_a_saved_template_is_filled_in_by_format(read):
    assert told(read(json.dumps(PROMPT), "prompt.json")) == [
        ("Rules {{x}} ", "SYSTEM"),
        ("{question}", "SYSTEM"),
    ]


def test_a_template_says_which_engine_fills_it_in(read):
    prompt = {**PROMPT, "template_format": "jinja2"}
    assert told(read(json.dumps(prompt), "prompt.json"))[1] == ("{{x}}", "SYSTEM")


def test_a_template_in_yaml_is_found_in_a_chain(read):
    text = "_type: llm_chain\nprompt:\n  _type: prompt\n  template: |\n    Say {word}\n"
    (document,) = read(text, "chain.yaml")
    assert document.name == "prompt"
    (hole,) = [s for s in document.segments if s.expression]
    assert text[hole.span.start : hole.span.end] == "{word}"


def test_a_serialised_chat_has_roles_and_a_history(read):
    documents = read(json.dumps(CHAT), "chat.json")
    assert told(documents) == [
        ("It is ", "SYSTEM"),
        ("{{now}}", "SYSTEM"),
        (".", "SYSTEM"),
        ("{turns}", "HISTORY"),
        ("{{question}}", "NEWEST"),
    ]
    assert documents[0].multi_turn


def test_examples_stand_between_prefix_and_suffix(read):
    assert [text for text, _ in told(read(json.dumps(FEW_SHOT), "few.json"))] == [
        "Give the opposite.",
        "tall",
        "short",
        "Word: ",
        "{word}",
    ]


def test_a_file_with_input_variables_that_is_no_prompt_gives_nothing(read):
    assert not read('{"input_variables": ["a"], "examples": {"x": 1}}', "a.json")
