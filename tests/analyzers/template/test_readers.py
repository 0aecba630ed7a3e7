"""Each template language: what is text, what changes, and in which message it stands."""

import pytest

from kvaudit.analyzers.reader import Unreadable, reader_by_name, reader_for
from kvaudit.core.sources import Source

RULES = "You are kind. "

CASES = {
    "prompty": (
        "chat.prompty",
        "---\nname: x\nmodel:\n  azure_deployment: gpt-4o\n---\nsystem:\nYou are {{firstName}}.\n"
        "{% for item in history %}\n{{item.role}}:\n{{item.content}}\n{% endfor %}\n"
        "user:\n{{question}}\n",
        [
            ("firstName", "identity", "SYSTEM"),
            ("item.content", "history", "HISTORY"),
            ("question", "user-input", "NEWEST"),
        ],
    ),
    "prompty that is given no turns": (
        "chat.prompty",
        "---\ninputs:\n  question:\n    type: string\n---\nsystem:\nAnswer {{question}}.\n"
        "{% for item in history %}\n{{item.role}}:\n{{item.content}}\n{% endfor %}\n",
        [("question", "user-input", "SYSTEM")],
    ),
    "prompty that is given turns": (
        "chat.prompty",
        "---\ninputs:\n  chat_history:\n    type: list\n---\nsystem:\nAnswer {{question}}.\n"
        "{% for item in chat_history %}\n{{item.role}}:\n{{item.content}}\n{% endfor %}\n",
        [("question", "user-input", "SYSTEM"), ("item.content", "history", "HISTORY")],
    ),
    "prompty in Mustache": (
        "chat.prompty",
        "---\ntemplate: mustache\n---\nsystem:\n{{#documents}}{{title}}{{/documents}}\n",
        [("title", "retrieved", "SYSTEM")],
    ),
    "Dotprompt": (
        "chat.prompt",
        "# a licence\n\n---\nmodel: googleai/gemini\ninput:\n  schema:\n    q: string\n---\n"
        '{{role "system"}}You are {{persona}}.{{! now }}\n{{history}}{{role "user"}}'
        "{{#if question}}{{question}}{{else}}Hello{{/if}}{{media url=signedUrl}}",
        [
            ("persona", "unknown", "SYSTEM"),
            ("history", "history", "HISTORY"),
            ("question", "user-input", "NEWEST"),
            ("media url=signedUrl", "signed-url", "NEWEST"),
        ],
    ),
    "Handlebars": (
        "prompt.hbs",
        "You review code.\n{{#each documents as |d|}}{{d.body}} {{@index}}{{/each}}"
        "{{#if a}}{{{json now}}}{{/if}}{{> tail}}",
        [
            ("d.body", "retrieved", "SYSTEM"),
            ("@index", "constant", "SYSTEM"),
            ("json now", "clock", "SYSTEM"),
        ],
    ),
    "messages as blocks of Handlebars": (
        "chat.hbs",
        "{{#system~}}\nYou are kind. {{now}}\n{{~/system}}\n{{#user}}{{question}}{{/user}}",
        [("now", "clock", "SYSTEM"), ("question", "user-input", "NEWEST")],
    ),
    "a section of Mustache that prints its own name": (
        "chat.mustache",
        "You are kind.\n{{#user}}\n{{user}}\n{{/user}}{{persona}}",
        [("user", "identity", "SYSTEM"), ("persona", "unknown", "SYSTEM")],
    ),
    "Semantic Kernel": (
        "skprompt.txt",
        "You are {{$botName}}. It is {{time.now}}, {{time.today}}. {{recall 'x'}}\n"
        '<message role="user">{{$input}}</message>',
        [
            ("$botName", "deploy", "SYSTEM"),
            ("time.now", "clock", "SYSTEM"),
            ("time.today", "date", "SYSTEM"),
            ("recall 'x'", "live-state", "SYSTEM"),
            ("$input", "user-input", "NEWEST"),
        ],
    ),
    "Semantic Kernel in YAML": (
        "plan.yaml",
        "template: |\n  You are kind.\n  {{time.now}}\ntemplate_format: semantic-kernel\n",
        [("time.now", "clock", "SYSTEM")],
    ),
    "BAML": (
        "main.baml",
        'template_string Show(xs: string[]) #"{% for x in xs %}{{ x }}{% endfor %}"#\n'
        "function Ask(question: string) -> Answer {\n  client GPT4o\n"
        '  prompt ##"{{ _.role("system") }}You "are"# kind.{{ Show(documents) }}\n'
        '{{ _.role("user") }}{{ question }}{{ ctx.output_format }}"##\n}\n',
        [
            ("x", "retrieved", "SYSTEM"),
            ("question", "user-input", "NEWEST"),
            ("ctx.output_format", "constant", "NEWEST"),
        ],
    ),
    "Go": (
        "chat.gotmpl",
        '{{- if .System }}{{ .System }}{{ end }}Today is {{ now | date "2006-01-02" }}.\n'
        "{{- range .Messages }}{{ .Content }}{{ end }}{{ now }}",
        [
            (".System", "unknown", "SYSTEM"),
            ('now | date "2006-01-02"', "date", "SYSTEM"),
            (".Content", "history", "HISTORY"),
            ("now", "clock", "SYSTEM"),
        ],
    ),
    "a command": (
        ".claude/commands/fix.md",
        "---\ndescription: fix\n---\nFix $ARGUMENTS now.\n```\n{{ now }}\n```\nIt costs $5.\n",
        [("$ARGUMENTS", "user-input", "NEWEST")],
    ),
    "plain text for format": (
        "prompts/answer.txt",
        'You answer.\n{context}\n{"a": 1} {{literal}} `{time}` \\frac{now}\n{question}',
        [
            ("{context}", "retrieved", "SYSTEM"),
            ("{{literal}}", "unknown", "SYSTEM"),
            ("{question}", "user-input", "SYSTEM"),
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_changes_and_where(parts, name):
    path, text, expected = CASES[name]
    files = {"tail": "", "tail.hbs": "The end."}
    found = parts(text, path, files)
    assert [part for part in found if part[0] in {e[0] for e in expected}] == expected
    assert {part[1] for part in found} - {e[1] for e in expected} <= {"constant"}


@pytest.mark.parametrize("name", CASES)
def test_spans_are_exact(read, name):
    path, text, _ = CASES[name]
    (document,) = read(text, path)
    for segment in document.segments:
        shown = segment.source.text[slice(*segment.span)]
        assert shown == segment.text if segment.expression is None else segment.expression in shown


def test_a_modelfile_holds_a_template_and_a_system_text(read):
    text = 'FROM llama3\nSYSTEM """You are\nkind."""\nTEMPLATE """{{ .System }}{{ .Prompt }}"""\n'
    documents = read(text, "Modelfile")
    assert [(d.name, d.model) for d in documents] == [("SYSTEM", "llama3"), ("TEMPLATE", "llama3")]
    assert documents[0].segments[0].text == "You are\nkind."


def test_tools_beside_the_last_message_in_go(read):
    text = (
        "{{- range $i, $_ := .Messages }}{{- $last := eq (len (slice $.Messages $i)) 1 }}"
        "{{- if and $.Tools $last }}[TOOLS]{{ json $.Tools }}{{ end }}{{ .Content }}{{ end }}"
    )
    (document,) = read(text, "template.gotmpl")
    (seen,) = document.observations
    assert seen.kind == "tools-follow-last-user"
    assert text[slice(*seen.span)] == "{{- if and $.Tools $last }}"


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        (
            '{{define "rules"}}You are kind.{{end}}{{define "who"}}To {{.UserName}}:{{end}}'
            '{{template "who" .}} {{ template "rules" . }} {{.Messages}}',
            ["To ", ".UserName", ":", " ", "You are kind.", " ", ".Messages"],
        ),
        ('{{define "a"}}You {{template "a"}}{{.Messages}}{{end}}', ["You ", ".Messages"]),
        ('You {{template "far"}}{{.Messages}}', ["You ", ".Messages"]),
        ('{{block "a" .}}You {{end}}{{.Messages}}', ["You ", ".Messages"]),
        ('{{end}}You {{define "a"}}{{.Messages}}', ["You ", ".Messages"]),
    ],
)
def test_a_template_of_go_is_printed_where_it_is_called(parts, text, printed):
    assert [one for one, _, _ in parts(text, "prompt.tmpl")] == printed


def test_a_partial_is_its_body_alone(parts):
    files = {"_who.prompt": "---\ninput: {name: string}\n---\nTo {{name}}."}
    found = parts("You help. {{>who}}", "system.prompt", files)
    assert [one for one, _, _ in found] == ["You help. ", "To ", "name", "."]


def test_a_tag_that_is_never_closed_does_not_reach_into_the_next_prompt(read):
    text = (
        'function A() -> string {\n  prompt #"Hi {# note "#\n}\n'
        'function B() -> string {\n  prompt #"Bye #} {{ now }}"#\n}\n'
    )
    with pytest.raises(Unreadable, match="comment is never closed"):
        read(text, "a.baml")


def test_code_within_a_line_opens_no_block(parts):
    text = "---\ndescription: x\n---\nYou help.\n```npm test```\nTo {{name}}.\n"
    assert "{{name}}" in [one for one, _, _ in parts(text, ".claude/agents/a.md")]


def test_a_sample_of_another_language_in_a_text_is_no_mark(parts):
    text = "You mend pages. <p>{{ text }}</p> <p>{{ formatDate(now) }}</p>"
    assert parts(text, "patterns/mend/system.md") == [(text, "constant", "SYSTEM")]


@pytest.mark.parametrize(
    ("line", "marked"),
    [
        ("/ask {query} - Ask the base", False),
        ("- /{agent} {query} - Ask an agent", False),
        ("/load-{agent} - Switch", False),
        ("Ask with {query} and /help", True),
        ("/home/{user} is where it stands", True),
    ],
)
def test_what_a_command_takes_is_no_mark(parts, line, marked):
    found = [one for one, _, _ in parts(f"You help.\n{line}\n", "prompts/orchestrator.txt")]
    assert any(one.startswith("{") for one in found) is marked


def test_an_attribute_of_a_component_is_no_mark(parts):
    text = "You draw. <BarChart data={data} width={width}> <DOC of={data}>"
    found = [part[0] for part in parts(text, "prompts/draw.md")]
    assert found == ["You draw. <BarChart data={data} width={width}> <DOC of=", "{data}", ">"]


def test_a_template_that_is_quoted_in_a_list_is_none(read):
    quoted = (
        "You are asked:\n- how to write it\n      ```jinja\n      {% if x %}{{ y }}{% endif %}\n"
    )
    assert read(quoted + "      ```\n", "chat.md") is None
    assert read(quoted.replace("```jinja", "this"), "chat.md") is not None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("README.md", "# {{ now }}"),
        (
            "prompts/README.md",
            "You are {{ now }}\n{% for m in history %}{{ m.content }}{% endfor %}",
        ),
        ("docs/page.md", "You are {{ now }}"),
        ("values.yaml", "template: x"),
        ("notes.txt", "It is {{ now }}."),
        ("deploy.tmpl", "image: {{ .Values.image }}"),
    ],
)
def test_what_is_no_prompt(read, name, text):
    assert read(text, name) is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.hbs", RULES + "{{#if a}}" * 10_000 + "{{/if}}" * 10_000),
        ("x.gotmpl", RULES + "{{ if .Messages }}" * 10_000),
        ("x.gotmpl", RULES + "{{ .Messages "),
        ("x.gotmpl", RULES + '{{ .Messages }}{{ "' + "\\a" * 100_000),
        ("skprompt.txt", "{{$a}} " * 30_000),
        ("x.yaml", "template: >\n  {{x}}\ntemplate_format: liquid\n"),
        ("x.prompty", "---\n---\nsystem:\n{% if x %}"),
        ("x.baml", "class A\n" * 3_000),
        ("prompts/x.md", "a" * (5 << 20)),
        ("prompts/x.md", "{{a}}" * 30_000),
    ],
)
def test_what_cannot_be_read_says_why(read, name, text):
    with pytest.raises(Unreadable):
        read(text, name)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.hbs", RULES + "{{" * 500_000),
        ("x.hbs", RULES + "{{!--" * 200_000),
        ("x.hbs", RULES + "{{ (" * 20_000 + "}}"),
        ("x.hbs", RULES + "{{ 'a" * 18_000 + "}}"),
        ("prompts/x.md", "```\n" * 200_000),
        ("prompts/x.md", "`" * 1_000_000),
        ("prompts/x.txt", "{a" * 500_000),
        ("prompts/x.md", "---\n" * 200_000),
        ("x.prompty", " " * 1_000_000 + ":"),
        ("x.prompty", "#" * 1_000_000),
        ("x.jinja", RULES + "\n \t" * 300_000 + "{{ x }}"),
        ("x.baml", "#" * 500_000 + '"'),
        ("x.hbs", RULES + "{{#user}} x {{/b}}" * 6_000 + "y" * 1_000_000 + "{{/user}}"),
        ("x.gotmpl", RULES + '{{.A}}{{define "a"}}{{template "a"}}{{end}}' * 4_000),
        (
            "x.json",
            '{"messages": [{"role": "system", "content": "' + "{{a}} xx\\n" * 20_000 + '"}]}',
        ),
        ("prompts/x.md", "{{a}}" * 9_000 + "`x`" * 200_000 + "{{a}}" * 9_000),
    ],
)
def test_hostile_text_ends_in_time(read, name, text):
    assert read(text, name) is not None


@pytest.mark.parametrize(
    ("path", "reader"),
    [
        ("letter.j2", "jinja"),
        ("qa.txt", "markdown"),
        ("rules.md", "markdown"),
        ("tokenizer_config.json", "chat-template"),
        ("skprompt.txt", "semantic-kernel"),
        ("letter.hbs", "handlebars"),
    ],
)
def test_a_named_file_goes_to_the_reader_whose_own_ending_it_has(path, reader):
    found = reader_by_name(Source(path, "Whatever it holds."))
    assert found is not None
    assert found.name == reader


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rules/keys/a.md", '+++\ncode = "KV1"\n+++\n\nYou are an assistant.\n'),
        (
            "presets/a.toml",
            'sources = ["a page"]\n[semantic]\nencoder = "use"\nthreshold = 0.9\n',
        ),
        ("products.toml", "[a]\nthreshold = []\nencoder = ['x']\n"),
    ],
)
def test_what_tells_of_a_rule_or_a_product_is_none(name, text):
    assert reader_for(Source(name, text)) is None


def test_marks_of_a_page_that_explains_them_are_not_filled(parts):
    text = "You fill a form.\n- `{{role}}` is one\n- `{{context}}` is known\n{{context}}\n"
    assert [kind for _, kind, _ in parts(text, "prompts/form.md")] == ["constant"]
    filled = text.replace("`{{role}}`", "This")
    assert "{{context}}" in [one for one, _, _ in parts(filled, "prompts/form.md")]


def test_a_program_that_is_called_a_text_is_no_prompt():
    prose = "You are an agent. The code is {code}. " + "Answer in one line. " * 100
    code = "import os\n" + "".join(f"def step_{n}(iteration):\n    ...\n" for n in range(9))
    assert reader_for(Source("prompts/agent.txt", prose)).name == "markdown"
    assert reader_for(Source("prompts/agent.py.txt", prose)) is None
    assert reader_for(Source("prompts/agent.txt", code)) is None
    assert reader_for(Source("prompts/agent.txt", prose + code)).name == "markdown"
