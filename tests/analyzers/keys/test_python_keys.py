"""Keys in Python: the copied fragment is criticised in full, known incidents are found, and what
is no key of a prompt is left alone."""

import json

import pytest

from kvaudit.analyzers.examples import OneFile
from kvaudit.analyzers.profile import Profile
from kvaudit.analyzers.run import documents_of, lint_document
from kvaudit.core.rulebook import load_rules
from kvaudit.core.sources import Source

RULES = [rule for rule in load_rules() if rule.code.startswith("KV4")]

FRAGMENT = """\
def block_hash(tokens, block_size, prefix_hash=None):
    h = prefix_hash or 0
    for i in range(0, len(tokens), block_size):
        h = hash((h, tuple(tokens[i:i + block_size])))
    return h
"""


def found(text, path="keys.py"):
    return {
        (finding.code, Source(path, text).place(finding.span.start).line)
        for document in documents_of(Source(path, text), OneFile())
        for finding in lint_document(document, RULES, Profile())
    }


def test_the_block_hash_of_tutorials_is_criticised_in_full():
    assert found(FRAGMENT) == {
        ("KV401", 4),
        ("KV404", 4),
        ("KV406", 4),
        ("KV416", 4),
        ("KV417", 2),
    }


def test_a_chain_with_all_that_it_needs_is_no_finding():
    assert not found(
        "import hashlib\n\n"
        "def block_hashes(token_ids, block_size, model_digest, salt, parent=None):\n"
        "    key = ROOT if parent is None else parent\n"
        "    full = len(token_ids) // block_size\n"
        "    for i in range(full):\n"
        "        block = tuple(token_ids[i * block_size : (i + 1) * block_size])\n"
        "        key = hashlib.sha256(repr((key, model_digest, salt, block)).encode()).digest()\n"
        "        yield key\n"
    )


def test_what_a_caller_adds_to_a_chain_counts():
    chain = (
        "def page_hash(token_ids, prior):\n    return sha256(repr((prior, token_ids))).digest()\n"
    )
    assert ("KV401", 2) in found(chain)
    caller = (
        "\ndef page_key(model, salt, token_ids):\n    return model, salt, page_hash(token_ids, 1)\n"
    )
    assert not found(chain + caller)


def test_a_loop_over_blocks_counts_where_another_function_hashes():
    assert found(
        "def block_hash(token_ids, parent, model, salt):\n"
        "    return sha256(repr((parent, model, salt, token_ids))).digest()\n\n"
        "def hash_all(ids, size, model, salt, parent=None):\n"
        "    last = parent if parent else 0\n"
        "    for at in range(0, len(ids), size):\n"
        "        last = block_hash(ids[at : at + size], last, model, salt)\n"
    ) == {("KV417", 5), ("KV416", 7)}


@pytest.mark.parametrize(
    "text",
    [
        "import hashlib\n\ndef etag(content):\n    return hashlib.md5(content).hexdigest()[:8]\n",
        "import hashlib\n\ndef file_hash(path):\n    return hashlib.md5(path).hexdigest()\n",
        "class Prompt:\n    def __hash__(self):\n        return hash((self.prompt, self.model))\n",
        "def cache_key(user_id, page):\n    return f'{user_id}:{page}'\n",
        "import json\n\ndef save(prompt, params):\n    return json.dumps([prompt, params])\n",
        "def hash_password(text, salt):\n    return sha256((text + salt).encode()).hexdigest()\n",
        "from functools import lru_cache\n\n@lru_cache\ndef fib(n):\n    return fib(n - 1)\n",
    ],
    ids=["etag", "file", "dunder", "page", "json", "password", "memo"],
)
def test_other_hashes_are_nobodys_business(text):
    assert not found(text)


@pytest.mark.parametrize("case", ["C62", "C67", "C68", "C71"])
def test_a_field_case_is_found_by_its_rule(case, shared_data):
    rows = map(json.loads, (shared_data / "lint_cases.jsonl").read_text("utf-8").splitlines())
    row = next(row for row in rows if row["id"] == case)
    assert row["rules"][0] in {code for code, _ in found(row["snippet"], row["file"])}
