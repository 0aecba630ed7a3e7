"""Look-ups of one's own: which comparison is the limit, and what keeps entries apart."""

import pytest
from linted import linted

from kvaudit.analyzers.ruleset import choose_rules

RULES = [rule for rule in choose_rules().used if rule.code.startswith("KV5")]


def codes(text, path="cache.py"):
    found = linted({path: text}, RULES).findings
    return {finding.code for finding in found}


SCANS = """\
class SemanticCache:
    def get(self, query, model):
        best_score, best = -1.0, None
        near = self.index.search(self.embed(query), k=5)
        for score, entry in near:
            {passes}
            if score > best_score:
                best_score, best = score, entry
        return best.answer
    {more}
"""


def scans(passes="pass", more=""):
    return codes(SCANS.format(passes=passes, more=more))


def test_to_be_nearer_than_the_best_so_far_is_no_limit():
    assert "KV512" not in scans()
    assert "KV512" in scans("if best_score < self.threshold: return None")


def test_the_scale_may_be_said_where_the_collection_is_made():
    limit = "if best_score < self.threshold: return None"
    made = "def create(self): self.client.create(distance=Distance.COSINE)"
    assert "KV512" not in scans(limit, made)


@pytest.mark.parametrize(
    ("passes", "told"),
    [
        ("if best_score < self.threshold: return None", True),
        ("if best_score < self.threshold or entry.model != model: continue", False),
        ("if best_score < self.threshold or not self.is_of(entry, tenant=tenant): continue", False),
        ("if best_score < self.threshold or entry.old: continue", True),
    ],
)
def test_entries_of_others_may_be_passed_over_after_the_search(passes, told):
    assert ("KV503" in scans(passes)) is told


def test_the_same_limit_in_typescript():
    text = """\
class SemanticCache {
  async get(query: string) {
    const near = await this.index.query(await embed(query));
    let bestScore = -1;
    for (const hit of near) if (hit.score > bestScore) bestScore = hit.score;
    return near[0].answer;
  }
}
"""
    assert codes(text, "cache.ts") == set()
    told = codes(
        text.replace("return near", "if (bestScore < this.threshold) return;\n    return near"),
        "cache.ts",
    )
    assert "KV512" in told


def test_a_store_that_an_object_holds_may_be_each_tenants_own():
    function = """\
def semantic_lookup(query, embed, store, threshold):
    near = store.search(embed(query), top_k=1)
    return near[0].answer if near[0].score >= threshold else None
"""
    limit = "if best_score < self.threshold: return None"
    method = SCANS.format(passes=limit, more="")
    of_users = SCANS.format(passes=limit, more="def note(self, user_id): self.users.add(user_id)")
    rows = {
        text: [
            finding.severity.name
            for finding in linted({"cache.py": text}, RULES).findings
            if finding.code == "KV503"
        ]
        for text in (function, method, of_users)
    }
    assert rows == {function: ["ERROR"], method: ["INFO"], of_users: ["WARNING"]}


@pytest.mark.parametrize(
    "said",
    ['"""Hits from a cosine of 0.9 on."""', "index = faiss.IndexFlatIP(3)", "# an inner product"],
)
def test_what_a_class_says_of_its_scores_declares_the_scale(said):
    limit = "if best_score < self.threshold: return None"
    assert "KV512" in scans(limit, "done = 1")
    assert "KV512" not in scans(limit, f"{said}\n    done = 1")


@pytest.mark.parametrize(("name", "severity"), [("score", "WARNING"), ("similarity", "INFO")])
def test_what_is_called_a_similarity_says_its_direction(name, severity):
    text = f"""\
class SemanticCache:
    def get(self, query):
        hit = self.index.search(self.embed(query), k=1)
        return hit.answer if hit.{name} >= self.threshold else None
"""
    found = linted({"cache.py": text}, RULES).findings
    assert [f.severity.name for f in found if f.code == "KV512"] == [severity]


@pytest.mark.parametrize(("made", "severity"), [("store", "INFO"), ("Store()", "WARNING")])
def test_a_store_that_the_object_was_given_may_leave_out_old_entries_itself(made, severity):
    text = f"""\
class SemanticCache:
    def __init__(self, store):
        self.store = {made}

    def get(self, query):
        hit = self.store.search(self.embed(query), k=1)
        return hit.answer if hit.score >= self.threshold else None
"""
    found = linted({"cache.py": text}, RULES).findings
    told = {f.code: f.severity.name for f in found}
    assert (told["KV502"], told["KV516"]) == (severity, severity)


@pytest.mark.parametrize("kept", ["store", "$store", "#store"])
@pytest.mark.parametrize(("made", "severity"), [("store", "INFO"), ("new Store()", "WARNING")])
def test_the_same_of_a_store_in_typescript(made, severity, kept):
    text = f"""\
class SemanticCache {{
  constructor(store) {{ this.{kept} = {made}; }}
  async get(query) {{
    const hit = await this.{kept}.search(await embed(query));
    return hit.score >= this.threshold ? hit.answer : null;
  }}
}}
"""
    found = linted({"cache.js": text}, RULES).findings
    told = {f.code: f.severity.name for f in found}
    assert (told["KV502"], told["KV516"]) == (severity, severity)
