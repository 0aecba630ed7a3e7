"""What flows into a key in Python: fields, clocks, and what takes less of a value."""

import pytest

from kvaudit.analyzers.keys.sourced.fields import meant, taken
from kvaudit.analyzers.keys.sourced.python import built_keys
from kvaudit.analyzers.reader import Unreadable
from kvaudit.core.sources import Source

HEAD = """import datetime, hashlib, json, os, time, uuid
from app.text import normalize
MODEL = "gpt-4o"
"""
FIELDS = {"model", "tenant", "user", "messages", "system_prompt", "last_message", "temperature"}


def built(text):
    return built_keys(Source("keys.py", HEAD + text))


def fields(key, present=FIELDS):
    made = [taken(meant(one).readings, present.__contains__) for one in key.references]
    return [name for one in made for name in one]


def body(expr, params="prompt, model, temperature, tenant_id, body, messages"):
    return f"def cache_key({params}):\n    return {expr}\n"


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ("hashlib.sha256(f'{model}:{prompt}'.encode()).hexdigest()", ["model", "last_message"]),
        ("hashlib.sha256((tenant_id + prompt).encode()).digest()", ["tenant", "last_message"]),
        ("json.dumps({'p': prompt, 't': temperature})", ["last_message", "temperature"]),
        ("'%s/%s' % (model, prompt)", ["model", "last_message"]),
        ("'{}/{}'.format(model, prompt)", ["model", "last_message"]),
        ("'|'.join([prompt, model])", ["last_message", "model"]),
        ("hashlib.sha256(str((MODEL, prompt)).encode()).hexdigest()[:16]", ["last_message"]),
        ("prompt + body['model']", ["last_message", "model"]),
        ("prompt + str(body.get('temperature', 0))", ["last_message", "temperature"]),
        ("prompt + body.user.id", ["last_message", "user"]),
        ("str(body['messages'])", ["messages"]),
        ("messages[-1]['content']", ["last_message"]),
        ("' '.join(m['content'] for m in messages)", ["messages"]),
        ("str([m for m in messages if m['role'] == 'system'])", ["system_prompt"]),
        ("json.dumps(body) + prompt", ["model", "messages", "temperature", "last_message"]),
        ("prompt + os.environ['MODEL'] + os.getenv('TENANT')", ["last_message"]),
        ("(prompt if tenant_id else model)", ["last_message", "model"]),
    ],
)
def test_names_are_fields(expr, expected):
    (key,) = built(body(expr))
    assert (key.function, fields(key)) == ("cache_key", expected)


@pytest.mark.parametrize(
    ("expr", "partly"),
    [
        ("prompt.lower()", "prompt.lower()"),
        ("prompt[:100]", "prompt[:100]"),
        ("normalize(prompt)", "normalize(prompt)"),
        ("f'{prompt}{temperature:.1f}'", "{temperature:.1f}"),
        ("prompt + str(round(temperature, 1))", "round(temperature, 1)"),
        ("prompt + str(len(messages))", "len(messages)"),
        ("hashlib.sha256(prompt.encode()).hexdigest()[:8]", ""),
        ("prompt + json.dumps(messages)", ""),
    ],
)
def test_what_takes_less_of_a_value_is_told(expr, partly):
    (key,) = built(body(expr))
    assert "".join(one.partly for one in key.references) == partly


@pytest.mark.parametrize(
    ("expr", "unique", "fields_of"),
    [
        ("prompt + str(time.time())", True, ["arrived_s"]),
        ("prompt + datetime.datetime.now().isoformat()", True, ["arrived_s"]),
        ("prompt + uuid.uuid4().hex", True, []),
        ("prompt + str(time.time() // 3600)", False, []),
        ("prompt + str(datetime.date.today())", False, []),
        ("prompt + datetime.datetime.now().strftime('%Y-%m-%d')", False, []),
    ],
)
def test_clocks_and_random_numbers(expr, unique, fields_of):
    (key,) = built(body(expr))
    one = meant(key.references[-1])
    assert one.unique is unique
    assert list(taken(one.readings, {"arrived_s"}.__contains__)) == fields_of


def test_flow_through_locals_lists_updates_and_functions_of_the_file():
    (key,) = built(
        "class Cache:\n"
        "    def _digest(self, *parts):\n"
        "        h = hashlib.sha256()\n"
        "        for part in parts:\n"
        "            h.update(part.encode())\n"
        "        return h.hexdigest()\n"
        "    def build_key(self, request, tenant):\n"
        "        parts = [self.model]\n"
        "        question = request['messages'][-1]['content']\n"
        "        parts.append(question)\n"
        "        body = {'t': request.temperature, 'who': tenant}\n"
        "        return self._digest(*parts, str(body['t']), body['who'])\n"
    )
    assert key.function == "build_key"
    assert sorted(fields(key)) == ["last_message", "model", "temperature", "tenant"]


def test_a_key_that_a_cache_is_asked_for_stands_where_it_is_used():
    text = (
        "def make_key(prompt, model):\n"
        "    return hashlib.sha256((model + prompt).encode()).hexdigest()\n"
        "def ask(prompt, model, client, tenant):\n"
        "    key = f'{tenant}:{prompt}'\n"
        "    found = cache.get(key)\n"
        "    return found or client.chat.completions.create(model=model, messages=[prompt])\n"
        "def ask_by_key(prompt, model, client):\n"
        "    found = cache.get(make_key(prompt, model))\n"
        "    return found or client.chat.completions.create(model=model, messages=[prompt])\n"
    )
    assert [(key.function, fields(key)) for key in built(text)] == [
        ("make_key", ["model", "last_message"]),
        ("ask", ["tenant", "last_message"]),
    ]


def test_what_is_no_field_keeps_its_name_and_a_column_may_be_it():
    (key,) = built("def cache_key(prompt, app_version):\n    return prompt + app_version\n")
    version = meant(key.references[1])
    assert (taken(version.readings, FIELDS.__contains__), version.why[:12]) == ((), "no field of ")
    assert taken(version.readings, {"app_version"}.__contains__) == ("app_version",)


def test_other_digests_are_no_keys():
    text = "def etag(body):\n    return hashlib.md5(body.encode()).hexdigest()\n"
    assert built(text + "def file_key(path):\n    return hashlib.md5(path).hexdigest()\n") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def get_api_key(api_key, model):\n    return api_key or model\n", []),
        ("def input_keys(self):\n    return [self.input_key, 'prompt']\n", []),
        ("def has_cache_key(prompt, cache):\n    return prompt in cache\n", []),
        ("def _hash(prompt):\n    return hashlib.md5(prompt.encode()).hexdigest()\n", []),
        (
            "def get_cache_key(self, **kwargs):\n"
            "    key = ''\n"
            "    for name in kwargs:\n"
            "        key += f'{name}: {kwargs[name]}'\n"
            "    return hashlib.sha256(key.encode()).hexdigest()\n",
            ["model", "messages", "temperature"],
        ),
        (
            "def cache_key(prompt, **kwargs):\n    return f'{prompt}{json.dumps(kwargs)}'\n",
            ["last_message", "temperature"],
        ),
        (
            "class RedisCache:\n"
            "    def _key(self, prompt, llm_string):\n"
            "        return _hash(prompt + llm_string)\n"
            "    def lookup(self, prompt, llm_string):\n"
            "        return self.redis.get(self._key(prompt, llm_string))\n",
            ["last_message", "model", "temperature"],
        ),
        (
            "def cache_key(prompt, response_model):\n"
            "    return prompt if isinstance(response_model, BaseModel) else MODEL + prompt\n",
            ["last_message"],
        ),
    ],
    ids=["secret", "chain", "test", "helper", "all", "rest", "langchain", "types"],
)
def test_real_shapes(text, expected):
    keys = built(text)
    assert [name for key in keys for name in fields(key)] == expected


def test_code_that_grows_without_end_is_given_up():
    lines = [f"    a{n} = a{n - 1} + a{n - 1}\n" for n in range(1, 40)]
    with pytest.raises(Unreadable, match="too much to follow"):
        built("def cache_key(prompt):\n    a0 = prompt\n" + "".join(lines) + "    return a39\n")
