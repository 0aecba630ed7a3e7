"""A finding about a key fails a build only where each link of its chain is seen in the file."""

import pytest
from linted import linted

from kvaudit.analyzers.examples import OneFile
from kvaudit.analyzers.ruleset import choose_rules
from kvaudit.core.doubt import Doubt
from kvaudit.core.findings import Severity
from kvaudit.core.sources import Source

RULES = [rule for rule in choose_rules().used if rule.code.startswith("KV4")]
HEAD = "import hashlib, json, pickle, time\n\n"


ELSEWHERE = """\
def of_others(redis, client, key):
    return redis.get(key) or client.chat.completions.create(messages=[key])
"""
"""A file that shows a cache and a model, so that both might have been seen of every key."""


def told(text, code, path="app/keys.py", beside=ELSEWHERE):
    """The severity and the doubt of the gravest finding of a rule."""
    files = {path: HEAD + text, "app/others.py": beside}
    found = linted(files, RULES).findings
    rows = [(f.severity, f.doubt) for f in found if f.code == code]
    return max(rows, key=lambda row: row[0].rank)


ASKED = """\
def answer(client, cache, model, prompt, temperature):
    key = hashlib.sha256(json.dumps([model, prompt]).encode()).hexdigest()
    if key in cache:
        return cache[key]
    said = client.chat.completions.create(
        model=model, messages=[prompt], temperature=temperature
    )
    cache[key] = said.choices[0]
    return said
"""


def test_a_field_that_is_seen_to_reach_the_kept_answer_is_an_error():
    assert told(ASKED, "KV402") == (Severity.ERROR, None)


@pytest.mark.parametrize(
    ("old", "new", "doubt"),
    [
        ("cache[key] = said.choices[0]\n    return said", "log(said)", Doubt.NO_ANSWER),
        ("cache[key] = said.choices[0]", "cache[key] = len(prompt)", Doubt.OTHER_KEPT),
        ("json.dumps([model, prompt])", "describe(model, prompt)", Doubt.PARTLY),
        ("[model, prompt]", "[namespace, model, prompt]", Doubt.PARTLY),
        ("    key =", "    temperature = pick()\n    key =", None),
        ("temperature):", "prefs):", Doubt.STAYS),
    ],
    ids=["not-kept", "other-kept", "unknown-helper", "opaque-part", "param", "no-param"],
)
def test_a_link_that_is_not_seen_makes_it_information(old, new, doubt):
    text = ASKED.replace(old, new)
    if doubt is Doubt.STAYS:
        text = text.replace("    key =", "    temperature = settings()\n    key =")
    assert told(text, "KV402")[1] is doubt


def test_a_test_is_aside():
    assert told(ASKED, "KV402", "tests/test_keys.py") == (Severity.INFO, Doubt.ASIDE)


@pytest.mark.parametrize(
    ("asked", "doubt"),
    [
        ("llm.generate(temperature=temperature)", None),
        ("requests.post(URL, json={'temperature': temperature})", None),
        ("fetch_all(temperature=temperature)", Doubt.NO_ANSWER),
        ("user_model.create(temperature=temperature)", Doubt.NO_ANSWER),
        ("json_encoder.encode(temperature)", Doubt.NO_ANSWER),
    ],
)
def test_what_asks_a_model_is_told_from_what_is_called_alike(asked, doubt):
    text = CLOCKED.format(clock="time.time()") + USED.replace("prompt):", "prompt, temperature):")
    text = text.replace("llm.generate(model=model, prompt=prompt)", asked)
    text = "URL = 'https://api.openai.com/v1/chat/completions'\n" * ("URL" in asked) + text
    assert told(text, "KV408")[1] is doubt


OF_OBJECT = """\
class Client:
    def __init__(self, model, {given}):
        self.model = model
        self.cache = {store}

    def ask(self, prompt):
        key = hashlib.sha256(prompt.encode()).hexdigest()
        if (hit := self.cache.get(key)) is not None:
            return hit
        said = self.llm.generate(model=self.model, prompt=prompt)
        self.cache.set(key, said)
        return said
"""


def test_what_an_object_was_made_with_stays_as_long_as_its_own_store():
    assert told(OF_OBJECT.format(given="", store="Lru()"), "KV401") == (
        Severity.INFO, Doubt.STAYS,
    )  # fmt: skip
    assert told(OF_OBJECT.format(given="url", store="redis.from_url(url)"), "KV401") == (
        Severity.ERROR, None,
    )  # fmt: skip


CLOCKED = """\
def cache_key(model, prompt):
    return hashlib.sha256(repr((model, prompt, {clock})).encode()).hexdigest()

"""
USED = """\
def ask(llm, cache, model, prompt):
    key = cache_key(model, prompt)
    hit = cache.get(key)
    if hit is None:
        hit = llm.generate(model=model, prompt=prompt)
        cache.set(key, hit)
    return hit
"""


def test_a_key_is_followed_to_those_who_use_it():
    clock = CLOCKED.format(clock="time.time()")
    assert told(clock, "KV408") == (Severity.INFO, Doubt.NO_CACHE)
    assert told(clock + USED, "KV408") == (Severity.ERROR, None)
    hours = CLOCKED.format(clock="time.time() // 3600")
    assert told(hours + USED, "KV408") == (Severity.INFO, Doubt.STAYS)
    elsewhere = USED.replace("llm.generate(model=model, prompt=prompt)", "compile(prompt)")
    assert told(clock + elsewhere, "KV408") == (Severity.INFO, Doubt.OTHER_KEPT)


FILED = """\
def ask(llm, folder, model, prompt):
    key = hashlib.sha256((model + prompt).encode()).hexdigest()
    path = folder / f"{key}.json"
    if path.exists():
        return json.loads(path.read_text())
    said = llm.generate(%s)
    path.write_text(json.dumps(said))
    return said
"""


def test_files_that_are_named_after_a_key_are_a_cache():
    assert told(FILED % "prompt, model=model", "KV405") == (Severity.WARNING, None)
    # Where the model is sent the joined text, equal keys are equal prompts.
    assert told(FILED % "model + prompt", "KV405") == (Severity.INFO, Doubt.NOT_GIVEN)


INHERITED = """\
class Engine(Cached):
    def ask(self, prompt, system, temperature):
        hit = self._check_cache(system + prompt)
        if hit is not None:
            return hit
        said = self.client.chat.completions.create(
            model=self.model,
            messages=[{"role": "system", "content": system}, {"role": "user", "content": prompt}],
            temperature=temperature,
        )
        self._save_cache(system + prompt, said)
        return said
"""


def test_a_cache_of_another_file_may_add_to_a_key_and_not_part_what_it_is_given_joined():
    assert told(INHERITED, "KV405") == (Severity.WARNING, None)
    assert told(INHERITED, "KV402") == (Severity.INFO, Doubt.PARTLY)


def test_json_has_a_border_of_its_own():
    joined = CLOCKED.replace("repr((model, prompt, {clock}))", "({parts})")
    assert told(joined.format(parts="prompt + model"), "KV405")
    with pytest.raises(ValueError, match="empty"):
        told(joined.format(parts="prompt + json.dumps([model])"), "KV405")


@pytest.mark.parametrize(("kept", "severity"), [(8, Severity.WARNING), (12, Severity.INFO)])
def test_a_digest_of_few_bits_weighs_by_how_often_two_coincide(kept, severity):
    cut = CLOCKED.format(clock=0).replace("hexdigest()", f"hexdigest()[:{kept}]")
    assert told(cut + USED, "KV410") == (severity, None)


CHAINED = """\
def block_keys(model, salt, token_ids, size):
    keys, parent = [], b""
    for at in range(0, len(token_ids), size):
        block = token_ids[at : at + size]
        {use}
        parent = hashlib.sha256(parent + repr((model, salt, {hashed})).encode()).digest()
        keys.append(parent)
    return keys
"""


def test_a_rest_counts_where_it_is_what_is_hashed():
    rest = CHAINED.format(use="", hashed="block")
    assert told(rest, "KV416") == (Severity.ERROR, None)
    other = CHAINED.format(use="show(block)", hashed="token_ids")
    assert told(other, "KV416") == (Severity.INFO, Doubt.NO_CHAIN)


OF_ONE_FILE = """\
def cache_key(kind, prompt, mode):
    raw = kind + prompt + mode
    return hashlib.md5(raw.encode()).hexdigest()
"""


def test_what_no_file_of_a_run_shows_does_not_count_as_missing():
    assert told(OF_ONE_FILE, "KV405", beside="") == (Severity.WARNING, None)
    assert told(OF_ONE_FILE, "KV405") == (Severity.INFO, Doubt.NO_CACHE)
    a_model_only = (
        "def ask(client, prompt):\n    return client.messages.create(messages=[prompt])\n"
    )
    keyed = "import hashlib\ncache_key = hashlib.md5\n" + a_model_only
    assert told(OF_ONE_FILE, "KV405", beside=keyed) == (Severity.INFO, Doubt.NO_ANSWER)


def test_what_is_seen_to_be_something_else_counts_in_one_file_too():
    other = USED.replace("llm.generate(model=model, prompt=prompt)", "compile(prompt)")
    text = CLOCKED.format(clock="time.time()") + other
    assert told(text, "KV408", beside="") == (Severity.INFO, Doubt.OTHER_KEPT)


SLOTS = """\
class Store:
    def slot(self, question, settings):
        return f"llm:{hash(repr((settings, question)))}"

    def read(self, question, settings):
        return self.%s.get(self.slot(question, settings))
"""


def test_a_key_in_an_f_string_is_followed_to_the_method_that_asks():
    # What is kept there is not seen, and Python's hash finds nothing in a store of others.
    assert told(SLOTS % "redis", "KV404") == (Severity.ERROR, None)
    assert told(SLOTS % "local", "KV404")[0] is Severity.INFO


READ_THROUGH = """\
def generate(self, prompt, stop=None, **call_options):
    hit = cache.lookup(prompt, repr(self.init_params))
    return hit or self._call(%s, stop=stop, **call_options)
"""


def test_an_answer_that_is_given_where_nothing_was_found_is_what_is_kept():
    assert told(READ_THROUGH % "prompt", "KV402") == (Severity.ERROR, None)


EXTRA = """\
def extra_keys(req):
    keys = []
    if req.lora_name: keys.append(req.lora_name)
    if req.cache_salt: keys.append(req.cache_salt)
    return tuple(keys)

def block_key(parent, token_ids, req):
    extras = extra_keys(req)
    return hashlib.sha256(repr((parent, token_ids%s)).encode()).digest()
"""


def test_fields_of_blocks_are_followed_to_the_digest_of_their_tokens():
    assert told(EXTRA % ", extras", "KV414") == (Severity.WARNING, None)


ROWS = """\
def ask(db, llm, prompt, model):
    key = hashlib.sha256((model + prompt).encode()).hexdigest()
    row = db.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
    if row:
        return row[0]
    said = llm.generate(prompt, model=model)
    db.execute("INSERT INTO answers VALUES (?, ?)", (key, %s))
    return said
"""


def test_rows_of_a_database_are_a_cache():
    assert told(ROWS % "said", "KV405") == (Severity.WARNING, None)
    assert told(ROWS % "len(prompt)", "KV405") == (Severity.INFO, Doubt.OTHER_KEPT)


GIVEN = """\
class Answers:
    def _key(self, prompt, model):
        return hashlib.md5((model + prompt).encode()).hexdigest()

    def get(self, prompt, model):
        return self.redis.get(self._key(prompt, model))

    def put(self, prompt, model, {name}):
        self.redis.setex(self._key(prompt, model), 60, {name})
"""


def test_a_cache_is_of_answers_where_it_is_given_what_is_called_one():
    assert told(GIVEN.format(name="response"), "KV405") == (Severity.WARNING, None)
    of_system = GIVEN.format(name="response").replace("model", "system")
    assert told(of_system, "KV405") == (Severity.WARNING, None)
    of_kind = GIVEN.format(name="response").replace("model", "kind")
    assert told(of_kind, "KV405") == (Severity.INFO, Doubt.NOT_GIVEN)
    assert told(GIVEN.format(name="plan"), "KV405") == (Severity.INFO, Doubt.NO_ANSWER)


OF_A_CLASS = """\
class LLMCache:
    def _key(self, {keyed}):
        return hashlib.sha256(repr(({keyed},)).encode()).hexdigest()

    def get(self, prompt, model, temperature):
        return self.redis.get(self._key({keyed}))

    def put(self, prompt, model, temperature, said):
        self.redis.setex(self._key({keyed}), 60, said)
"""


def test_what_a_cache_is_told_of_a_request_is_to_be_in_its_key():
    assert told(OF_A_CLASS.format(keyed="prompt"), "KV401") == (Severity.ERROR, None)
    assert told(OF_A_CLASS.format(keyed="prompt, model"), "KV402") == (Severity.ERROR, None)
    with pytest.raises(ValueError, match="empty"):
        told(OF_A_CLASS.format(keyed="prompt, model, temperature"), "KV402")
    others = OF_A_CLASS.replace("LLMCache", "Shelf").format(keyed="prompt")
    assert told(others, "KV401") == (Severity.INFO, Doubt.NO_ANSWER)


def test_a_key_of_the_beginning_of_a_prompt_is_told_of_unless_the_whole_is_there():
    cut = CLOCKED.replace("prompt, {clock}", "{kept}")
    assert told(cut.format(kept="prompt[:200]") + USED, "KV418") == (Severity.WARNING, None)
    assert told(cut.format(kept="prompt.strip()[:200]") + USED, "KV418") == (Severity.WARNING, None)
    twice = cut.format(kept="prompt[:200] if model else prompt[:300]")
    assert told(twice + USED, "KV418") == (Severity.WARNING, None)
    with pytest.raises(ValueError, match="empty"):
        told(cut.format(kept="prompt[:200], prompt") + USED, "KV418")


SENT_CUT = """\
def rewrite(llm, cache, content):
    prompt = TEMPLATE.format(content=content[:1000])
    hit = cache.get(prompt)
    if hit:
        return hit
    said = llm.generate(prompt=%s)
    cache.set(prompt, said)
    return said
"""


def test_a_text_that_the_model_is_sent_cut_as_well_is_the_prompt():
    assert told(SENT_CUT % "prompt", "KV418") == (Severity.INFO, Doubt.NOT_GIVEN)
    assert told(SENT_CUT % "content", "KV418") == (Severity.WARNING, None)
    assert told(SENT_CUT % "shorter(content)", "KV418") == (Severity.WARNING, None)
    assert told(SENT_CUT % "document", "KV418") == (Severity.INFO, Doubt.NOT_GIVEN)


BYPASSED = """\
def ask(llm, cache, prompt, fresh):
    if fresh:
        raw = f"{prompt}:{time.time()}"
    else:
        raw = prompt
    key = hashlib.sha256(raw.encode()).hexdigest()
    if key not in cache:
        cache[key] = llm.generate(prompt)
    return cache[key]
"""


def test_a_clock_on_one_of_two_ways_is_there_to_miss():
    assert told(BYPASSED, "KV408") == (Severity.INFO, Doubt.STAYS)
    both = BYPASSED.replace("raw = prompt", "raw = f'{prompt}:{time.time_ns()}'")
    assert told(both, "KV408")[0] is not None
    always = BYPASSED.replace("raw.encode()", "(raw + str(time.time())).encode()")
    assert told(always, "KV408") == (Severity.ERROR, None)


WHOLE_REQUEST = """\
class Client:
    def ask(self, messages, model, temperature, response_format):
        hit = self.cache.get(messages, model, temperature)
        if hit:
            return hit
        said = self.llm.complete(
            messages=messages, model=model, temperature=temperature, response_format=response_format
        )
        self.cache.put(messages, model, temperature, said)
        return said
"""


def test_a_cache_that_is_asked_with_a_whole_request_makes_its_key_elsewhere():
    assert told(WHOLE_REQUEST, "KV402") == (Severity.INFO, Doubt.PARTLY)
    with pytest.raises(ValueError, match="empty"):
        told(WHOLE_REQUEST, "KV401")


JOINED_FIELDS = """\
class CachedClient:
    def _key(self, req: LLMRequest):
        return hashlib.sha256(f"{req.system}|{req.prompt}".encode()).hexdigest()

    def call(self, req: LLMRequest):
        key = self._key(req)
        if key in self.cache:
            return self.cache[key]
        self.cache[key] = self.inner.call(%s)
        return self.cache[key]
"""


def test_fields_of_a_request_that_is_sent_whole_reach_the_model_apart():
    assert told(JOINED_FIELDS % "req", "KV405") == (Severity.WARNING, None)


def test_a_field_of_a_mapping_is_no_entry_of_a_cache():
    with pytest.raises(ValueError, match="empty"):
        told(
            "def run(llm, rows, model):\n"
            "    texts = [r.get('text') for r in rows]\n"
            "    return llm.generate(prompt=texts, model=model)\n",
            "KV401",
        )


class TwoFiles(OneFile):
    """A project in which one module is imported."""

    def __init__(self, text):
        self.text = text

    def module(self, source, dotted):
        return Source("app/other.py", self.text) if dotted == ".other" else None


ACROSS = """\
from .other import ask_model, clean_key, Store

class Client:
    def __init__(self, config):
        self.model = config.model
        self.cache = Store()

    def ask(self, prompt, temperature):
        key = clean_key(prompt)
        hit = self.cache.get(key)
        if hit:
            return hit
        said = self.llm.generate(prompt=prompt, model=self.model, temperature=temperature)
        self.cache.set(key, said)
        return said
"""
OTHER = """\
import hashlib, json

def clean_key(text):
    return hashlib.sha256(text.encode()).hexdigest()

def ask_model(question, temperature):
    return client.chat.completions.create(messages=[question], temperature=temperature)

class Store:
    def set(self, key, value):
        {keeps}
"""


@pytest.mark.parametrize(
    ("code", "keeps", "expected"),
    [
        ("KV402", "self.kept[key] = value", (Severity.ERROR, None)),
        ("KV401", "self.kept[key] = value", (Severity.INFO, Doubt.STAYS)),
        ("KV401", "json.dump(value, open(key, 'w'))", (Severity.ERROR, None)),
    ],
)
def test_what_is_imported_is_looked_into(code, keeps, expected):
    def gravest(project):
        files = {"app/keys.py": ACROSS, "app/others.py": ELSEWHERE}
        found = linted(files, RULES, project).findings
        return max(
            ((f.severity, f.doubt) for f in found if f.code == code), key=lambda row: row[0].rank
        )

    assert gravest(OneFile())[0] is Severity.INFO
    assert gravest(TwoFiles(OTHER.format(keeps=keeps))) == expected


def across(text, other, code):
    """The gravest finding of a rule about two files, of which one imports from the other."""
    files = {"app/keys.py": HEAD + text, "app/others.py": ELSEWHERE}
    found = linted(files, RULES, TwoFiles(other)).findings
    rows = [(f.severity, f.doubt, f.source.path) for f in found if f.code == code]
    return max(rows, key=lambda row: row[0].rank, default=None)


ASKS_ACROSS = """\
from .other import cache_key

def ask(llm, redis, prompt, model):
    key = cache_key(prompt)
    hit = redis.get(key)
    if hit:
        return hit
    said = llm.generate(prompt=prompt, model=model)
    redis.set(key, said, ex=60)
    return said
"""


@pytest.mark.parametrize(
    ("made", "code", "expected"),
    [
        ("return f'llm:{prompt}'", "KV401", (Severity.ERROR, None, "app/keys.py")),
        ("return f'llm:{settings.model}:{prompt}'", "KV401", None),
        ("return str(hash(prompt))", "KV404", (Severity.ERROR, None, "app/other.py")),
        (
            "return hashlib.md5(prompt.lower().encode()).hexdigest()",
            "KV418",
            (Severity.WARNING, None, "app/other.py"),
        ),
    ],
)
def test_a_key_that_another_file_makes_is_judged_by_who_asks_with_it(made, code, expected):
    other = f"import hashlib\n\ndef cache_key(prompt):\n    {made}\n"
    assert across(ASKS_ACROSS, other, code) == expected


def test_a_key_of_another_file_under_which_no_answer_is_kept_is_information():
    made = "hashlib.md5(prompt.lower().encode()).hexdigest()"
    other = f"import hashlib\n\ndef cache_key(prompt):\n    return {made}\n"
    lost = ASKS_ACROSS.partition("    redis.set(")[0]
    assert across(lost, other, "KV418")[:2] == (Severity.INFO, Doubt.NO_ANSWER)


def test_what_an_agent_may_choose_from_and_the_agent_itself_decide_the_answer():
    text = """\
class Cached:
    def __init__(self, agent, cache):
        self.base_agent = agent
        self.cache = cache

    def classify(self, prompt, choices, verbose):
        key = named("classify", %s)
        if key in self.cache:
            return self.cache[key]
        said = self.base_agent.classify(prompt=prompt, choices=choices, verbose=verbose)
        self.cache[key] = said
        return said

def named(task, text):
    return f"{task}_{text}"
"""
    assert told(text % "prompt", "KV402") == (Severity.ERROR, None)
    assert told(text % "prompt", "KV411") == (Severity.WARNING, None)
    with pytest.raises(ValueError, match="empty"):
        told(text % "json.dumps([prompt, choices])", "KV402")
    joined = text % 'f"{prompt}_{context}"'
    joined = joined.replace("choices", "context")
    assert told(joined, "KV405") == (Severity.WARNING, None)


def test_an_argument_made_of_what_is_in_the_key_is_in_it():
    text = """\\
def tips(llm, cache, question, stage):
    key = hashlib.sha256(repr((question, stage)).encode()).hexdigest()
    if key in cache:
        return cache[key]
    cache[key] = llm.complete(system_prompt=prompt_for(stage%s), messages=[question])
    return cache[key]
"""
    with pytest.raises(ValueError, match="empty"):
        told(text % "", "KV403")
    assert told((text % ", persona").replace("stage):", "stage, persona):", 1), "KV403") == (
        Severity.ERROR, None,
    )  # fmt: skip


TWO_KEYS = """\
def ask(llm, redis, model, prompt):
    hit = redis.get(f"answer:{{model}}:{{prompt}}")
    if hit:
        return hit
    said = llm.generate(prompt, model=model)
    redis.set(f"{prefix}:{{prompt}}", said, ex=60)
    return said
"""


NEW_RECORD = """\
def change(llm, redis, program, wish):
    code = redis.get(f"program:{program}")
    changed = llm.generate(prompt=f"{wish}: {code}")
    new = %s
    redis.setex(f"program:{new}", 60, changed)
    return changed
"""


def test_what_is_kept_under_a_new_id_is_a_record():
    with pytest.raises(ValueError, match="empty"):
        told(NEW_RECORD % "str(uuid.uuid4())[:8]", "KV415")
    told(NEW_RECORD % "program.strip()", "KV415")


def test_entries_of_two_kinds_are_no_mismatch():
    assert told(TWO_KEYS.format(prefix="answer"), "KV415")[1] is not Doubt.OTHER_KEPT
    with pytest.raises(ValueError, match="empty"):
        told(TWO_KEYS.format(prefix="role"), "KV415")


OF_HELPER = """\
class Writer:
    def __init__(self, client, temperature, system_prompt, cache):
        self.client = client
        self.temperature = temperature
        self.system_prompt = system_prompt
        self.store = redis.Redis()

    def _call(self, prompt):
        messages = [{"role": "system", "content": self.system_prompt}, {"content": prompt}]
        return self.client.chat.completions.create(
            model="m", temperature=self.temperature, messages=messages
        )

    def ask(self, prompt):
        key = hashlib.sha256(prompt.encode()).hexdigest()
        hit = self.store.get(key)
        if hit:
            return hit
        said = self._call(prompt)
        self.store.set(key, said, ex=60)
        return said
"""


@pytest.mark.parametrize("code", ["KV402", "KV403"])
def test_what_a_method_that_asks_takes_from_its_object_decides_the_answer(code):
    assert told(OF_HELPER, code) == (Severity.ERROR, None)
    within = OF_HELPER.replace("redis.Redis()", "{}")
    assert told(within, code) == (Severity.INFO, Doubt.STAYS)
    keyed = OF_HELPER.replace(
        "prompt.encode()", "json.dumps([prompt, self.temperature, self.system_prompt]).encode()"
    )
    with pytest.raises(ValueError, match="empty"):
        told(keyed, code)
    fixed = OF_HELPER.replace("= temperature\n", "= 0\n").replace("= system_prompt\n", "= HOUSE\n")
    with pytest.raises(ValueError, match="empty"):
        told(fixed, code)


APART = """\
def get_cached_answer(question):
    return redis.get("q:" + hashlib.md5(question.encode()).hexdigest())

def set_cached_answer(question, answer):
    redis.set("q:" + hashlib.md5(question.encode()).hexdigest(), answer, ex=60)

def ask(client, question, model, user_id):
    hit = get_cached_answer(question)
    if hit:
        return hit
    said = client.chat.completions.create(model=model, messages=[question], user=user_id)
    set_cached_answer(question, said)
    return said
"""


def test_a_key_that_is_made_once_for_asking_and_once_for_filling_is_one():
    assert told(APART, "KV401") == (Severity.ERROR, None)
    other = APART.replace('redis.set("q:"', 'redis.set("a:"')
    assert told(other, "KV401")[0] is Severity.INFO


def test_whom_a_provider_is_told_of_is_nothing_that_the_model_is_told():
    assert told(APART, "KV406")[0] is Severity.INFO
    told_of = APART.replace("[question], user=user_id", "[question, user_id]")
    assert told(told_of, "KV406") == (Severity.ERROR, None)


WRAPPED = """\
class CachedClient:
    def __init__(self, client, store):
        self.client = client
        self.store = store

    def find(self, messages, schema):
        wanted = None
        if isinstance(schema, type) and issubclass(schema, BaseModel):
            wanted = json.dumps(schema.model_json_schema())
        data = {"messages": [one.model_dump() for one in messages], "schema": wanted}
        key = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
        found = self.store.get(key)
        return (found, key) if found is not None else (None, key)

    async def create(self, messages, *, tool_choice="auto", schema=None):
        found, key = self.find(messages, schema)
        if found is not None:
            return found
        said = await self.client.create(messages, tool_choice=tool_choice, schema=schema)
        self.store.set(key, said)
        return said
"""
STREAMED = """\

    def create_stream(self, messages, *, tool_choice="auto", schema=None):
        async def given():
            found, key = self.find(messages, schema)
            if found is not None:
                yield found
                return
            stream = self.client.create_stream(messages, tool_choice=tool_choice, schema=schema)
            parts = []
            async for part in stream:
                parts.append(part)
                yield part
            self.store.set(key, parts)

        return given()
"""


@pytest.mark.parametrize("method", ["", STREAMED], ids=["at once", "in a stream"])
def test_the_schema_of_a_type_is_known_and_a_missing_choice_of_tools_is_an_error(method):
    whole = WRAPPED + method
    text = whole if not method else whole.replace("def create(", "def other(").replace(
        "self.client.create(messages", "self.helper(messages"
    )  # fmt: skip
    assert told(text, "KV402") == (Severity.ERROR, None)


RELEVANT = """\
def key_of(what_for, asked):
    return f"{what_for}___{asked}"

class CachedAgent:
    def __init__(self, base_agent, name):
        self.cache = SQLiteShelf(name)
        self.base_agent = base_agent

    async def relevance(self, *, question, context):
        key = key_of("relevance", f"{question}___{context}")
        if key in self.cache:
            return self.cache[key]
        found = await self.base_agent.relevance(context=context, question=question)
        self.cache[key] = found
        return found
"""


def test_what_an_agent_judges_is_an_answer():
    assert told(RELEVANT, "KV405") == (Severity.WARNING, None)
    assert told(RELEVANT, "KV411") == (Severity.WARNING, None)


HELD = """\
# Embeddings of texts are kept: no embedding is asked for twice, whatever the embedding model.
class Keys(ABC):
    def make_key(self, text):
        ...

class ByHash(Keys):
    def make_key(self, text):
        return str(hash(text))

class Store(ABC):
    def get(self, key):
        ...

class RedisStore(Store):
    def __init__(self, url):
        self._redis = redis.from_url(url)

    def get(self, key):
        return self._redis.get(key)

class EmbeddingsCache:
    def __init__(self, keys: Optional[Keys] = None, store: "Store" = None):
        self._keys = keys
        self._store = store

    def get(self, text: str):
        key = self._keys.make_key(text)
        return self._store.get(key)
"""


def test_the_method_of_an_object_that_is_held_is_that_of_its_class():
    assert told(HELD, "KV404") == (Severity.ERROR, None)


@pytest.mark.parametrize(
    ("old", "new"),
    [("Optional[Keys]", "Optional[Clock]"), ("(Keys):", "(Others):"), ("self._redis.get", "local")],
)
def test_the_method_of_another_class_is_not_it(old, new):
    assert told(HELD.replace(old, new), "KV404")[0] is Severity.INFO


DERIVED = """\
from .other import CachedEngine

class Engine(CachedEngine):
    def generate(self, prompt, system_prompt, temperature=0):
        found = self._check_cache(system_prompt + prompt)
        if found is not None:
            return found
        said = self.client.chat.completions.create(
            model=self.model,
            messages=[{"content": system_prompt}, {"content": prompt}],
            temperature=temperature,
        )
        self._save_cache(system_prompt + prompt, said.choices[0].message.content)
        return said
"""
BASE = """\
class CachedEngine(Base):
    def __init__(self, path):
        self.cache = Cache(path)

    def _check_cache(self, prompt):
        return self.cache.get({key})

    def _save_cache(self, prompt, response):
        self.cache[{key}] = response
"""


@pytest.mark.parametrize(
    ("key", "doubt"), [("prompt", None), ("(self.settings, prompt)", Doubt.PARTLY)]
)
def test_a_base_class_elsewhere_may_add_to_a_key_and_is_looked_at(key, doubt):
    severity = Severity.ERROR if doubt is None else Severity.INFO
    found = across(DERIVED, BASE.format(key=key), "KV402")
    assert found == (severity, doubt, "app/keys.py")


def test_a_method_is_found_in_the_base_of_a_base():
    between = DERIVED.replace("(CachedEngine)", "(Middle)").replace(
        "class Engine", "class Middle(CachedEngine):\n    pass\n\nclass Engine"
    )
    found = across(between, BASE.format(key="prompt"), "KV402")
    assert found == (Severity.ERROR, None, "app/keys.py")


DECORATOR = """\
# What a model answers a prompt with is kept: the llm is not asked for a prompt twice.
import diskcache as dc

def cached(func):
    def wrapper(self, *args, **prompts):
        key = hash(str(args) + str(prompts))
        if key in self.cache:
            return self.cache[key]
        said = func(self, *args, **prompts)
        self.cache[key] = said
        return said

    return wrapper

class Engine:
    def __init__(self, path):
        self.cache = {store}
"""


@pytest.mark.parametrize(
    ("store", "severity"), [("dc.Cache(path)", Severity.ERROR), ("Lru(path)", Severity.INFO)]
)
def test_the_store_of_a_decorator_is_that_of_the_classes_in_its_file(store, severity):
    assert told(DECORATOR.format(store=store), "KV404")[0] is severity
