"""The same links in TypeScript: use, answer, field, parts, chain."""

import pytest
from linted import linted

from kvaudit.analyzers.limit import within
from kvaudit.analyzers.ruleset import choose_rules
from kvaudit.core.doubt import Doubt
from kvaudit.core.findings import Severity

RULES = [rule for rule in choose_rules().used if rule.code.startswith("KV4")]
MADE = """\
import { createHash } from "crypto";
function cacheKey(prompt: string, who: string) {
  return createHash("sha256").update(JSON.stringify([prompt])).digest("hex");
}
"""
ASKED = """\
export async function ask(prompt: string, model: string) {
  const key = cacheKey(prompt, model);
  const hit = await cache.get(key);
  if (hit) return hit;
  const said = await openai.chat.completions.create({ model, prompt });
  await cache.set(key, said.choices[0]);
  return said;
}
"""


def told(text, code="KV401"):
    found = linted({"keys.ts": text}, RULES).findings
    rows = [(f.severity, f.doubt) for f in found if f.code == code]
    return max(rows, key=lambda row: row[0].rank)


def test_a_model_that_reaches_the_kept_answer_and_not_the_key_is_an_error():
    assert told(MADE + ASKED) == (Severity.ERROR, None)


@pytest.mark.parametrize(
    ("old", "new", "doubt"),
    [
        ("cacheKey(prompt, model);\n  const hit", "prompt;\n  const hit", Doubt.NO_CACHE),
        ("said.choices[0]", "prompt.length", Doubt.NO_ANSWER),
        ("JSON.stringify([prompt])", "describe(prompt)", Doubt.PARTLY),
        ("[prompt]", "[namespace, prompt]", Doubt.PARTLY),
        ("prompt: string, model: string", "prompt: string", Doubt.STAYS),
    ],
    ids=["no-cache", "no-answer", "helper", "opaque", "stays"],
)
def test_a_link_that_is_not_seen_makes_it_information(old, new, doubt):
    text = MADE + ASKED
    assert old in text
    assert told(text.replace(old, new)) == (Severity.INFO, doubt)


CHAINED = """\
export function blockHash(tokens: number[], size: number, model: string, salt: string) {
  let h = "";
  for (let i = 0; i < tokens.length; i += size) {
    const next = %s + model + salt + tokens.slice(i, i + size).join(",");
    h = createHash("sha256").update(next).digest("hex");
  }
  return h;
}
"""


def test_blocks_of_tokens_count_where_they_are_chained():
    assert told(CHAINED % "h", "KV416") == (Severity.ERROR, None)
    assert told(CHAINED % "i", "KV416") == (Severity.INFO, Doubt.NO_CHAIN)


def test_what_no_file_of_a_run_shows_does_not_count_as_missing():
    made = "export const keyFor = (p) => hash({ model: p.model, messages: p.messages });\n"
    sent = "export const call = (p) => api({ ...p, model: p.model, tools: p.tools });\n"
    assert told(made + sent, "KV403") == (Severity.ERROR, None)
    assert told(made + sent + 'const other = cache.get("a");\n', "KV403") == (
        Severity.INFO, Doubt.NO_CACHE,
    )  # fmt: skip


WRITTEN = """\
export async function ask(prompt: string, model: string, system: string) {
  const key = `${model}:${system}:1`;
  const hit = await redis.get(key);
  if (hit) return hit;
  const { text } = await generateText({ model, system, prompt });
  await redis.set(key, text);
  return text;
}
"""


def in_key(written):
    return WRITTEN.replace("`${model}:${system}:1`", written)


def rows(text):
    found = linted({"keys.ts": text}, RULES).findings
    return sorted((f.code, f.severity) for f in found)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("`llm:${model}:${JSON.stringify(system)}:${prompt}`", []),
        ("`llm:${JSON.stringify(system)}:${prompt}`", [("KV401", Severity.ERROR)]),
        ('"llm:" + model + ":" + prompt', [("KV403", Severity.ERROR)]),
        ("JSON.stringify([model, prompt])", [("KV403", Severity.ERROR)]),
        ('[model, prompt].join("-")', [("KV403", Severity.ERROR)]),
        ("`${model}:${system}:${prompt}`", [("KV405", Severity.WARNING)]),
        (
            "`${model}:${JSON.stringify(system)}:${prompt.toLowerCase()}`",
            [("KV418", Severity.WARNING)],
        ),
        (
            "`${model}:${JSON.stringify(system)}:${prompt.slice(0, 50)}`",
            [("KV418", Severity.WARNING)],
        ),
        ("`${model}:${JSON.stringify(system)}:${prompt.slice(0, -1)}`", []),
        ("`${model}:${index}`", []),
    ],
)
def test_a_key_that_is_written_out_counts_as_a_digest_does(written, expected):
    assert rows(in_key(written)) == expected


def test_a_key_that_a_function_writes_or_that_is_written_twice_is_the_same():
    made = in_key("keyFor(prompt)") + "const keyFor = (prompt: string) => `qa:${prompt}`;\n"
    twice = in_key("0").replace("get(key)", "get(`qa:${prompt}`)")
    twice = twice.replace("set(key,", "set(`qa:${prompt}`,")
    expected = [("KV401", Severity.ERROR), ("KV403", Severity.ERROR)]
    assert rows(made) == rows(twice) == expected


def test_functions_that_are_called_after_caches_ask_and_fill_them():
    text = in_key("`qa:${system}:${prompt.length}:${prompt}`")
    text = text.replace("redis.get(", "getFromCache(").replace("redis.set(", "saveToCache(")
    assert ("KV401", Severity.ERROR) in rows(text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("redis.set(key, text)", "log(text)"),
        ("redis.set(key, text)", "redis.set(key, prompt.length)"),
    ],
    ids=["not-filled", "no-answer"],
)
def test_a_written_text_under_which_no_answer_is_kept_is_no_key(old, new):
    text = in_key("`qa:${prompt}`")
    assert old in text
    assert rows(text) != []
    assert rows(text.replace(old, new)) == []


def test_a_model_that_is_sent_the_folded_text_is_asked_the_same():
    text = in_key("`${model}:${JSON.stringify(system)}:${prompt.toLowerCase()}`")
    text = text.replace("system, prompt }", "system, prompt: prompt.toLowerCase() }")
    assert rows(text) == [("KV418", Severity.INFO)]


def test_what_another_function_sends_is_nothing_to_a_written_key():
    other = "export const ping = (temperature: number) => generateText({ temperature, prompt });\n"
    text = in_key("`${model}:${JSON.stringify(system)}:${prompt}`")
    assert rows(text + other) == []


def test_names_that_are_given_each_other_take_no_time():
    names = [f"v{number}" for number in range(40)]
    tangled = "".join(f"  {name} = pick({', '.join(names)});\n" for name in names)
    text = in_key("`qa:${prompt}`").replace("redis.set(key, text)", "redis.set(key, v0)")
    declared = f"  let {', '.join(names)};\n{tangled}  v9 = text;\n  await"
    with within(5):
        found = rows(text.replace("  await", declared))
    assert found == [("KV401", Severity.ERROR), ("KV403", Severity.ERROR)]
