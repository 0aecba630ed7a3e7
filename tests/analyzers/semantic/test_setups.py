"""Setups of semantic caches: the copied look-up is criticised in full, incidents are found, and a
limit is always said as a cosine."""

import json

import pytest

from kvaudit.analyzers.examples import OneFile
from kvaudit.analyzers.limit import within
from kvaudit.analyzers.profile import Profile
from kvaudit.analyzers.run import documents_of, lint_document
from kvaudit.core.rulebook import load_rules
from kvaudit.core.sources import Source

RULES = [rule for rule in load_rules() if rule.code.startswith(("KV4", "KV5"))]

FRAGMENT = """\
def semantic_cache_lookup(query, embed, vstore, threshold=0.95):
    hits = vstore.search(embed(query), top_k=1)
    return hits[0].answer if hits and hits[0].score >= threshold else None
"""


def findings(text, path="cache.py"):
    return [
        finding
        for document in documents_of(Source(path, text), OneFile()) or ()
        for finding in lint_document(document, RULES, Profile())
    ]


def codes(text, path="cache.py"):
    return sorted({finding.code for finding in findings(text, path)})


def test_the_lookup_of_tutorials_is_criticised_in_full():
    assert codes(FRAGMENT) == ["KV502", "KV503", "KV511", "KV512", "KV516"]


METHOD = """\
class SemanticCache:
    def get(self, query: str) -> str | None:
        hits = self.store.search(self.embed(query), top_k=1)
        if hits and hits[0].score >= self.threshold:
            return hits[0].answer
        return None
"""
RENAMED = """\
def lookup_similar(user_query, to_vector, store, cutoff=0.9):
    vec = to_vector(user_query)
    best = store.query(vec, limit=1)
    return best[0].response if best and best[0].score > cutoff else None
"""
IN_TYPESCRIPT = """\
export async function semanticCacheLookup(query: string, embed: Embed, store: Store, limit = 0.95) {
  const hits = await store.search(await embed(query), { topK: 1 });
  return hits.length && hits[0].score >= limit ? hits[0].answer : null;
}
"""
CLASS_IN_TYPESCRIPT = """\
export class SemanticCache {
  async get(question: string): Promise<string | undefined> {
    const vector = await this.encoder.embed(question);
    const { matches } = await this.index.query({ vector, topK: 1 });
    return matches[0]?.score >= this.threshold ? matches[0].metadata.answer : undefined;
  }
}
"""


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (
            FRAGMENT.replace("query, embed,", "query: str, embed: Callable[[str], list[float]],"),
            "c.py",
        ),
        (METHOD, "c.py"),
        (RENAMED, "c.py"),
        (IN_TYPESCRIPT, "c.ts"),
        (CLASS_IN_TYPESCRIPT, "c.ts"),
    ],
    ids=["typed", "method", "renamed", "typescript", "class-in-typescript"],
)
def test_its_variants_are_criticised_as_much(text, path):
    assert codes(text, path) == ["KV502", "KV503", "KV511", "KV512", "KV516"]


@pytest.mark.parametrize(
    ("old", "new", "gone"),
    [
        ("topK: 1", "topK: 1, filter: { tenant }", "KV503"),
        ("query: string,", "query: string, modelVersion: string,", "KV516"),
        ("hits[0].score >=", "fresh(hits[0].createdAt) && hits[0].score >=", "KV502"),
        ("hits[0].score >=", "sameEntities(query, hits[0]) && hits[0].score >=", "KV511"),
        ("hits[0].score >=", "hits[0].cosine >=", "KV512"),
    ],
)
def test_what_a_lookup_in_typescript_asks_is_no_fault(old, new, gone):
    assert old in IN_TYPESCRIPT
    told = codes(IN_TYPESCRIPT.replace(old, new), "c.ts")
    assert sorted([*told, gone]) == codes(IN_TYPESCRIPT, "c.ts")


def test_a_search_of_documents_in_typescript_is_no_lookup():
    text = IN_TYPESCRIPT.replace("semanticCacheLookup", "retrieve").replace("answer", "passage")
    assert codes(text, "c.ts") == []


SCAN = """\
class SemanticCache:
    def store(self, query, response, user_id):
        self.entries.append((user_id, embed(query), response, now()))

    def get(self, query, user_id):
        vector = embed(query)
        for owner, other, response, created_at in {entries}:
            if now() - created_at < self.ttl and cosine_similarity(vector, other) >= 0.9:
                return response

    def clear(self):
        self.entries.clear()
"""


def test_a_loop_over_all_entries_is_a_lookup_too():
    mine = SCAN.format(entries="self.entries_of(user_id)")
    assert codes(mine) == ["KV511", "KV516"]
    everybody = SCAN.format(entries="self.entries").replace(", user_id", "").replace("owner, ", "")
    assert codes(everybody) == ["KV503", "KV511", "KV516"]
    lasting = everybody.replace("now() - created_at < self.ttl and ", "").replace("created_at", "_")
    assert codes(lasting) == ["KV502", "KV503", "KV511", "KV516"]
    reranker = (
        "def ranked(query, docs, score_threshold):\n"
        "    vector = embed(query)\n"
        "    return [d for d in docs if cosine_similarity(vector, d.vector) > score_threshold]\n"
    )
    assert codes(reranker) == []


SPLITTER = """\
class {name}:
    def chunk(self, text):
        vectors = self.embedder.encode(text)
        parts = []
        for at in range(1, len(vectors)):
            similarity = self.cosine_similarity(vectors[at - 1], vectors[at])
            if similarity < self.similarity_threshold:
                parts.append(at)
        return parts
"""


def test_a_splitter_of_texts_and_a_guard_are_no_lookup():
    assert codes(SPLITTER.format(name="SemanticChunker")) == []
    assert codes(SPLITTER.format(name="SemanticInjectionGuard")) == []
    assert "KV503" in codes(SPLITTER.format(name="SemanticCache"))


@pytest.mark.parametrize(
    ("text", "path", "cosine"),
    [
        ("import gptcache\nc = Config(similarity_threshold=0.8)\n", "c.py", "0.60"),
        ("c = RedisSemanticCache(name='f', distance_threshold=0.3, ttl=9)\n", "c.py", "0.70"),
        ("c = RedisSemanticCache(name='f', ttl=9)\n", "c.py", "0.80"),
        ("c = RedisSemanticCache(name='f', distance_threshold=0.5, ttl=9)\n", "c.py", "0.50"),
        ("import redisvl\nllmcache.check(prompt=q, distance_threshold=0.3)\n", "c.py", "0.70"),
        ("const c = new SemanticCache({ index, minProximity: 0.9 });\n", "c.ts", "0.80"),
        ("cache_params:\n  type: qdrant-semantic\n  similarity_threshold: 0.7\n", "c.yaml", "0.70"),
        ('encoder = "use"\nthreshold = 0.3\nscale = "cosine_dist"\n', "p.toml", "0.70"),
    ],
)
def test_a_loose_limit_is_said_as_a_cosine(text, path, cosine):
    loose = [finding for finding in findings(text, path) if finding.code == "KV501"]
    assert len(loose) == 1
    assert f"means cosine {cosine}" in loose[0].message


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("def search_docs(query, embed, store, threshold):\n" + FRAGMENT.split("\n", 1)[1], "s.py"),
        ("from .redis import RedisSemanticCache\nc = RedisSemanticCache(url=u)\n", "c.py"),
        ("class Config:\n    pass\n\nc = Config(similarity_threshold=0.8)\n", "c.py"),
        ("cache:\n  type: redis\n  ttl: 60\n", "c.yaml"),
        ("cache_params:\n  type: redis\n", "c.yaml"),
        ("litellm.cache = Cache(type='redis', host=h)\n", "c.py"),
        ("semantic_cache:\n  enabled: false\n  similarity_threshold: 0.1\n", "c.yaml"),
    ],
    ids=["retrieval", "own-class", "own-config", "redis", "litellm-redis", "litellm-python", "off"],
)
def test_what_is_no_semantic_cache_is_left_alone(text, path):
    assert codes(text, path) == []


def test_an_engine_beside_a_semantic_cache_is_read_too():
    engine = "image: vllm/vllm-openai:v0.11.0\nargs: [--no-enable-prefix-caching]\n"
    text = engine + "cache_params:\n  type: redis-semantic\n"
    kinds = {made.kind for made in documents_of(Source("stack.yaml", text), OneFile())}
    assert kinds == {"deployment", "semantic-cache"}


def test_a_router_and_a_prompt_beside_a_semantic_cache_are_told_too():
    models = "".join(
        f"  - model_name: m\n    litellm_params: {{model: hosted_vllm/m, api_base: 'http://{n}/v1'}}\n"
        for n in "ab"
    )
    cache = "litellm_settings:\n  cache_params:\n    type: redis-semantic\n    ttl: 60\n"
    router = "router_settings:\n  routing_strategy: simple-shuffle\n"
    kinds = {
        made.kind
        for made in documents_of(
            Source("proxy.yaml", f"model_list:\n{models}{router}{cache}"), OneFile()
        )
    }
    assert kinds == {"deployment", "semantic-cache"}
    message = {"role": "system", "content": "Answer shortly. It is {{ now }}."}
    text = json.dumps({"cache": {"mode": "semantic"}, "messages": [message]})
    kinds = {made.kind for made in documents_of(Source("request.json", text), OneFile())}
    assert "semantic-cache" in kinds
    assert len(kinds) == 2


def test_settings_in_the_text_of_a_config_map_have_their_place_in_the_file():
    inner = "cache_params:\n  type: redis-semantic\n  similarity_threshold: 0.7\n  ttl: 60\n"
    indented = "".join(f"    {line}\n" for line in inner.splitlines())
    text = f"kind: ConfigMap\ndata:\n  proxy.yaml: |\n{indented}  other: |\n    a: b\n"
    (loose,) = [one for one in findings(text, "map.yaml") if one.code == "KV501"]
    assert text[slice(*loose.span)] == "similarity_threshold: 0.7"
    helm = text.replace("kind: ConfigMap", "{{- if .Values.on }}\nkind: ConfigMap\n{{- end }}")
    (loose,) = [one for one in findings(helm, "map.yaml") if one.code == "KV501"]
    assert helm[slice(*loose.span)] == "similarity_threshold: 0.7"


ROUTER = "plugins:\n- type: response_cache\n  configuration:\n    enabled: true\n    mode: {mode}\n"


@pytest.mark.parametrize(
    ("mode", "more", "expected"),
    [
        ("exact", "scope: global", []),
        ("exact_then_semantic", "scope: user", []),
        ("exact_then_semantic", "scope: global", ["KV503"]),
        ("semantic", "semantic: {similarity_threshold: 0.8}", ["KV501"]),
        ("semantic", "semantic: {similarity_threshold: 0.96}", []),
    ],
)
def test_a_decision_of_the_semantic_router(mode, more, expected):
    text = f"{ROUTER.format(mode=mode)}    {more}\n"
    assert [code for code in codes(text, "config.yaml") if code != "KV520"] == expected


def test_higress_takes_every_neighbour_unless_told_otherwise():
    text = "embedding:\n  type: dashscope\nvector:\n  type: dashvector\n  threshold: 1000\n"
    assert codes(text + "cacheKeyStrategy: lastQuestion\n", "ai-cache.yaml") == [
        "KV502", "KV504", "KV507",
    ]  # fmt: skip


HIGRESS = "embedding: {type: openai}\ncacheKeyStrategy: allQuestions\ncache: {cacheTTL: 60}\n"


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("threshold: 0.95, thresholdRelation: gt", []),
        ("threshold: 0.7, thresholdRelation: gte", ["cosine 0.70 (cosine similarity)"]),
        ("thresholdRelation: gt", ["nothing hits"]),
        ("threshold: 0.3", []),
        ("threshold: 0.8", ["cosine 0.68 as a Euclidean distance and 0.20 as 1 - cosine"]),
        ("threshold: 50", ["each distance is below 50"]),
    ],
)
def test_a_limit_of_higress_means_what_its_relation_says(limit, expected):
    found = findings(f"{HIGRESS}vector: {{type: qdrant, {limit}}}\n", "ai-cache.yaml")
    assert len(found) == len(expected)
    assert all(text in one.message for one, text in zip(found, expected, strict=True))


APIM = """<policies><inbound>
<llm-semantic-cache-lookup score-threshold="{limit}" embeddings-backend-id="e">{inner}
</llm-semantic-cache-lookup></inbound>
<outbound><llm-semantic-cache-store duration="{life}" /></outbound></policies>
"""
SUBSCRIPTION = "<vary-by>@(context.Subscription.Id)</vary-by>"


@pytest.mark.parametrize(
    ("limit", "inner", "life", "expected"),
    [
        ("0.05", SUBSCRIPTION, 60, []),
        ("0.8", SUBSCRIPTION, 60, ["KV504"]),
        ("0.3", SUBSCRIPTION, 60, ["KV501"]),
        ("1.5", SUBSCRIPTION, 60, ["KV504"]),
        ("{{limit}}", SUBSCRIPTION, 60, []),
        ("0.05", "", 60, ["KV503"]),
        ("0.05", f"<!-- {SUBSCRIPTION} -->", 60, ["KV503"]),
        ("0.05", '<vary-by>@(context.Request.Headers["X-Release"])</vary-by>', 60, ["KV503"]),
        ("0.05", SUBSCRIPTION, 90_000, ["KV502"]),
        ("0.05", SUBSCRIPTION, "9" * 5_000, []),
    ],
)
@pytest.mark.parametrize("ending", ["xml", "bicep"])
def test_policies_of_azure_api_management(limit, inner, life, expected, ending):
    text = APIM.format(limit=limit, inner=inner, life=life)
    assert codes(text, f"policy.{ending}") == expected


def test_a_lookup_of_azure_in_a_comment_is_none():
    assert codes("<!--" + APIM.format(limit="0.8", inner="", life=60) + "-->", "policy.xml") == []


@pytest.mark.parametrize(
    ("evaluation", "limit", "cosine"),
    [
        ("SearchDistanceEvaluation()", 0.8, "0.60"),
        ("SearchDistanceEvaluation()", 0.95, None),
        ("NumpyNormEvaluation()", 0.8, None),
        ("NumpyNormEvaluation()", 0.6, "0.68"),
        ("OnnxModelEvaluation()", 0.5, None),
        ("SearchDistanceEvaluation(max_distance=1)", 0.6, None),
    ],
)
def test_a_limit_of_gptcache_means_what_its_evaluation_measures(evaluation, limit, cosine):
    text = (
        "from gptcache import cache, Config\n"
        f"cache.init(embedding_func=e, pre_embedding_func=get_prompt, "
        f"similarity_evaluation={evaluation}, config=Config(similarity_threshold={limit}))\n"
    )
    loose = [one for one in findings(text) if one.code in ("KV501", "KV504")]
    assert [f"cosine {cosine}" in one.message for one in loose] == ([True] if cosine else [])
    name = {"S": "distance", "N": "np", "O": "onnx"}[evaluation[0]]
    if "max_distance" not in evaluation:
        file = f"embedding: onnx\nevaluation: {name}\nconfig:\n  similarity_threshold: {limit}\n"
        loose = [one for one in findings(file, "gptcache.yml") if one.code in ("KV501", "KV504")]
        assert [f"cosine {cosine}" in one.message for one in loose] == ([True] if cosine else [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CassandraSemanticCache(embedding=e, table_name='a', ttl_seconds=9)", ["KV519"]),
        ("AstraDBSemanticCache(embedding=e, collection_name='a')", ["KV501", "KV502", "KV519"]),
        ("OpenSearchSemanticCache(opensearch_url=u, embedding=e)", ["KV501", "KV502"]),
        ("SingleStoreDBSemanticCache(embedding=e, cache_table_prefix='a')", ["KV501", "KV502"]),
        ("MongoDBAtlasSemanticCache(embedding=e, collection_name='a')", ["KV501", "KV519"]),
    ],
)
def test_what_langchain_takes_by_default(text, expected):
    assert codes(f"set_llm_cache({text})\n") == expected


def test_a_life_that_is_not_heeded_is_none():
    text = "cache_params:\n  type: {}\n  similarity_threshold: 0.95\n  namespace: a\n  ttl: 60\n"
    assert "KV502" in codes(text.format("qdrant-semantic"), "proxy.yaml")
    assert "KV502" not in codes(text.format("redis-semantic"), "proxy.yaml")


def test_bifrost_and_portkey_by_their_defaults():
    plugin = {"name": "semantic_cache", "config": {"provider": "openai", "dimension": 1536}}
    (found,) = findings(json.dumps({"plugins": [plugin]}), "config.json")
    assert "own 0.8 means cosine 0.80" in found.message
    assert codes(json.dumps({"cache": {"mode": "semantic"}}), "config.json") == ["KV515"]
    client = {"enable_local_cache": True}
    local = {"client": client, "local_cache": {"dimension": 1536, "threshold": 0.8}}
    assert codes(json.dumps(local), "config.json") == ["KV501"]


@pytest.mark.parametrize(("encoder", "expected"), [({}, []), ({"provider": "openai"}, ["KV501"])])
def test_a_limit_is_nothing_where_bifrost_finds_by_hash_alone(encoder, expected):
    settings = {"dimension": 1, "threshold": 0.8, **encoder}
    local = {"client": {"enable_local_cache": True}, "local_cache": settings}
    assert codes(json.dumps(local), "config.json") == expected
    plugin = {"name": "semantic_cache", "config": settings}
    assert codes(json.dumps({"plugins": [plugin]}), "config.json") == expected


def test_bifrosts_common_key_is_a_level_milder_as_versions_differ():
    local = {"dimension": 1, "default_cache_key": "all"}
    text = json.dumps({"client": {"enable_local_cache": True}, "local_cache": local})
    assert [one.severity.name for one in findings(text, "config.json")] == ["WARNING"]


@pytest.mark.parametrize(
    ("setting", "value", "expected"),
    [
        ("default_cache_key", "all", ["KV503"]),
        ("cache_by_model", False, ["KV516"]),
        ("cache_by_model", True, []),
        ("exclude_system_prompt", True, ["KV515"]),
    ],
)
def test_settings_that_are_faults_at_some_values(setting, value, expected):
    config = {"dimension": 1, "threshold": 0.96, setting: value}
    plugin = {"name": "semantic_cache", "config": config}
    assert codes(json.dumps({"plugins": [plugin]}), "config.json") == expected


def test_what_a_product_cannot_do_is_said_once_a_file():
    cache = "semantic_cache: {enabled: true, similarity_threshold: 0.95, namespace: a}\n"
    text = f"first:\n  {cache}second:\n  {cache}"
    assert [one.code for one in findings(text, "router.yaml")] == ["KV520"]


@pytest.mark.parametrize("case", ["C65", "C66", "C76", "C78", "C81", "C82"])
def test_a_field_case_is_found_by_its_rule(case, shared_data):
    rows = map(json.loads, (shared_data / "lint_cases.jsonl").read_text("utf-8").splitlines())
    row = next(row for row in rows if row["id"] == case)
    assert row["rules"][0] in codes(row["snippet"], row["file"])


_TANGLED = "".join(
    f"    {name} = pick({', '.join(f'v{other}' for other in range(60))})\n"
    for name in (f"v{number}" for number in range(60))
)
"""Names that are each given all the others: millions of ways through four of them."""


def test_names_that_are_given_each_other_take_no_time():
    cache = "    return SemanticCache(name='qa', distance_threshold=0.1, vectorizer=v0, ttl=9)\n"
    head = "from redisvl.extensions.llmcache import SemanticCache\n\n\ndef cache():\n"
    with within(5):
        codes(f"{head}{_TANGLED}{cache}")


def test_a_setting_is_found_four_names_away():
    steps = "    a = settings.model\n    b = a\n    c = b\n    d = c\n"
    head = "from redisvl.extensions.llmcache import SemanticCache\n\n\ndef cache():\n"
    cache = "    return SemanticCache(name='qa', distance_threshold=0.1, vectorizer=%s, ttl=9)\n"
    text = f"{head}{steps}{cache}"
    assert [x for x in codes(text % "d") if x not in codes(text % "'all-MiniLM-L6-v2'")]
    assert codes(f"{head}{steps}    e = d\n{cache % 'e'}") != codes(text % "d")
