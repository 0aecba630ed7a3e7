"""Keys in Python: the copied fragment is criticised in full, known incidents are found, and what
is no key of a prompt is left alone."""

import json
import time

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


TYPED = """\
def block_hash(tokens: list[int], block_size: int, prefix_hash: int | None = None) -> int:
    h: int = prefix_hash or 0
    for i in range(0, len(tokens), block_size):
        h = hash((h, tuple(tokens[i : i + block_size])))
    return h
"""
RENAMED = """\
def chunk_key(ids, n, seed=None):
    acc = seed or 0
    for start in range(0, len(ids), n):
        acc = hash((acc, tuple(ids[start:start + n])))
    return acc
"""
OF_A_CLASS = """\
class PrefixCache:
    def hash_blocks(self, token_ids, parent=None):
        key, out = parent or 0, []
        for i in range(0, len(token_ids), self.block_size):
            block = tuple(token_ids[i:i + self.block_size])
            key = hash((key, block))
            out.append(key)
        return out
"""


@pytest.mark.parametrize("text", [TYPED, RENAMED, OF_A_CLASS], ids=["typed", "renamed", "method"])
def test_variants_of_the_fragment_are_criticised_as_much(text):
    assert {code for code, _ in found(text)} == {"KV401", "KV404", "KV406", "KV416", "KV417"}


def test_the_block_hash_of_tutorials_is_criticised_in_full():
    assert found(FRAGMENT) == {
        ("KV401", 4),
        ("KV404", 4),
        ("KV406", 4),
        ("KV416", 4),
        ("KV417", 2),
    }


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"tokens": "ids", "block_size": "bs", "prefix_hash": "parent", "block_hash": "chain"}, 4),
        ({"block_size, prefix_hash=None": "block_size: int, prefix_hash: int | None = None"}, 4),
        (
            {
                "for i in range(0, len(tokens), block_size):": "i = 0\n    while i < len(tokens):",
                "block_size])))": "block_size])))\n        i += block_size",
            },
            5,
        ),
    ],
    ids=["renamed", "typed", "while"],
)
def test_so_it_is_however_it_is_written(changes, line):
    text = FRAGMENT
    for old, new in changes.items():
        text = text.replace(old, new)
    expected = {("KV417", 2), *((code, line) for code in ("KV401", "KV404", "KV406", "KV416"))}
    assert found(text) == expected


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


CACHED = """\
import hashlib, json

def digest(*args):
    return hashlib.sha256(str(args).encode()).hexdigest()

async def complete_if_cached(model, prompt, system_prompt=None, **kwargs):
    hashing_kv = kwargs.pop("hashing_kv", None)
    messages = [{"role": "user", "content": prompt}]
    key = digest(model, messages)
    if (hit := await hashing_kv.get_by_id(key)) is not None:
        return hit
    return await client.chat.completions.create(model=model, messages=messages, %s)
"""


@pytest.mark.parametrize(
    ("sent", "code"),
    [("**kwargs", "KV402"), ("system=system_prompt", "KV403"), ("temperature=0", None)],
)
def test_what_is_sent_beside_hashed_messages_is_missed(sent, code):
    told = found(CACHED % sent) - {("KV409", 4)}
    assert told == ({(code, 9)} if code else set())


HELPED = """\
import hashlib, json

class Cached:
    def __init__(self, client, store=None):
        self.client = client
        self.store = %s

    def _look(self, messages, tools):
        data = {"messages": messages, "tools": tools}
        key = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
        return self.store.get(key), key

    def create(self, messages, tools, tool_choice):
        hit, key = self._look(messages, tools)
        if hit is None:
            hit = self.client.create(messages, tools=tools, tool_choice=tool_choice)
        return hit
"""


def test_a_key_that_another_method_makes_is_held_against_the_call():
    assert found(HELPED % "store or {}") == {("KV402", 14), ("KV411", 14)}
    assert found(HELPED % "{}") == {("KV402", 14)}


@pytest.mark.parametrize("joined", ["prompt + llm_string", '(namespace or "") + prompt'])
def test_a_dump_of_settings_and_a_namespace_have_borders_of_their_own(joined):
    head = "import hashlib\ndef cache_key(prompt, llm_string, namespace):\n"
    text = f"{head}    return hashlib.md5(({joined}).encode()).hexdigest()\n"
    assert not any(code == "KV405" for code, _ in found(text))


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("    return _hash(prompt + system_prompt)\n", 5),
        ("    raw = ''\n    for name, value in options.items():\n"
         "        raw += f'{name}: {value}'\n    return _hash(prompt + '|' + _hash(raw))\n", 7),
        ("    parts = []\n    parts.append(prompt)\n    if system_prompt:\n"
         "        parts.append(system_prompt)\n    return _hash('\\n'.join(parts))\n", 9),
    ],
    ids=["sum", "loop", "list"],
)  # fmt: skip
def test_texts_run_into_each_other_through_a_function_that_hashes(body, line):
    head = (
        "import hashlib\ndef _hash(text):\n    return hashlib.md5(text.encode()).hexdigest()\n"
        "def cache_key(prompt, llm_string, system_prompt, options):\n"
    )
    assert ("KV405", line) in found(head + body)


def test_a_function_that_hashes_is_read_with_its_own_names():
    head = "import hashlib\ndef _hash(text):\n    return hashlib.md5(text.encode()).hexdigest()\n"
    body = "def cache_key(prompt, model):\n    %s = prompt + model\n    return _hash(%s)\n"
    assert found(head + body % ("text", "text")) == found(head + body % ("raw", "raw"))
    assert ("KV405", 5) in found(head + body % ("text", "text"))


def test_functions_that_call_each_other_often_take_no_longer():
    calls = "".join(f"    v{n} = %s(prompt)\n" for n in range(400))
    text = "".join(
        f"def {one}(prompt):\n{calls % ((other,) * 400)}"
        for one, other in (("ask", "answer"), ("answer", "ask"))
    )
    start = time.process_time()
    found("import hashlib\n" + text)
    assert time.process_time() - start < 4


def test_a_fresh_key_where_the_cache_is_to_be_missed_is_meant():
    text = (
        "def cache_key(prompt, fresh):\n"
        "    if fresh:\n        key = sha256(os.urandom(8)).hexdigest()\n"
        "    else:\n        key = sha256(prompt.encode()).hexdigest()\n    return key\n"
    )
    assert not found(text)
    assert ("KV408", 2) in found(
        "def cache_key(prompt):\n"
        "    return sha256(f'{prompt}:{time.time()}'.encode()).hexdigest()\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "def sort_key(text, prompt):\n    return text.lower()\n",
        "def prompt_cost_key(prompt_tokens, suffix):\n    return f'{base}{suffix}'\n",
        "def add(text, prompt):\n    text_hash = md5(text + prompt).hexdigest()\n",
        "def api_key(llm_provider):\n    return environ[f'{llm_provider.upper()}_API_KEY']\n",
    ],
    ids=["sorting", "prices", "identity", "environment"],
)
def test_what_only_looks_like_a_key_of_prompts_is_left_alone(text):
    assert not found(text)


def test_fields_that_may_be_absent_are_summed_without_a_tag():
    text = (
        "def extra_keys(req, model):\n"
        "    lora = [req.lora_name] if req.lora_name else []\n"
        "    salt = [req.cache_salt] if req.cache_salt else []\n"
        "    return tuple(lora + salt)\n"
    )
    assert found(text) == {("KV414", 4)}
    tagged = text.replace("[req.lora_name]", "[('lora', req.lora_name)]")
    assert not found(tagged.replace("[req.cache_salt]", "[('salt', req.cache_salt)]"))


def test_arguments_of_any_class_are_written_with_their_address():
    text = (
        "def cache_key(func, args, kwargs):  # of calls of an llm\n"
        "    raw = json.dumps([func.__qualname__, args, kwargs], sort_keys=True%s)\n"
        "    return hashlib.sha256(raw.encode()).hexdigest()\n"
    )
    assert found("import hashlib, json\n" + text % ", default=str") == {("KV409", 3)}
    assert not found("import hashlib, json\n" + text % "")


def test_chains_that_other_processes_read_weigh_more():
    chain = (
        "def block_key(prior, token_ids):\n    return sha256(repr((prior, token_ids))).digest()\n"
    )

    def severities(text):
        return {
            finding.severity.value
            for document in documents_of(Source("keys.py", text), OneFile())
            for finding in lint_document(document, RULES, Profile())
        }

    assert severities(chain) == {"info"}
    assert severities("import redis\n" + chain) == {"warning"}


ENGINE = """\
class Engine(CachedEngine):
    def __init__(self, model):
        super().__init__(%s)
        self.model = model

    def generate(self, prompt, system_prompt, temperature=0):
        hit = self._check_cache(%s)
        if hit is None:
            hit = self.client.chat.completions.create(
                model=self.model, messages=[system_prompt, prompt], temperature=temperature
            )
        return hit
"""


def test_a_cache_is_known_by_what_it_is_asked_with_wherever_it_is_written():
    of_model = 'f"cache_{model}.db"'
    told = found(ENGINE % (of_model, "system_prompt + prompt"))
    assert told == {("KV402", 7), ("KV405", 7)}
    told = found(ENGINE % ('"all.db"', "json.dumps([system_prompt, prompt])"))
    assert told == {("KV401", 7), ("KV402", 7)}
    assert not found(ENGINE % (of_model, "json.dumps([system_prompt, prompt, temperature])"))


def test_two_updates_want_a_border_between_them():
    text = (
        "import xxhash\n\ndef get_embed_cache(model, text):\n    hasher = xxhash.xxh64()\n"
        "    hasher.update(model.encode())\n%s    hasher.update(text.encode())\n"
        "    return cache.get(hasher.hexdigest())  # of prompts\n"
    )
    assert found(text % "") == {("KV405", 6)}


def test_pythons_hash_finds_a_block_whose_tokens_are_then_compared():
    text = "def block_hash(token_ids, model, salt):\n    return hash((model, salt, *token_ids))\n"
    compared = "\ndef same(node, token_ids):\n    return token_ids == node.token_ids\n"
    for source, level in ((text, "error"), (text + compared, "info")):
        (finding,) = (
            finding
            for document in documents_of(Source("keys.py", source), OneFile())
            for finding in lint_document(document, RULES, Profile())
        )
        assert (finding.code, finding.severity.value) == ("KV404", level)


def test_several_keys_of_one_thing_are_no_fields_of_one():
    text = (
        "def lookup_keys(tool):\n    keys = []\n"
        "    if tool.name_key:\n        keys.append(tool.name_key)\n"
        "    if tool.model_key:\n        keys.append(tool.model_key)\n    return keys\n"
    )
    assert not found(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            'def create_key(llm, options):\n    return md5("{}{}".format(llm, options)).digest()\n',
            2,
        ),
        (
            'def create_key(llm, options):\n    return md5("{}-{}".format(llm, len(options)))\n',
            None,
        ),
        (
            "def cache_key(content, *args):  # of prompts of an llm, compressed by an llm\n"
            '    parts = [str(one) for one in (content, *args)]\n    return "".join(parts)\n',
            3,
        ),
    ],
    ids=["format", "border", "written"],
)
def test_texts_run_into_each_other_in_every_form(text, expected):
    assert found(text) == ({("KV405", expected)} if expected else set())


def test_all_arguments_at_once_leave_nothing_out():
    text = (
        "def answer(llm_cache, model, prompt, temperature):\n"
        "    key = llm_cache.create_key(%s)\n    hit = llm_cache.get(key)\n"
        "    return hit or llm.generate(model=model, prompt=prompt, temperature=temperature)\n"
    )
    assert found(text % "model, prompt") == {("KV402", 2)}
    assert not found(text % "**locals()")


def test_a_method_that_fills_its_own_cache_looks_nothing_up_for_others():
    text = (
        "class Voice:\n    def __init__(self, model, cache):\n"
        "        self.model = model\n        self.cache = cache\n\n"
        "    def prepare(self, prompt):\n        hit = self.cache.get(prompt)\n"
        "        if hit is None:\n%s            hit = 1\n        return hit\n\n"
        "    def speak(self, prompt, text):\n"
        "        ready = self.prepare(prompt)\n        return ready or self.model.generate(text)\n"
    )
    assert {code for code, _ in found(text % "")} == {"KV411"}
    assert not found(text % "            self.cache[prompt] = 1\n")


def test_what_is_found_and_told_to_the_model_is_a_memory():
    text = (
        "def summarise(llm, model, cache, question, history):\n    known = cache.get(question)\n"
        "    said = llm.generate(model=model, prompt=%s, history=history)\n"
        "    cache.set(question, said)\n"
    )
    assert not found(text % "known")
    assert {code for code, _ in found(text % "question")} >= {"KV401", "KV403"}


def test_what_is_kept_under_a_node_is_no_answer():
    text = (
        "def run(cache, llm, model, node, **kwargs):\n    if node not in cache:\n"
        "        cache[node] = llm.generate(model=model, node=node, **kwargs)\n"
        "    return cache[node]  # a prompt\n"
    )
    assert not found(text)
    assert {code for code, _ in found(text.replace("node", "question"))} == {"KV401", "KV402"}


def test_keys_of_data_are_no_keys_of_a_cache():
    text = (
        "def duplicate_keys(prompt, rows):\n    sample = random.sample(rows, 3)\n"
        "    key = f'{prompt}{sample}'\n    return key\n"
    )
    assert not found(text)
    assert {code for code, _ in found(text.replace("duplicate_keys", "cache_key"))} >= {"KV408"}


def test_pythons_hash_may_tell_whether_something_changed():
    text = (
        "def metadata_%s(body):  # of an llm, cached, for prompts of a prompt\n"
        "    return hash(json.dumps(body, sort_keys=True))\n"
    )
    assert not found(text % "fingerprint")
    assert {code for code, _ in found(text % "cache_key")} == {"KV404"}


def test_calls_that_are_given_nothing_are_no_fields():
    text = (
        "def prompt_key(prompt, tenant):\n    parts = []\n    if prompt:\n"
        "        parts.append(%s)\n    if tenant:\n        parts.append(%s)\n    return parts\n"
    )
    assert not found(text % ("", ""))
    assert ("KV414", 4) in found(text % ("prompt", "tenant"))


@pytest.mark.parametrize(
    "line",
    [
        "    k{i} = hashlib.sha256((prompt + model).encode()).hexdigest()\n",
        "    cache.set(key(prompt, {i}), llm.generate(prompt))\n"
        "    x{i} = cache.get(key(prompt, {i}))\n",
        "    h = hash((h, tuple(tokens[{i}:{i} + size])))\n",
    ],
    ids=["digests", "writes", "chain"],
)
def test_many_keys_in_one_function_take_no_longer_each(line):
    def seconds(many):
        body = "".join(line.replace("{i}", str(i)) for i in range(many))
        text = f"import hashlib\ndef cache_key(llm, cache, prompt, model, tokens, size, h):\n{body}"
        begun = time.perf_counter()
        found(f"{text}    return prompt\n")
        return time.perf_counter() - begun

    seconds(10)
    assert seconds(400) < 12 * seconds(100) + 1
