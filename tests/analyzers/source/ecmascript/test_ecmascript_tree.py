"""Characters, not bytes; and files that no person wrote end quickly, with a reason."""

import json
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvaudit.analyzers.reader import Unreadable
from kvaudit.analyzers.source.ecmascript.stand_ins import stood_in
from kvaudit.analyzers.source.ecmascript.tree import MAX_CHARACTERS, parse
from kvaudit.cli import run

letters = st.text("aé😀ü\u2028 ", max_size=20)


@given(letters, letters, letters)
def test_spans_are_characters_of_the_file(before, inside, after):
    text = f"// {before.replace(chr(0x2028), '')}\nconst a = `{inside}${{x}}{after}` + b;\n"
    found = {n.kind: text[n.start : n.end] for n in parse(text, "typescript").walk()}
    assert found["template_substitution"] == "${x}"
    assert found["template_string"] == f"`{inside}${{x}}{after}`"
    assert found["binary_expression"].endswith("` + b")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("f(" * 3_000 + "1" + ")" * 3_000, "nested too deeply"),
        ("[" * 100_000, "cannot parse it|nested too deeply|minified"),
        ("var a=1;" * 20_000, "minified"),
        ("const a = 1;\n" * (MAX_CHARACTERS // 10), "longer than"),
    ],
)
def test_hostile_files_end_with_a_reason(read, text, reason):
    begun = time.monotonic()
    with pytest.raises(Unreadable, match=reason):
        read(text + "\n// prompt", "a.js")
    assert time.monotonic() - begun < 20


PROMPT = """export function systemPrompt(user: User): string {
  const now = new Date().toISOString();
  return `You help people. ${now}`;
}
"""


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (PROMPT.replace("systemPrompt(user", "systemPrompt user"), "cannot parse it at line 1"),
        (PROMPT * 9 + PROMPT.replace("return `", "return "), "an unpaired `"),
        (PROMPT * 9 + "if (x) {\n", "a closing } is missing"),
        (f"<<<<<<< HEAD\n{PROMPT}=======\n{PROMPT * 20}>>>>>>> theirs\n", "conflict of a merge"),
        ("def system_prompt(user):\n    return f'You help {user}'\n" * 3, "cannot parse it"),
    ],
)
def test_a_file_that_does_not_parse_is_skipped_and_never_clean(tmp_path, capsys, broken, reason):
    file = tmp_path / "prompt.ts"
    file.write_text(broken, "utf-8")
    assert run(["lint", "--isolated", "--format", "json", str(file)]) == 3
    printed = json.loads(capsys.readouterr().out)
    assert (printed["checked"], printed["findings"]) == (0, [])
    assert reason in printed["skipped"][0]["reason"]


@pytest.mark.parametrize("unknown", ["@@\n", "import defer * as a from 'a';\n"])
def test_a_word_that_the_grammar_does_not_know_keeps_no_file_from_being_checked(read, unknown):
    (document,) = read(f"{PROMPT * 3}{unknown}", "prompt.ts")[:1]
    assert "clock" in [segment.origin.value for segment in document.segments]


@pytest.mark.parametrize(
    "text",
    [
        "const prompt = " + " + ".join("`a${x}`" for _ in range(900)) + ";",
        "const systemPrompt = (a) => "
        + "".join(f"a == {i} ? `x${{a}}` : " for i in range(300))
        + "'';",
        "function prompt(a) { return prompt(prompt(a)) + prompt(prompt(`${a}`)); }",
        "let prompt = prompt + prompt; prompt = prompt.replace('a', prompt);",
        "const a = [...a, ...a]; const messages = [{role: 'user', content: a.map((x) => a)}];",
        "".join(f"const prompt{i} = `${{prompt{i + 1}}}${{prompt{i + 1}}}`;\n" for i in range(60)),
        "\ud800 const prompt = `\ud800${x}`",
        "\x00const prompt = `\x00${x}`",
    ],
)
def test_what_turns_in_circles_or_grows_ends(read, text):
    begun = time.monotonic()
    with suppress(Unreadable):
        read(text, "a.js")
    assert time.monotonic() - begun < 20


JSX = "export const Page = () => (<Main>{beside}%s</Main>);\n"


MOCKED = """mock("os", async (original) => {
  const actual = await original<typeof import("os")>()
  return { default: {} }
})
describe("history", () => {
  beforeEach(() => {
    it("gives a path", () => {
    })
    it("gives entries", async () => {
    })
  })
})
"""


@pytest.mark.parametrize(
    ("name", "unknown"),
    [
        ("a.tsx", JSX % '<a href="/?a=1&b_c=2">on</a>' * 20),
        ("a.jsx", JSX % "<b>run `make` && make test, &lt;then&gt; stop</b>" * 20),
        ("a.jsx", JSX % '<Bones.default tall="80vh" wide />' * 20),
        ("a.ts", "type Kept =\n  import('./kinds').Kept<\n    One,\n    Two\n  >;\n" * 20),
        ("a.ts", MOCKED),
    ],
)
def test_what_no_grammar_knows_keeps_its_place(read, name, unknown):
    text = unknown + PROMPT.replace("prompt", "systemPrompt")
    clock = next(s for d in read(text, name) for s in d.segments if s.origin.value == "clock")
    assert text[clock.span.start : clock.span.end] == clock.expression
    assert stood_in(unknown) != unknown
    with pytest.raises(Unreadable):
        read(text + "const broken = `", name)
