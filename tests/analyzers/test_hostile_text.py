"""Strings on which patterns can be slow, through every reader: each ends in bounded time."""

import json
import time

import pytest

from kvaudit.analyzers.profile import Profile
from kvaudit.analyzers.reader import Unreadable
from kvaudit.analyzers.run import directives_of, documents_of, lint_document
from kvaudit.core.rulebook import load_rules
from kvaudit.core.sources import Source
from tests.analyzers.source.python.reading import Files

RULES = load_rules()
SECONDS = 3
"""Of processor time for one file of 100,000 characters, on a busy machine; most take 0.05."""

STRINGS = {
    "blanks": " " * 100_000,
    "blank lines": " \r\n" * 33_000,
    "braces": "{{" * 50_000,
    "brackets": "(" * 50_000 + "a" * 50_000,
    "comment": "# avoid the " + "the " * 25_000,
    "comments": "# " * 50_000,
    "comments of ours": "#" * 50_000 + "kvaudit: disable-" * 3_000,
    "comment signs": "kvaudit" + "/" * 50_000 + "#" * 50_000,
    "comment ends": "# kvaudit: ignore" + "<!--" + "-" * 90_000,
    "dates": "2026-" * 20_000,
    "elements": "<input " + "a=" * 50_000,
    "holes": "${" * 50_000,
    "marks": "<|im_start|>" * 8_000,
    "pairs": "a " * 50_000,
    "roles": "user:\n" * 16_000,
    "tags": "{% " * 33_000,
}


def record(text):
    return {"messages": [{"role": "system", "content": text}, {"role": "user", "content": text}]}


WRITERS = {
    "a.jsonl": lambda t: "\n".join(json.dumps(record(t + str(i))) for i in range(2)),
    "a.json": lambda t: json.dumps(record(t)),
    "prompts.yaml": lambda t: "system_prompt: " + json.dumps("You are " + t),
    "prompts/a.md": lambda t: "You are an assistant.\n" + t + "\n{question}\n",
    "prompts/a.j2": lambda t: "You are an assistant. {{ question }}" + t,
    "prompts/a.hbs": lambda t: "You are an assistant. " + t,
    "a.prompty": lambda t: (
        f"---\nname: x\nmodel:\n  api: chat\n---\nsystem:\n{t}\nuser:\n{{{{q}}}}"
    ),
    "a.baml": lambda t: f'function X(a: string) -> string {{ client C prompt #"You are {t}"# }}',
    "prompts/a.gotmpl": lambda t: "You are {{ .System }}" + t,
    "skprompt.txt": lambda t: "You are {{$x}} " + t,
    "a.py": lambda t: (
        f"import time\ndef system_prompt():\n    # {' '.join(t.split())}\n"
        f"    return f'It is {{time.time()}}. ' + {t!r}\n"
    ),
    "compose.yaml": lambda t: (
        "command: " + json.dumps(["vllm serve m", "--a", t]) + "\nargs: " + json.dumps("vllm " + t)
    ),
    "serve.sh": lambda t: "vllm serve m \\\n" + t + "\n" + "export A='" * 9_000,
    "Dockerfile": lambda t: "FROM vllm/vllm-openai:v1.0\nENV A=" + t + "\nCMD " + t,
    "engine.service": lambda t: "[Service]\nEnvironment=" + t + "\nExecStart=vllm serve m " + t,
    "config.pbtxt": lambda t: "kv_cache\n" + 'parameters: { key: "a" value: { ' * 3_000 + t,
    "policy.xml": lambda t: (
        "<llm-semantic-cache-lookup " * 3_000
        + "<llm-semantic-cache-store " * 3_000
        + "<!-- " * 5_000
        + "<llm-semantic-cache-lookup><vary-by>" * 3_000
        + t
    ),
    "a.go": lambda t: f"package a\nfunc systemPrompt() string {{ return {json.dumps(t)} }}\n",
    "a.rs": lambda t: f"fn system_prompt() -> String {{ format!({json.dumps(t)}, x) }}\n",
    "a.ts": lambda t: (
        f"export const systemPrompt = () => `${{new Date().toISOString()}}` + {json.dumps(t)};\n"
    ),
}


@pytest.mark.parametrize("name", WRITERS)
def test_text_that_makes_patterns_slow_ends_soon(name):
    slow = []
    for kind, text in STRINGS.items():
        began = time.process_time()
        source = Source(name, WRITERS[name](text))
        try:
            for document in documents_of(source, Files(), named=True) or ():
                lint_document(document, RULES, Profile())
        except Unreadable:
            pass
        directives_of(source)
        if time.process_time() - began > SECONDS:
            slow.append(kind)
    assert slow == []


def test_a_cache_with_very_many_keys_ends_soon():
    keys = "".join(f"  k{n}: v\n" for n in range(30_000))
    began = time.process_time()
    source = Source("litellm.yaml", "cache_params:\n  type: redis-semantic\n" + keys)
    assert documents_of(source, Files(), named=True)
    assert time.process_time() - began < 2 * SECONDS
