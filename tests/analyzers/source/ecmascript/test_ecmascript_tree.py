"""Characters, not bytes; and files that no person wrote end quickly, with a reason."""

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvaudit.analyzers.reader import Unreadable
from kvaudit.analyzers.source.ecmascript.tree import MAX_CHARACTERS, parse

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
        ("[" * 100_000, "does not parse|nested too deeply|minified"),
        ("var a=1;" * 20_000, "minified"),
        ("const a = 1;\n" * (MAX_CHARACTERS // 10), "longer than"),
    ],
)
def test_hostile_files_end_with_a_reason(read, text, reason):
    begun = time.monotonic()
    with pytest.raises(Unreadable, match=reason):
        read(text + "\n// prompt", "a.js")
    assert time.monotonic() - begun < 20


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
