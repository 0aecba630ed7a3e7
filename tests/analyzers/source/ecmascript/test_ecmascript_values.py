"""What expressions are known to be, followed through names, calls and files."""

import pytest

CLOCK = "clock"
DAY = "date"


@pytest.mark.parametrize(
    ("moment", "origin"),
    [
        ("new Date()", CLOCK),
        ("Date.now()", CLOCK),
        ("new Date().toISOString()", CLOCK),
        ("new Date().toISOString().slice(0, 10)", DAY),
        ("new Date().toISOString().slice(0, 16)", CLOCK),
        ("new Date().toISOString().substring(0, 10)", DAY),
        ('new Date().toISOString().split("T")[0]', DAY),
        ('new Date().toISOString().split("T")[1]', CLOCK),
        ("new Date().toDateString()", DAY),
        ("new Date().toString().slice(0, 15)", DAY),
        ("new Date().toString().slice(0, 21)", CLOCK),
        ("new Date().toLocaleDateString()", DAY),
        ('new Date().toLocaleDateString("en", {hour: "2-digit"})', CLOCK),
        ("new Date().toLocaleString()", CLOCK),
        ('new Date().toLocaleString("en", {weekday: "long", year: "numeric"})', DAY),
        ('new Date().toLocaleString("en", {dateStyle: "full", timeStyle: "short"})', CLOCK),
        ("new Date().toLocaleTimeString()", CLOCK),
        ("new Date().getFullYear()", DAY),
        ("new Date().getHours()", CLOCK),
        ('new Intl.DateTimeFormat("en", {month: "long"}).format(new Date())', DAY),
        ('new Intl.DateTimeFormat("en", {hour: "numeric"}).format(new Date())', CLOCK),
        ('dayjs().format("YYYY-MM-DD")', DAY),
        ('moment().format("YYYY-MM-DD HH:mm")', CLOCK),
        ('moment().format("LLLL")', CLOCK),
        ('moment().format("LL")', DAY),
        ('format(new Date(), "yyyy-MM-dd")', DAY),
        ('format(new Date(), "HH:mm")', CLOCK),
        ("formatDate(new Date())", DAY),
        ("formatTime(new Date())", CLOCK),
        ("Math.floor(Date.now() / 1000)", CLOCK),
        ("DateTime.now().toISODate()", DAY),
        ("performance.now()", CLOCK),
        ("crypto.randomUUID()", "random"),
        ("uuidv4()", "random"),
        ("nanoid(8)", "random"),
        ("Math.random().toString(36)", "random"),
        ("process.cwd()", "session"),
        ("process.env.REGION", "deploy"),
        ("os.hostname()", "host"),
        ("os.userInfo().username", "identity"),
        ('req.headers["user-agent"]', "header"),
        ("geolocation(request).city", "header"),
        ('execSync("git status").toString()', "live-state"),
        ("await memory.search(q)", "live-state"),
        ("user.name", "identity"),
        ("session.id", "session"),
        ("question", "user-input"),
        ("file.content", "unknown"),
    ],
)
def test_where_a_value_arises(origins, moment, origin):
    text = f"export async function systemPrompt() {{ return `You help. ${{{moment}}} Be kind.`; }}"
    assert [found for _, found in origins(text)] == [origin]


@pytest.mark.parametrize(
    "body",
    [
        "const now = new Date(); return `At ${now.toISOString()}. ${RULES}`;",
        "let text = 'At '; text += Date.now(); text += RULES; return text;",
        "const parts = []; parts.push('At'); parts.push(Date.now()); return parts.join(' ');",
        "const parts = ['At', Date.now()]; return parts.filter(Boolean).join(' ');",
        "return 'At '.concat(Date.now(), RULES);",
        "return TEMPLATE.replace('{{time}}', Date.now());",
        "return 'You see {{ time }} here'.replace(/{{\\s*time\\s*}}/g, Date.now());",
        "const stamp = () => Date.now(); return 'At ' + stamp() + RULES;",
        "const { now } = { now: Date.now() }; return 'At ' + now + RULES;",
        "const say = (t) => `At ${t}`; return say(Date.now()) + RULES;",
        "const say = ({ t, u }) => `At ${t}`; return say({ t: Date.now() }) + RULES;",
        "let x = 'At'; if (a) { x = `At ${Date.now()}`; } return x + RULES;",
        "return [1].map((n) => `${n} at ${Date.now()}`).join('') + RULES;",
        "return dedent`At ${Date.now()} you help.`;",
        "return cond ? `At ${Date.now()} ${RULES}` : RULES;",
        "return (`At ${Date.now()}` as string) + RULES!;",
        "return Object.entries({ a: Date.now() }).map(([k, v]) => `${k} ${v}`).join('') + RULES;",
    ],
)
def test_a_clock_is_followed_through_names_and_calls(origins, body):
    found = origins(f"export function systemPrompt(a) {{ {body} }}")
    assert CLOCK in [origin for _, origin in found]


def test_a_value_is_reported_where_it_is_put_in_and_shows_its_way(read):
    (document,) = read(
        "export function systemPrompt() {\n"
        "  const stamp = new Date().toISOString();\n"
        "  return `It is ${stamp}. Be kind.`;\n}"
    )
    (clock,) = [s for s in document.segments if s.expression]
    assert clock.expression == "stamp"
    assert clock.source.place(clock.span.start) == (3, 19)
    assert [(step.label, clock.source.place(step.span.start).line) for step in clock.trail] == [
        ("reads the clock", 2)
    ]


@pytest.mark.parametrize("path", ["./clock", "./clock.js", "@/clock"])
def test_functions_of_other_files_are_followed(origins, path):
    found = origins(
        f'import {{ stamp }} from "{path}";\n'
        "export const systemPrompt = () => `At ${stamp()}. Help.`;",
        "src/agent.ts",
        {
            "src/clock.ts": "export const stamp = () => Date.now();",
            "clock.ts": "export const stamp = () => Date.now();",
        },
    )
    assert found == [("stamp()", CLOCK)]


def test_names_that_a_file_passes_on_are_found(origins):
    files = {
        "index.ts": 'export * from "./inner"; export { hidden as shown } from "./inner";',
        "inner.ts": "export function now() { return Date.now(); }\n"
        "export const hidden = () => Date.now();",
    }
    text = (
        'import { now, shown } from "./index";\n'
        "export const systemPrompt = () => `${now()} or ${shown()}. Help.`;"
    )
    assert [origin for _, origin in origins(text, "a.ts", files)] == [CLOCK, CLOCK]


def test_what_a_module_reads_once_is_of_the_release(read):
    (document,) = read(
        "export const x = 1;\nconst TODAY = new Date().toDateString();\n"
        "export const systemPrompt = () => `Today is ${TODAY}. Help.`;"
    )
    assert [str(s.origin) for s in document.segments if s.expression] == ["deploy"]
    assert [o.kind for o in document.observations] == ["frozen-at-import"]


def test_what_a_class_reads_once_is_of_the_session(origins):
    text = (
        "export class Agent {\n  started = Date.now();\n"
        "  systemPrompt() { return `Since ${this.started}. Help.`; }\n}"
    )
    assert origins(text) == [("this.started", "session")]


def test_methods_of_the_class_are_followed(origins):
    text = (
        "export class Agent {\n  private stamp() { return new Date(); }\n"
        "  systemPrompt() { return `At ${this.stamp()}. Help.`; }\n}"
    )
    assert origins(text) == [("this.stamp()", CLOCK)]


def test_a_loop_variable_is_a_counter_only_where_the_model_is_asked_in_the_loop(origins):
    asked = (
        "export async function run() { for (let i = 0; i < 9; i++) {"
        " await client.create({ model, system: `Step ${i}. ${RULES}`, messages }); } }"
    )
    listed = (
        "export function systemPrompt(xs) { let t = 'You help. ';"
        " for (let i = 0; i < 9; i++) t += `${i}. ${xs[i]}`; return t; }"
    )
    assert ("i", "counter") in origins(asked)
    assert "counter" not in [origin for _, origin in origins(listed)]


@pytest.mark.parametrize(("times", "tokens"), [("40", 200), ("n", None)])
def test_a_text_written_several_times_over_has_the_size_of_them_all(read, times, tokens):
    (document,) = read(
        f"const RULES = 'Name the invoice. '.repeat({times});\n"
        "export function systemPrompt() { return `In ${process.cwd()}: ` + RULES; }"
    )
    assert document.segments[-1].tokens == tokens


def test_a_prompt_that_another_service_keeps_is_no_state(origins):
    text = (
        "export async function begin() { const kept = await (await fetch(url)).json();"
        " return client.create({ model, messages, system: `${kept.%s} ${RULES}` }); }"
    )
    assert ("kept.weather", "live-state") in origins(text % "weather")
    assert "live-state" not in [origin for _, origin in origins(text % "system_instruction")]


@pytest.mark.parametrize(
    "entry", ["row.timestamp", "event.date_time", "view.traceId", "gate.iteration"]
)
def test_times_and_numbers_of_a_record_are_its_own(origins, entry):
    text = "export function systemPrompt(row, event, view, gate) { return `At ${%s}. ` + RULES; }"
    assert origins(text % entry)[0] == (entry, "unknown")
    assert origins(text % "event.currentTime")[0][1] == CLOCK
    assert origins(text % "params.requestId")[0][1] == "random"


def test_where_a_value_comes_from_in_code_is_no_passage(origins):
    text = "export function systemPrompt(b) { return `By ${b.source}: ` + RULES; }"
    assert origins(text)[0] == ("b.source", "unknown")


def test_a_race_against_a_timer_has_one_result(read):
    text = (
        "export async function buildSystemPrompt() { const found = await Promise.race(["
        "ask(one), %s]); return `You help. ${found}` + RULES; }"
    )
    seen = [o.kind for d in read(text % "ask(two)") for o in d.observations]
    assert seen == ["discovery-order"]
    late = "new Promise((_, no) => setTimeout(() => no(new Error()), 500))"
    assert [o.kind for d in read(text % late) for o in d.observations] == []


def test_the_folder_of_a_project_says_nothing_of_its_texts(read):
    text = "export const ago = (t, n = Date.now()) => t.agoText.replace('{n}', String(n - t.at));"
    kinds = [
        (d.low_stakes, s.evidence.value)
        for d in read(text, "code-agent/src/utils/time.ts")
        for s in d.segments
    ]
    assert kinds == [(True, "name")]


@pytest.mark.parametrize(("name", "place"), [("", "SYSTEM"), ("Turn", "NEWEST")])
def test_what_goes_with_a_turn_is_no_system_text(read, name, place):
    text = (
        f"export function build{name}SystemPrompt() {{"
        " return `Run ${crypto.randomUUID()}. ` + RULES; }"
    )
    assert {s.position.name for d in read(text) for s in d.segments} == {place}


@pytest.mark.parametrize(("shown", "seen"), [("late", ["shuffled-examples"]), ("Date.now()", [])])
def test_an_order_costs_nothing_behind_what_differs_on_each_turn(read, shown, seen):
    text = (
        f"export function systemPrompt(xs) {{ return `It is ${{{shown}}}. ` +"
        " xs.sort(() => 0.5 - Math.random()).join() + RULES; }"
    )
    assert [o.kind for d in read(text) for o in d.observations] == seen


@pytest.mark.parametrize(("role", "origin"), [("assistant", "history"), ("system", "clock")])
def test_what_is_written_into_an_answer_is_said_once(origins, role, origin):
    text = (
        "export const go = (turns, q) => client.create({ model, messages: [\n"
        f"  {{ role: '{role}', content: `Summary made at ${{Date.now()}}.` }},\n"
        "  ...turns, { role: 'user', content: `Answer with care. ${q}` }] });"
    )
    assert ("Date.now()", origin) in origins(text)


def test_parts_of_a_message_by_another_name(origins):
    text = (
        "export const go = (turns) => generateText(model, [\n"
        "  { role: 'system', contentParts: [{ type: 'text', text: `Now ${new Date()}.` }] },\n"
        "  ...turns]);"
    )
    assert ("new Date()", "clock") in origins(text)


@pytest.mark.parametrize(
    ("keeps", "severity"),
    [
        ("out[id] = { lines };", "warning"),
        ("out.set(id, lines);", "warning"),
        ("out.push({ id, content: lines });", "warning"),
        ("out.push({ id: id, content: lines });", "warning"),
        ("out[0] = { lines };", "error"),
        ("out.push(lines);", "error"),
    ],
)
def test_a_drawn_value_that_something_is_kept_under_may_be_a_mark(codes, keeps, severity):
    text = (
        "import { v4 } from 'uuid';\nexport function systemPrompt(out, lines) {\n"
        f"  const id = `__${{v4()}}__`; {keeps}\n"
        "  return `You help.\\n${id}\\nBe kind.`; }"
    )
    assert codes(text) == {("KV003", severity)}


@pytest.mark.parametrize(
    ("given", "origin"),
    [("data.time_last_update_utc", None), ("row.updatedAt", None), ("options.now", CLOCK)],
)
def test_a_clock_in_the_place_of_a_time_that_a_record_holds_is_none(origins, given, origin):
    said = f"`At ${{{given} || new Date()}}. Help.`"
    asked = f"const data = (await axios.get(URL)).data; return {said};"
    read = origins(f"export async function systemPrompt(row, options) {{ {asked} }}")
    assert (CLOCK in [found for _, found in read]) is (origin is CLOCK)
    at = f"${{{given} || new Date()}}"
    text = f"export const systemPrompt = (data, row, options) => `At {at}. Help.`"
    assert (CLOCK in [found for _, found in origins(text)]) is (origin is CLOCK)


@pytest.mark.parametrize(("first", "seen"), [("${question}", []), ("", ["shuffled-examples"])])
def test_an_order_behind_what_one_request_asks_costs_nothing(kinds, first, seen):
    text = (
        "ask({ model, messages: [{ role: 'system', content: RULES },\n"
        f"  {{ role: 'user', content: `Answers follow. {first}` }},\n"
        "  { role: 'user', content: answers.sort(() => Math.random() - 0.5).join() },\n"
        "  { role: 'user', content: RULES }] });"
    )
    assert [kind for kind, _ in kinds(text)] == seen


@pytest.mark.parametrize(
    ("block", "found"),
    [
        ("{ toolResult: { toolUseId, content: [{ text: c.said || 'Failed' }] } }", False),
        ("{ type: 'tool_result', tool_use_id: toolUseId, content: `${toolUseId} failed` }", False),
        ("{ text: `${toolUseId} failed` }", True),
    ],
)
def test_what_is_written_into_a_result_is_said_once_in_whatever_role(codes, block, found):
    text = (
        "export async function turn(messages, calls) {\n"
        "  const current = [...messages];\n"
        "  for (let i = 0; i < 10; i++) {\n"
        "    const results = [];\n"
        "    for (const c of calls) {\n"
        "      const toolUseId = c.id || `call-${Date.now()}`;\n"
        f"      results.push({block}); }}\n"
        "    current.push({ role: 'user', content: results });\n"
        "    await client.send(new ConverseCommand({ modelId, system, messages: current })); } }"
    )
    assert (("KV001", "error") in codes(text)) is found
