"""A prompt is followed through the project's own functions to the one that asks a model."""

import pytest

from kvaudit.analyzers.source.ecmascript.links import linked
from kvaudit.core.sources import Source

CLOCKED = "export function build() { return `Now ${new Date().toISOString()}. Help.`; }\n"
SENDS = (
    "export async function ask(params) {\n"
    "  const { text, turns } = params;\n"
    "  return streamText({ model, system: text, messages: turns });\n}\n"
)


ASKS = "function go() { const systemPrompt = `Now ${new Date()}. Help.`; ask(systemPrompt); }"


def sent(documents):
    return [
        (d.name, s.source.path, s.expression)
        for d in documents
        for s in d.segments
        if d.sent and s.expression is not None and s.origin == "clock"
    ]


def test_options_of_a_function_that_asks_are_a_request(read):
    text = (
        "import { ask } from './runtime';\nimport { build } from './prompt';\n"
        "export const go = (turns) => { const systemPrompt = build();\n"
        "  return ask({ text: systemPrompt, prompt: systemPrompt, turns }); };\n"
    )
    found = read(text, "app.ts", {"runtime.ts": SENDS, "prompt.ts": CLOCKED})
    assert ("ask", "prompt.ts", "new Date().toISOString()") in sent(found)


@pytest.mark.parametrize(
    "asks",
    [
        "function ask(text) { return client.messages.create({ model, system: text, messages }); }",
        "const ask = async (text) => { const body = { model, messages: [{ role: 'system', "
        "content: text }, ...history] }; return fetch(url, { body: JSON.stringify(body) }); };",
        "function ask(text) { return inner(text); }\n"
        "function inner(prompt) { return generateText({ model, system: prompt, messages }); }",
        "class A { ask(text) { return this.llm.invoke([new SystemMessage(text), ...h]); }\n"
        "  go() { const systemPrompt = `Now ${new Date()}. Help.`; this.ask(systemPrompt); } }",
    ],
)
def test_a_text_given_by_position_is_followed(read, asks):
    found = sent(read(f"{asks}\nexport {{}};\n{'' if 'class' in asks else ASKS}"))
    assert found[0][0].endswith("ask")


@pytest.mark.parametrize(
    "other",
    [
        "function keep(text) { return db.insert({ model, text }); }",
        "function keep(text) { return streamText({ model, system: 'Help.', messages }); }",
        "function keep(text) { return keep(text); }",
    ],
)
def test_a_text_that_the_function_does_not_send_is_none(read, other):
    assert not sent(read(f"{other}\nexport {{}};\n{ASKS.replace('ask(', 'keep(')}"))


def test_a_message_that_a_helper_makes_is_a_message(read):
    text = (
        "const say = (override) => ({ role: 'user', content: '', ...override });\n"
        "export function build(history) {\n"
        "  const systemPrompts = [say({ role: 'system', content: `Now ${new Date()}. Help.` })];\n"
        "  return [...systemPrompts, ...history.slice()];\n}\n"
    )
    document = next(d for d in read(text) if d.name == "messages" and d.multi_turn)
    assert [s.position.name for s in document.segments] == ["SYSTEM"] * 3 + ["HISTORY"]


def test_an_id_that_is_made_up_where_none_was_given_is_that_of_the_name(origins):
    assert ("user", "random") not in origins(
        "export function systemPrompt(user) { const id = user.id || randomUUID();"
        " return `You help ${id} with everything that is asked of you.`; }"
    )


FILES = {
    "apps/api/tsconfig.json": '{ // own\n "compilerOptions": {"paths": {"@api/*": ["./src/*"],},}}',
    "packages/bot/package.json": '{"name": "@acme/bot"}',
}


@pytest.mark.parametrize(
    ("path", "places"),
    [
        ("./near", ["./near"]),
        ("@/lib/x", ["lib/x"]),
        ("~/lib/x", ["lib/x"]),
        ("@api/chat", ["src/chat"]),
        ("@acme/bot", ["packages/bot/src/index"]),
        ("@acme/bot/lines", ["packages/bot/src/lines", "packages/bot/lines"]),
        ("@other/bot", []),
        ("react", []),
    ],
)
def test_where_an_import_may_lie(project, path, places):
    assert list(linked(project(FILES), Source("apps/api/main.ts", ""), path)) == places


@pytest.mark.parametrize("config", ["", "[]", '{"compilerOptions": {"paths": 3}}', "{"])
def test_a_configuration_that_cannot_be_read_says_nothing(project, config):
    files = {"tsconfig.json": config}
    assert list(linked(project(files), Source("a.ts", ""), "@api/chat")) == []


def test_a_name_is_found_behind_files_that_pass_names_on(read):
    many = {f"m{i}.ts": f"export const other{i} = 1;" for i in range(60)}
    barrel = "".join(f"export * from './m{i}';\n" for i in range(60)) + "export * from './prompt';"
    text = (
        "import { build } from './all';\n"
        "export const p = () => streamText({ model, system: build(), messages });"
    )
    assert sent(read(text, "app.ts", {**many, "all.ts": barrel, "prompt.ts": CLOCKED}))


def test_members_of_a_class_are_followed_from_its_objects(read):
    text = (
        "class Base { header() { return `Now ${new Date()}. Help.`; } }\n"
        "class Prompts extends Base { static rules() { return 'Be kind.'; } }\n"
        "const prompts = new Prompts();\n"
        "export const go = () => streamText({ model, messages,\n"
        "  system: prompts.header() + Prompts.rules() });\n"
    )
    document = read(text)[0]
    assert [s.text or s.expression for s in document.segments][:4] == [
        "Now ",
        "new Date()",
        ". Help.",
        "Be kind.",
    ]


@pytest.mark.parametrize(
    "fill",
    [
        "for (const [key, value] of Object.entries(table)) { text = text.replaceAll(key, value); }",
        "Object.entries(table).forEach(([k, value]) => { text = text.replace(k, value); });",
        "Object.entries(table).forEach(([k, v]) => {\n"
        "  text = text.replace(new RegExp(`${k}`, 'g'), v.toString()); });",
    ],
)
def test_a_table_is_put_in_at_its_marks(read, fill):
    text = (
        "const TEMPLATE = 'You help. It is {{time}} here. Be kind.';\n"
        "function filled() { let text = TEMPLATE;\n"
        f"  const table = {{ '{{{{time}}}}': new Date().toISOString() }};\n  {fill}\n"
        "  return text; }\n"
        "export const go = () => streamText({ model, messages, system: filled() });\n"
    )
    document = next(d for d in read(text) if d.sent)
    assert [(s.text, str(s.origin)) for s in document.segments][:3] == [
        ("You help. It is ", "constant"),
        (None, "clock"),
        (" here. Be kind.", "constant"),
    ]
    assert sum(s.origin == "clock" for d in read(text) for s in d.segments) == 1


def test_messages_that_a_loop_adds_are_earlier_turns(read):
    text = (
        "function earlier(rows) { const kept = [];\n"
        "  for (const row of rows) { kept.push({ role: 'user', content: row.text }); }\n"
        "  return kept; }\n"
        "export const go = (rows) => ask({ messages: [{ role: 'system', content: 'Help.' },\n"
        "  ...earlier(rows)] });\n"
    )
    document = read(text)[0]
    assert document.multi_turn
    assert [s.position.name for s in document.segments] == ["SYSTEM", "HISTORY"]


@pytest.mark.parametrize(
    ("call", "is_sent"),
    [
        ("model.generateContent(text)", True),
        ("this.llm.invoke(text); note(prompt)", True),
        ("logger.invoke(text); note(prompt)", False),
        ("chat.sendMessage('Hi ' + name)", False),
    ],
)
def test_a_text_given_to_a_model_by_itself_is_sent(read, call, is_sent):
    rules = "Answer in one word. " * 20
    text = f"export function go(name) {{ const text = `Now ${{new Date()}}. {rules}`; {call}; }}"
    assert any(d.sent and not d.multi_turn for d in read(text)) is is_sent


BUILDER = "export class Builder { build() { return `Now ${new Date().toISOString()}. Help.`; } }\n"


@pytest.mark.parametrize(
    "held",
    [
        "constructor(private readonly builder: Builder) { }",
        "private builder: Builder;",
        "constructor() { this.builder = new Builder(); }",
    ],
)
def test_an_object_that_a_class_holds_is_followed_to_its_class(read, held):
    text = (
        f"import {{ Builder }} from './builder';\nexport class Chat {{ {held}\n"
        "  ask(turns) {\n"
        "    return streamText({ model, system: this.builder.build(), messages: turns }); } }"
    )
    found = sent(read(text, "chat.ts", {"builder.ts": BUILDER}))
    assert [(path, said) for _, path, said in found] == [("builder.ts", "new Date().toISOString()")]
    promised = "export interface Builder { build(): string; }"
    assert sent(read(text, "chat.ts", {"builder.ts": promised})) == []
