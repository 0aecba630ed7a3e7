"""Keys in TypeScript: what is hashed, against what the file sends."""

import pytest

from kvaudit.analyzers.examples import OneFile
from kvaudit.analyzers.profile import Profile
from kvaudit.analyzers.run import documents_of, lint_document
from kvaudit.core.rulebook import load_rules
from kvaudit.core.sources import Source

RULES = [rule for rule in load_rules() if rule.code.startswith("KV4")]
HEAD = 'import { createHash } from "crypto";\n'


def codes(text):
    return sorted(
        finding.code
        for document in documents_of(Source("keys.ts", HEAD + text), OneFile())
        for finding in lint_document(document, RULES, Profile())
    )


def key(fed, tail=""):
    return (
        "export function cacheKey(model: string, prompt: string, system: string) {\n"
        f'  return createHash("sha256").update({fed}).digest("hex"){tail};\n}}\n'
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (key("`${system}${prompt}`"), ["KV405"]),
        (key("system + prompt"), ["KV405"]),
        (key("JSON.stringify([model, system, prompt])", ".slice(0, 8)"), ["KV410"]),
        (key("JSON.stringify([model, prompt, Date.now()])"), ["KV408"]),
        (key("JSON.stringify([model, prompt.toLowerCase()])"), ["KV418"]),
        (key("JSON.stringify([model, system, prompt])"), []),
        ('const etag = createHash("md5").update(body).digest("hex").slice(0, 8);\n', []),
    ],
    ids=["template", "sum", "short", "clock", "folded", "right", "etag"],
)
def test_what_a_key_is_made_of(text, expected):
    assert codes(text) == expected


def test_what_is_sent_and_not_hashed():
    send = "const ask = (p) => client.create({ model: p.model, prompt: p.q, tools: p.tools });\n"
    assert codes(key("JSON.stringify([prompt])") + send) == ["KV401", "KV403"]
    assert codes(key("JSON.stringify([model, tools, prompt])") + send) == []


def test_all_arguments_joined_by_what_they_may_hold():
    head = "// keys of prompts for an LLM, and of embeddings of prompts\n"
    join = 'export const cacheKey = (...texts) => sha256(texts.join("%s"));\n'
    assert codes(head + join % "_") == ["KV405"]
    assert codes(head + join % "\\u0000") == []
    listed = 'sha256([system, prompt].join("|"))'
    assert codes(f"export const cacheKey = (system, prompt) => {listed};\n") == ["KV405"]


BY_BROWSER = """
const cacheKey = async (%(params)s) => {
  const raw = `${JSON.stringify(requestBody)}-${url}`;  // an LLM's prompt, for a semantic cache
  return hex(await crypto.subtle.digest({ name: "SHA-256" }, new TextEncoder().encode(raw)));
};
export const find = async (requestBody, url, organisationId) =>
  answers[await cacheKey(%(given)s)];
"""


def test_a_tenant_that_is_known_where_the_key_is_asked_for():
    lacking = {"params": "requestBody, url", "given": "requestBody, url"}
    assert codes(BY_BROWSER % lacking) == ["KV406", "KV409"]
    held = {"params": "requestBody, url, who", "given": "requestBody, url, organisationId"}
    assert codes(BY_BROWSER % held) == ["KV409"]


def test_a_digest_of_text_of_no_model_is_left_alone():
    assert codes("const cacheKey = (...texts) => sha256(texts.join('_'));\n") == []


BLOCKS = """
export function blockHash(tokens: number[], blockSize: number, %(params)sparent?: string) {
  let h = parent %(or)s "0";
  for (let i = 0; i %(to)s; i += blockSize) {
    const next = h + %(who)stokens.slice(i, i + blockSize).join(",");
    h = createHash("sha256").update(next).digest("hex");
  }
  return h;
}
"""


def test_the_block_hash_of_tutorials_is_criticised_here_too():
    copied = {"params": "", "or": "||", "to": "< tokens.length", "who": ""}
    assert codes(BLOCKS % copied) == ["KV401", "KV406", "KV416", "KV417"]
    right = {
        "params": "model: string, salt: string, ",
        "or": "??",
        "to": "+ blockSize <= Math.floor(tokens.length / blockSize) * blockSize",
        "who": 'model + "\\0" + salt + "\\0" + ',
    }
    assert codes(BLOCKS % right) == []
