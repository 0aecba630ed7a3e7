"""What flows into a key in TypeScript."""

import pytest

from kvaudit.analyzers.keys.sourced.ecmascript import built_keys
from kvaudit.analyzers.keys.sourced.fields import meant, taken
from kvaudit.core.sources import Source

FIELDS = {"model", "tenant", "user", "messages", "last_message", "temperature", "system_prompt"}
HEAD = 'import { createHash } from "crypto";\nconst MODEL = "gpt-4o";\n'


def built(text):
    return built_keys(Source("keys.ts", HEAD + text))


def fields(key):
    made = [taken(meant(one).readings, FIELDS.__contains__) for one in key.references]
    return [name for one in made for name in one]


def function(expr, params="prompt: string, model: string, temperature: number, req: Req"):
    return f"export function cacheKey({params}) {{\n  return {expr};\n}}\n"


def sha(fed):
    return f'createHash("sha256").update({fed}).digest("hex").slice(0, 32)'


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (sha("JSON.stringify([model, prompt])"), ["model", "last_message"]),
        (sha("JSON.stringify({ model, p: prompt, t: temperature })"),
         ["model", "last_message", "temperature"]),
        (sha("`${MODEL}:${prompt}`"), ["last_message"]),
        (sha("prompt + process.env.MODEL"), ["last_message"]),
        (sha("req.messages[req.messages.length - 1].content"), ["last_message"]),
        (sha("req.messages.at(-1).content"), ["last_message"]),
        (sha("req.body.messages.map((m) => m.content).join('\\n')"), ["messages"]),
        (sha("JSON.stringify(req.body)"), ["model", "messages", "temperature"]),
        (sha("prompt + req.user.id"), ["last_message", "user"]),
        ("`${req.tenantId ?? 'none'}:${prompt}`", ["tenant", "last_message"]),
    ],
)  # fmt: skip
def test_names_are_fields(expr, expected):
    (key,) = built(function(expr))
    assert (key.function, fields(key)) == ("cacheKey", expected)


def test_flow_through_objects_updates_and_functions_of_the_file():
    keys = built(
        "const digest = ({ prompt, temperature, ...rest }) =>\n"
        "  createHash('sha1').update(JSON.stringify([prompt, temperature, rest.model]))"
        ".digest('hex');\n"
        "class Cache {\n"
        "  buildKey(prompt: string, tenantId: string) {\n"
        "    const h = createHash('md5');\n"
        "    h.update(tenantId);\n"
        "    h.update(prompt);\n"
        "    return h.digest('hex');\n"
        "  }\n"
        "  promptKey(prompt: string, model: string) {\n"
        "    const { lang, ...rest } = { prompt, lang: model };\n"
        "    return digest({ prompt, temperature: 0, model });\n"
        "  }\n"
        "}\n"
    )
    assert [(key.function, fields(key)) for key in keys] == [
        ("digest", ["last_message", "temperature", "model"]),
        ("buildKey", ["tenant", "last_message"]),
        ("promptKey", ["last_message", "model"]),
    ]


@pytest.mark.parametrize(
    ("fed", "partly", "unique"),
    [
        ("prompt.toLowerCase()", "prompt.toLowerCase()", False),
        ("normalize(prompt)", "normalize(prompt)", False),
        ("prompt.slice(0, 100)", "prompt.slice(0, 100)", False),
        ("prompt + Date.now()", "", True),
        ("prompt + crypto.randomUUID()", "", True),
        ("JSON.stringify({ prompt, ts: new Date().toISOString() })", "", True),
        ("prompt", "", False),
    ],
)
def test_what_takes_less_and_what_is_new_each_time(fed, partly, unique):
    (key,) = built(function(sha(fed)))
    assert "".join(one.partly for one in key.references) == partly
    assert any(meant(one).unique for one in key.references) is unique


def test_a_digest_of_the_browser_takes_all_of_a_body():
    (key,) = built(
        "const getCacheKey = async (requestBody: any, url: string) => {\n"
        "  const text = new TextEncoder().encode(`${JSON.stringify(requestBody)}-${url}`);\n"
        "  const digest = await crypto.subtle.digest({ name: 'SHA-256' }, text);\n"
        "  return Array.from(new Uint8Array(digest)).map((b) => b.toString(16)).join('');\n"
        "};\n"
    )
    assert (key.function, fields(key)) == ("getCacheKey", ["model", "messages", "temperature"])
    assert [(one.text, one.partly) for one in key.references] == [("requestBody", ""), ("url", "")]


def test_other_hashes_are_no_keys():
    assert built("const etag = createHash('md5').update(body).digest('hex');\n") == []
