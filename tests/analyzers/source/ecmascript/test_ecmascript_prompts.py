"""Which texts are prompts, at which position, and which are none."""

import pytest

CLOCK = "${new Date().toISOString()}"


def positions(documents):
    return [
        (s.position.name, s.text if s.expression is None else s.expression)
        for document in documents
        for s in document.segments
    ]


@pytest.mark.parametrize(
    "text",
    [
        f"await generateText({{ model, tools, system: `Now {CLOCK}. Help.`, prompt }});",
        f"streamText({{ model, system: `Now {CLOCK}. Help.`, messages }});",
        f"client.messages.create({{ model, system: [{{ type: 'text', text: `Now "
        f"{CLOCK}` }}], messages }});",
        f"client.chat.completions.create({{ model, messages: [{{ role: 'system', "
        f"content: `Now {CLOCK}` }}, ...history] }});",
        f"openai.responses.create({{ model, instructions: `Now {CLOCK}. Help.`, input }});",
        f"export const agent = new Agent({{ name: 'a', model, instructions: `Now "
        f"{CLOCK}. Help.` }});",
        f"export const agent = new Agent({{ model, instructions: () => 'x', "
        f"systemPrompt: `Now {CLOCK}` }});",
        f"messages.unshift({{ role: 'system', content: `Now {CLOCK}` }});",
        f"export const chat = (h) => [new SystemMessage(`Now {CLOCK}`), ...h];",
        f"export const p = (h) => ChatPromptTemplate.fromMessages([['system', `Now "
        f"{CLOCK}`], ['placeholder', '{{h}}'], ['human', '{{q}}']]);",
        f"export function buildSystemPrompt() {{ return `Now {CLOCK}. Help.`; }}",
        f"export const getSystemPrompt = async () => `Now {CLOCK}. Help.`;",
        f"class A {{ private systemPrompt() {{ return `Now {CLOCK}. Help.`; }} }}",
        f"export function run() {{ const systemMessage = `Now {CLOCK}. Help.`; return "
        "go(systemMessage); }}",
        f"export function run(c) {{ c.systemInstruction = `Now {CLOCK}. Help.`; }}",
        f"export function run(h) {{ const messages = [{{ role: 'system', content: `Now "
        f"{CLOCK}` }}, ...h]; send(messages); }}",
        f"ai.models.generateContent({{ model, contents, config: {{ systemInstruction: "
        f"`Now {CLOCK}` }} }});",
    ],
)
def test_a_clock_in_the_system_text_is_found(codes, text):
    assert ("KV001", "error") in codes(text)


@pytest.mark.parametrize(
    "text",
    [
        f"console.log(`system prompt sent {CLOCK}`);",
        f"const promptFile = `prompt-{CLOCK}.md`;",
        "export const promptId = () => `prompt-${randomUUID()}`;",
        "await cache.set(systemPromptKey, prompt, { expires: Date.now() + 60 });",
        f"export const message = {{ role: 'user', content: `{{q}} (asked {CLOCK})` }};",
        f"messages.push({{ role: 'user', content: `hello {CLOCK}` }});",
        "export const Prompt = () => <div>Now {new Date().toISOString()}</div>;",
        f"export function buildUserPrompt(q) {{ return `{CLOCK} ${{q}}`; }}",
        f"await generateText({{ model, prompt: `Now {CLOCK}: say hello` }});",
        "client.chat.completions.create({ model, messages, metadata: { at: Date.now() } });",
        "const record = { role: 'user', content: q, id: randomUUID(), createdAt: new "
        "Date() }; messages.push(record);",
        "export const chat = (system) => create({ model, system, messages, requestId: "
        "randomUUID() });",
        "const [prompt, setPrompt] = useState(`Draft ${Date.now()}`);",
    ],
)
def test_what_is_no_prefix_is_left_alone(codes, text):
    found = codes(text, "view.tsx")
    assert not {code for code, severity in found if severity != "info"}


def test_a_request_is_rendered_tools_first(read):
    documents = read(
        "export const f = (history, q) => client.create({\n"
        "  messages: [{ role: 'user', content: 'a' }, ...history, { role: 'user', content: q }],\n"
        "  system: 'S', model, tools: [{ name: 't', description: 'D' }] });"
    )
    assert positions(documents) == [
        ("TOOLS", "t"),
        ("TOOLS", "D"),
        ("SYSTEM", "S"),
        ("HISTORY", "a"),
        ("HISTORY", "history"),
        ("NEWEST", "q"),
    ]


def test_a_function_that_went_into_a_request_is_not_told_again(read):
    documents = read(
        "const systemPrompt = () => `You help ${who}. Be kind.`;\n"
        "export const f = (h) => create({ model, system: systemPrompt(), messages: h });"
    )
    assert [document.name for document in documents] == ["create"]


def test_markers_stand_on_their_blocks(read):
    (document,) = read(
        "export const f = (h) => create({ model: 'claude-sonnet-5', messages: h, system: [\n"
        "  { type: 'text', text: RULES, cache_control: { type: 'ephemeral' } },\n"
        "  { type: 'text', text: memory },\n] });"
    )
    assert [marker.block for marker in document.markers] == [0]
    assert (document.provider, document.model) == ("anthropic", "claude-sonnet-5")


def test_markers_of_another_file_are_not_counted(codes):
    block = "  {{ type: 'text', text: R{}, cache_control: {{ type: 'ephemeral' }} }},\n"
    blocks = "export const blocks = [\n" + "".join(block.format(n) for n in range(6)) + "];\n"
    ask = (
        "export const f = (h) => create({ model: 'claude-sonnet-5', messages: h, system: blocks });"
    )
    assert ("KV303", "error") in codes(blocks + ask)
    apart = "import { blocks } from './blocks';\n" + ask
    assert ("KV303", "error") not in codes(apart, "ask.ts", {"blocks.ts": blocks})


@pytest.mark.parametrize("line", [1, 2])
def test_tables_that_fill_marks(codes, line):
    texts = {
        1: 'const DEFAULT_PROMPT = "It is {clock}. Help.";\n'
        "const VARS = { clock: () => Date.now() };\n"
        "export const expand = (t) => t.replace(/\\{(\\w+)\\}/g, (_, k) => VARS[k]());",
        2: "const variables = [{ key: 'time', value: () => moment().format('LTS') }];\n"
        "export const expandPrompt = (prompt) => variables.reduce((p, v) => "
        "p.replace(v.key, v.value()), prompt);",
    }
    assert ("KV001", "error") in codes(texts[line], "prompts.js")


@pytest.mark.parametrize(
    "text",
    [
        "export const system = () => Mustache.render(SYSTEM_TEMPLATE, { now: Date.now() });",
        "const template = Handlebars.compile(SYSTEM_PROMPT);\n"
        "export const systemPrompt = () => template({ time: new Date().toLocaleTimeString() });",
        'const prompt = ChatPromptTemplate.fromMessages([["system", "It is {time}."], '
        '["human", "{q}"]]);\n'
        "export const run = (q) => prompt.pipe(model).invoke({ q, time: Date.now() });",
        "export function fillPrompt(text) {\n"
        "  const table = { '{now}': new Date().toLocaleString() };\n"
        "  for (const [k, v] of Object.entries(table)) text = text.replaceAll(k, v);\n  "
        "return text;\n}",
    ],
)
def test_templates_that_are_filled_with_a_clock(codes, text):
    assert ("KV001", "error") in codes(text)


TIMED = "const timed = (text) => text.replace('{time}', new Date().toISOString());\n"
USED = "export const run = (bot, h) => create({ model, system: timed(bot.prompt), messages: h });\n"


def test_a_mark_that_no_text_at_hand_holds_is_only_a_guess(codes):
    table = "const vars = { now: () => Date.now() };\n"
    fills = "export const renderSystem = (t) => t.replace(/\\$\\{(\\w+)\\}/g, (m, k) => vars[k]());"
    assert codes(table + fills) == {("KV001", "warning")}
    assert codes(TIMED + USED) == {("KV001", "warning")}
    assert codes(TIMED.replace("'{time}'", "/\\{time(.*?)\\}/g") + USED) == {("KV001", "warning")}
    shipped = "export const DEFAULTS = ['You help. It is {time} here.'];\n"
    assert ("KV001", "error") in codes(shipped + TIMED + USED)


SYSTEM_HBS = (
    "You are a helper.\n{{#if tools}}Tools.{{/if}}\nIt is {{upper now}} for {{who}}.\nQuote.\n"
)


@pytest.mark.parametrize(
    "path",
    [
        '"./prompts/system.hbs"',
        'path.join(__dirname, "prompts", "system.hbs")',
        'new URL("./prompts/system.hbs", import.meta.url)',
        'path.resolve(process.cwd(), "src/prompts/system.hbs")',
    ],
)
def test_a_template_that_is_read_from_a_file_is_filled_where_its_holes_are(read, path):
    text = (
        f"const source = fs.readFileSync({path}, 'utf8');\n"
        "const template = Handlebars.compile(source);\n"
        "export const systemPrompt = (user) => template({ now: new Date().toISOString(),"
        " who: 'all', extra: crypto.randomUUID() });"
    )
    (document,) = read(text, "src/agent.ts", {"src/prompts/system.hbs": SYSTEM_HBS})
    shown = [
        (s.source.path, s.source.text[slice(*s.span)], str(s.origin))
        for s in document.segments
        if s.text is None
    ]
    assert shown == [
        ("src/prompts/system.hbs", "{{upper now}}", "clock"),
        ("src/agent.ts", "crypto.randomUUID()", "random"),
    ]
    assert [s.text for s in document.segments][2] == " for {{who}}.\nQuote.\n"
    (missing,) = read(text, "src/agent.ts")
    assert [str(s.origin) for s in missing.segments] == ["deploy", "clock", "random"]


def test_the_holes_of_a_template_in_the_same_file(codes, origins):
    text = (
        "const SYSTEM_PROMPT = 'Now <%= now %>.\\nYou answer questions about {{{ topic }}}.';\n"
        "export const systemPrompt = () => Eta.renderString(SYSTEM_PROMPT, { now: Date.now() });"
    )
    assert origins(text) == [("<%= now %>", "clock")]
    assert ("KV001", "error") in codes(text)


def test_a_hole_of_the_newest_turn_may_hold_a_clock(codes):
    text = (
        'const prompt = ChatPromptTemplate.fromMessages([["system", "Help."], ["human", '
        '"{time} {q}"]]);\n'
        "export const run = (q) => prompt.pipe(model).invoke({ q, time: Date.now() });"
    )
    assert codes(text) == set()


def test_fixed_and_changing_text_in_one_marked_block(kinds):
    text = (
        "export const ask = async (messages) => create({ model, messages, system: [{ "
        'type: "text",\n'
        '  text: RULES + "Memory:" + (await memory.load()), cache_control: { type: '
        '"ephemeral" } }] });'
    )
    assert kinds(text) == [("static-and-dynamic-in-one-block", "(await memory.load())")]


def test_a_table_in_a_file_that_speaks_of_no_prompt_is_information_only(codes):
    text = (
        "export function fill(p) {\n  const parts = { clock: new Date().toLocaleTimeString() };\n"
        "  return p.replace(/{{(\\w+)}}/g, (_, k) => parts[k]);\n}"
    )
    assert codes(text, "replace.ts") == {("KV001", "info")}
    assert codes(text.replace("fill(p)", "fileName(p)"), "replace.ts") == set()


def test_without_the_grammar_a_file_is_skipped_and_never_clean(monkeypatch, read):
    import importlib.util

    from kvaudit.analyzers.reader import Unreadable

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(Unreadable, match=r"pip install 'kvaudit\[source\]'"):
        read("const prompt = 1;")


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ('import { SYSTEM_TEMPLATE } from "./texts";', {("KV001", "error")}),
        ('import { x } from "./y";', set()),
    ],
)
def test_every_entry_of_a_table_is_put_into_the_marks_of_a_prompt(codes, head, expected):
    found = codes(
        f"{head}\nexport function fillWith(text) {{\n"
        "  const vars = { model, time: new Date().toString() };\n"
        "  Object.entries(vars).forEach(([name, value]) => {\n"
        '    text = text.replace(new RegExp(`{{${name}}}`, "g"), value.toString());\n'
        "  });\n  return text;\n}"
    )
    assert found == expected


def test_a_template_of_one_message_has_no_turns_behind_it(codes):
    made = "PromptTemplate.fromTemplate(`You are in {place}. It is {stamp}.\\n{seen}`)"
    filled = "export const ask = (seen) => prompt.invoke({ seen, stamp: new Date().toString() });"
    assert codes(f"const prompt = {made};\n{filled}") == set()
    assert codes(f"const prompt = Chat{made};\n{filled}") == {("KV001", "error")}


def test_details_of_the_environment_go_with_the_newest_turn(codes):
    body = f"return `# Time\\n{CLOCK}\\n# Files\\nYou can see ${{files}}. ${{instructions}}`;"
    assert codes(f"export function getEnvironmentDetails(files) {{ {body} }}") == set()
    assert codes(f"export function getEnvironment(files) {{ {body} }}") == {("KV001", "warning")}


SECTIONS = """const SECTIONS = [
  { name: "head", run: (context: Context) => `You help people of ${context.place}.` },
  { name: "time", run: () => `Now ${new Date().toISOString()}.` },
  { name: "tail", run: () => "Quote the number in every answer." },
];
function sections(context: Context) {
  const output = [];
  for (const section of SECTIONS) {
    const content = section.run(context).trim();
    if (!content) continue;
    output.push({ name: section.name, content });
  }
  return output;
}
"""
JOINED = """export function buildSystemPrompt(context: Context): string {
  return sections(context).map((section) => section.content).join(" ");
}
"""
ADDED = """export function buildSystemPrompt(context: Context): string {
  let text = "";
  for (const { run } of SECTIONS) text += run(context);
  return text;
}
"""


@pytest.mark.parametrize("built", [JOINED, ADDED])
def test_a_loop_over_sections_that_are_written_out_gives_them_in_order(read, built):
    document = read(SECTIONS + built, "agent.ts")[-1]
    texts = [s.text.strip() for s in document.segments if s.text is not None]
    assert [text for text in texts if len(text) > 1] == [
        "You help people of", "Now", "Quote the number in every answer.",
    ]  # fmt: skip
    origins = [s.origin.value for s in document.segments if s.expression is not None]
    assert origins == ["unknown", "clock"]


def test_sections_that_hold_their_own_list_end(read):
    text = SECTIONS.replace("output.push({", "output.push(...output, {") + JOINED
    assert read(text, "agent.ts")


def test_a_variable_says_more_than_the_function_that_made_it(codes):
    text = (
        "export function buildSystemPrompt(c: Context) {\n"
        "  const sessionId = clean(c.given);\n"
        "  return `You help.\\nSession: ${sessionId}\\n" + "Quote the number. " * 90 + "`;\n}\n"
    )
    assert codes(text) == {("KV005", "info")}


@pytest.mark.parametrize(
    "text",
    [
        f"const late = {{ role: 'system', content: `Now {CLOCK}` }};\n"
        "client.create({ model, messages: [...history, late] });",
        f"const told = {{ role: 'user', content: `At {CLOCK}` }};\n"
        "client.create({ model, messages: [sys, ...turns, told, { role: 'user', content: q }] });",
        "const messages = [...state.messages];\n"
        f"messages.push({{ role: 'system', content: `Remember. Now {CLOCK}` }});",
    ],
)
def test_what_is_put_behind_the_history_is_no_prefix(codes, text):
    assert not [code for code, _ in codes(text) if code == "KV001"]


def test_a_list_that_begins_the_prompt_is_no_history(codes):
    text = (
        "client.create({ model, messages: [...systemMessages, "
        f"{{ role: 'system', content: `Now {CLOCK}` }}, ...history] }});"
    )
    assert ("KV001", "error") in codes(text)


def test_what_git_says_of_a_checkout_stays_for_the_session(origins):
    text = (
        "export const systemPrompt = () => `You help with ${execSync('git remote get-url origin')} "
        "after ${execSync('git log -1')}.`;"
    )
    assert [origin for _, origin in origins(text)] == ["session", "live-state"]


def test_lists_of_messages_that_are_put_into_a_list_are_its_messages(read):
    text = (
        "export async function ask(client, q) {\n"
        "  const voice = [{ role: 'developer', content: VOICE }, q && { role: 'developer',"
        " content: STYLE }].filter(Boolean);\n"
        "  const fixed = [...voice, { role: 'developer', content: RULES }];\n"
        "  return client.create({ model, messages: [...fixed, { role: 'user', content: q }] }); }"
    )
    sent = max(read(text), key=lambda document: len(document.segments))
    assert [s.position.name for s in sent.segments] == [*["SYSTEM"] * 3, "NEWEST"]


@pytest.mark.parametrize(
    ("tools", "told"),
    [
        ("{ find, read }", ["[]"]),
        ("{ find }", ["[]"]),
        ("{ find } as ToolSet", ["[]"]),
    ],
)
def test_the_shortest_list_of_a_step_is_told(kinds, tools, told):
    text = (
        f"streamText({{ model, messages, tools: {tools}, prepareStep: ({{ n }}) => {{\n"
        "  if (n === 0) return { activeTools: ['find'] };\n"
        "  if (n > 3) return { activeTools: [] }; } });"
    )
    assert [at for kind, at in kinds(text) if kind == "tools-change-in-session"] == told


@pytest.mark.parametrize("tools", ["{ find }", "{ 'find': findTool } as ToolSet"])
def test_a_step_that_keeps_every_tool_changes_none(kinds, tools):
    text = (
        f"streamText({{ model, messages, tools: {tools}, prepareStep: ({{ n }}) => {{\n"
        "  if (n === 0) return { activeTools: ['find'] }; } });"
    )
    assert "tools-change-in-session" not in dict(kinds(text))


@pytest.mark.parametrize(
    ("text", "behind"),
    [
        (f"const f = (messages) => {{ messages[0].content = `Now {CLOCK}. Help.`; }};", True),
        (
            "function f(chat: Chat, messages: M[]) { const text = `You help.\n"
            f"Now {CLOCK}.`; messages[0]!.content = text; }}",
            True,
        ),
        (
            "function f(messages) { messages.unshift({ role: 'system', content: "
            f"`Now {CLOCK}` }}); }}",
            True,
        ),
        (
            "function f() { const messages = []; messages[0] = make(); "
            f"messages[0].content = `Now {CLOCK}`; }}",
            False,
        ),
    ],
)
def test_what_is_put_at_the_head_of_a_conversation_is_its_system_text(read, text, behind):
    (document,) = read(text)
    assert document.sent
    clock, *rest = [s for s in document.segments if s.expression is not None]
    assert (clock.position.name, str(clock.origin)) == ("SYSTEM", "clock")
    assert [s.position.name for s in rest] == ["HISTORY"] * behind


def test_a_long_text_that_speaks_to_a_model_is_a_prompt_whatever_makes_it(read):
    rules = "Quote the number of the invoice in each of your answers.\n" * 20
    text = (
        "// A prompt of the agent.\nexport function getRaw() { "
        f"return `Now {CLOCK}\nYou are a clerk. {rules}`; }}"
    )
    (document,) = read(text, "raw.ts")
    assert {str(s.origin) for s in document.segments if s.expression} == {"clock"}
    assert read(text.replace("You are a", "This is the"), "raw.ts") == []
    assert read(text.replace(rules, ""), "raw.ts") == []


def test_a_copy_of_messages_keeps_each_at_its_place(read):
    text = (
        "function turn(history, q) { const asked = `${Date.now()} ${q}`;\n"
        "  const messages = [{ role: 'system', content: RULES }, ...history,\n"
        "    { role: 'user', content: asked }];\n"
        "  send({ systemPrompt: RULES, messages: JSON.parse(JSON.stringify(messages)) }); }\n"
    )
    found = {place for place, said in positions(read(text)) if said in ("Date.now()", "asked")}
    assert found == {"NEWEST"}


@pytest.mark.parametrize(
    "rewrite",
    [
        "m.role === 'system' ? { ...m, content: `${m.content} ${new Date().toISOString()}` } : m",
        "{ if (m.role === 'system') { return { ...m, content: `${m.content} "
        "${new Date().toISOString()}` }; } return m; }",
    ],
)
def test_a_map_that_writes_the_system_message_anew_stands_before_the_turns(codes, read, rewrite):
    text = f"export const timed = (messages) => messages.map((m) => {rewrite});"
    assert ("KV001", "error") in codes(text)
    assert positions(read(text))[-1] == ("HISTORY", "messages")
    assert codes(text.replace("'system'", "'user'")) == set()


@pytest.mark.parametrize(
    ("held", "test", "found"),
    [
        ("request.messages", "!messages.find((m) => m.role === 'system')", False),
        ("this.messages", "messages[0].role !== 'system'", False),
        ("req.body.messages", "!messages.find((m) => m.role === 'system')", True),
        ("request.messages", "request.timed", True),
    ],
)
def test_a_system_message_that_is_put_into_a_kept_list_stays(codes, held, test, found):
    text = (
        f"function ask(request) {{ const messages = {held};\n"
        f"  if ({test}) {{\n"
        f"    messages.unshift({{ role: 'system', content: `Now {CLOCK}. Help.` }}); }}\n"
        "  return client.create({ model, messages }); }"
    )
    assert (("KV001", "error") in codes(text)) is found


@pytest.mark.parametrize(
    ("request_of", "found"),
    [
        ("export const editor: Definition = {{ id: 'e', {} }};", False),
        ("export const editor = new Agent({{ id: 'e', {} }});", True),
        ("export const ask = (messages) => post({{ messages, {} }});", True),
    ],
)
def test_settings_of_an_agent_do_not_show_what_is_marked(codes, request_of, found):
    rules = "Quote the number of the invoice in each of your answers.\n" * 200
    text = request_of.format(f"model: 'anthropic/claude-sonnet-4-5', systemPrompt: `{rules}`")
    assert (("KV302", "warning") in codes(text)) is found
