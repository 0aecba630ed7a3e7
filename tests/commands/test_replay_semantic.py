"""`kvaudit replay --semantic`: what a semantic cache would have served, and how much was wrong."""

import json
from pathlib import Path

import pytest

from kvaudit.cli import run
from kvaudit.core.errors import Exit

QUESTIONS = [
    ("how do I reset my password?", "reset"),
    ("how do I reset my password", "reset"),
    ("how do I reset my passcode?", "passcode"),
    ("where is the nearest branch?", "branch"),
    ("How do I reset my password?", "reset"),
]


@pytest.fixture(autouse=True)
def _semantic(_isolated, monkeypatch, tmp_path):
    monkeypatch.setenv("KVAUDIT_CACHE_DIR", str(tmp_path / "cache"))
    pytest.importorskip("sklearn")


def write_log(records, name="log.jsonl"):
    with open(name, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
    return name


def records(**more):
    return [
        {"id": f"r{i}", "prompt": text, "answer_group": group, "arrived_s": 10.0 * i}
        | {name: value(i) for name, value in more.items()}
        for i, (text, group) in enumerate(QUESTIONS)
    ]


def write_policy(text='encoder = "hashing"\nthreshold = 0.7\n', more=""):
    with open("policy.toml", "w", encoding="utf-8") as file:
        file.write(f"[semantic]\n{text}{more}")
    return "policy.toml"


def replayed(capsys, log, *options, code=Exit.OK, **policy):
    args = ["replay", log, "--semantic", write_policy(**policy), "--format", "json", *options]
    assert run(args) == code
    return json.loads(capsys.readouterr().out)


def rows():
    with open("rows.jsonl", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def test_hits_and_wrong_ones_by_the_labels(capsys):
    found = replayed(capsys, write_log(records()), "--per-request", "rows.jsonl")["semantic"]
    assert (found["lookups"], found["hits"], found["exact_hits"]) == (5, 3, 0)
    assert found["hit_rate"] == 3 / 5
    assert (found["labelled"], found["false_hits"], found["basis"]) == (3, 1, "labels")
    assert found["false_hit_rate"] == 1 / 3
    assert found["errors_per_request"] == 1 / 5
    # Clopper and Pearson: 1 of 3 wrong is 5 % likely at 0.8646.
    assert found["false_hit_rate_upper95"] == pytest.approx(0.864650, abs=1e-6)
    assert found["population"] == "future"
    assert found["saved_flops"] == {"prefill": None, "decode": None}
    assert [(r["semantic_hit"], r["semantic_donor"], r["false_hit"]) for r in rows()] == [
        (False, None, None),
        (True, "r0", False),
        (True, "r0", True),
        (False, None, None),
        (True, "r0", False),
    ]
    assert all(0.7 <= r["similarity"] <= 1 for r in rows() if r["semantic_hit"])


def test_no_tokenizer_and_no_engine_with_a_semantic_cache_alone(capsys):
    found = replayed(capsys, write_log(records()), "--tokenizer", "no-such-vocabulary")
    assert found["engine"] is None
    assert found["prefix"] is None
    assert found["log"]["tokenizer"] is None


def test_labels_of_some_hits_bound_the_log(capsys):
    part = records(answer_group=lambda i: QUESTIONS[i][1] if i != 4 else None)
    found = replayed(capsys, write_log(part))["semantic"]
    assert (found["hits"], found["labelled"], found["false_hits"]) == (3, 2, 1)
    assert found["population"] == "log"
    # Of three hits two were looked at and one was wrong: the third may be too.
    assert found["false_hit_rate_upper95"] == pytest.approx(2 / 3)
    assert found["errors_per_request"] is None


def test_logged_answers_give_a_rate_and_no_bound(capsys):
    log = records(
        answer_group=lambda i: None,
        response=lambda i: ["Do so. ", "do  so.", "No", "x", "Do so."][i],
    )
    found = replayed(capsys, write_log(log))["semantic"]
    assert (found["basis"], found["labelled"], found["false_hits"]) == ("logged answers", 3, 1)
    assert found["false_hit_rate_upper95"] is None


def test_without_either_there_is_no_rate_but_a_sentence(capsys):
    log = write_log(records(answer_group=lambda i: None))
    found = replayed(capsys, log)["semantic"]
    assert (found["hits"], found["basis"]) == (3, "rule")
    assert found["false_hits"] is None
    assert found["false_hit_rate"] is None
    assert found["suspected_false_hits"] == 0
    run(["replay", log, "--semantic", "policy.toml", "--format", "full"])
    screen = " ".join(capsys.readouterr().out.split())
    assert "no false-hit rate" in screen
    assert "add answer_group" in screen


@pytest.mark.parametrize(
    ("limit", "code"),
    [("false-hit-rate=0.5", Exit.OK), ("false-hit-rate=0.3", Exit.FINDINGS)],
)
def test_fail_over(capsys, limit, code):
    found = replayed(capsys, write_log(records()), "--fail-over", limit, code=code)
    assert found["budgets"][0]["passed"] is (code == Exit.OK)


def test_fail_over_fails_where_the_log_supports_no_rate_and_not_where_nothing_hits(capsys):
    log = write_log(records(answer_group=lambda i: None))
    replayed(capsys, log, "--fail-over", "false-hit-rate=1", code=Exit.FINDINGS)
    none = 'encoder = "hashing"\nthreshold = 1\n'
    apart = write_log(records()[2:4], "two.jsonl")
    replayed(capsys, apart, "--fail-over", "false-hit-rate=0", text=none)


def test_the_entity_check_refuses_what_it_sees(capsys):
    log = write_log(
        {"id": str(n), "prompt": f"what is the status of order {n}?"} for n in (1234, 1235)
    )
    assert replayed(capsys, log)["semantic"]["hits"] == 1
    found = replayed(capsys, log, more="entity_check = true\n")["semantic"]
    assert (found["hits"], found["vetoed"]) == (0, 1)


def test_the_exact_tier_goes_first_and_is_counted_apart(capsys):
    log = records()
    log[3]["prompt"] = "how do I  reset my password?"
    found = replayed(capsys, write_log(log), more="exact_tier = true\n")["semantic"]
    assert (found["exact_hits"], found["hits"]) == (1, 3)
    assert found["labelled"] == 3


def test_tenants_are_kept_apart_or_every_crossing_is_shown(capsys):
    log = write_log(records(tenant=lambda i: "ab"[i % 2]))
    open_ = replayed(capsys, log)["semantic"]
    assert open_["cross_tenant_hits"] == len(open_["cross_tenant"]) == 1
    assert open_["cross_tenant"][0]["request"] == "r1"
    assert open_["cross_tenant"][0]["donor_tenant"] == "a"
    apart = replayed(capsys, log, more='namespace = ["tenant"]\n')["semantic"]
    assert (apart["hits"], apart["cross_tenant_hits"]) == (2, 0)


def test_an_answer_is_there_only_once_it_is_finished(capsys):
    log = write_log(records(finished_s=lambda i: 10.0 * i + 15))
    assert replayed(capsys, log)["semantic"]["hits"] == 2


def test_a_cancelled_answer_is_no_entry(capsys):
    log = write_log(records(status=lambda i: "cancelled" if i == 0 else "ok"))
    replayed(capsys, log, "--per-request", "rows.jsonl")
    assert [r["semantic_donor"] for r in rows()] == [None, None, "r1", None, "r1"]


def test_the_order_of_arrival_counts_and_not_that_of_the_file(capsys):
    shuffled = records()
    shuffled.reverse()
    found = replayed(capsys, write_log(shuffled))["semantic"]
    assert found == replayed(capsys, write_log(records()))["semantic"]


def test_lifetimes_need_times(capsys):
    log = write_log(records(arrived_s=lambda i: None))
    write_policy(more="ttl = 5\n")
    assert run(["replay", log, "--semantic", "policy.toml"]) == Exit.ERROR
    assert "arrived_s" in capsys.readouterr().err
    timed = replayed(capsys, write_log(records()), more="ttl = 15\n")["semantic"]
    assert timed["hits"] == 1


def test_scenarios_are_kept_out_or_have_their_own_threshold(capsys):
    log = write_log(records(kind=lambda i: "live" if i == 1 else "faq"))
    deny = 'scenario = "column:kind"\ndeny = ["live"]\n'
    found = replayed(capsys, log, more=deny)["semantic"]
    assert (found["lookups"], found["bypassed"], found["hits"]) == (4, 1, 2)
    own = 'scenario = "column:kind"\nthresholds = {live = 0.99}\n'
    assert replayed(capsys, log, more=own)["semantic"]["hits"] == 2


def test_vectors_from_the_log(capsys):
    vectors = [[1, 0], [0.99, 0.1], [0, 1], [0, -1], [3, 0]]
    log = write_log(records(vec=lambda i: vectors[i]))
    found = replayed(capsys, log, text='encoder = "column:vec"\nthreshold = 0.9\n')["semantic"]
    assert (found["hits"], found["false_hits"]) == (2, 0)
    write_policy(text='encoder = "column:vector"\nthreshold = 0.9\n')
    assert run(["replay", log, "--semantic", "policy.toml"]) == Exit.ERROR
    assert "no list of numbers" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("vector", "says"),
    [([[1, 2], [3, 4]], "more than numbers"), ([1e300, 1], "too large"), (["1", "x"], "than num")],
)
def test_vectors_that_are_none(capsys, vector, says):
    log = write_log(records(vec=lambda i: vector))
    write_policy(text='encoder = "column:vec"\nthreshold = 0.9\n')
    assert run(["replay", log, "--semantic", "policy.toml"]) == Exit.ERROR
    assert says in capsys.readouterr().err


def test_a_column_of_scenarios_that_no_request_has(capsys):
    log = write_log(records())
    write_policy(
        text='encoder = "hashing"\nthreshold = 0.9\nscenario = "column:kid"\ndeny = ["a"]\n'
    )
    assert run(["replay", log, "--semantic", "policy.toml"]) == Exit.ERROR
    assert '"column:kid": no request has that column' in capsys.readouterr().err


def test_the_newest_user_turn_or_what_the_context_says(capsys):
    turn = {"role": "user", "content": [{"type": "text", "text": "cancel it please now"}]}
    log = write_log(
        {"id": topic, "messages": [{"role": "user", "content": f"my {topic} plan"}, turn]}
        for topic in ("broadband internet", "gym membership")
    )
    strict = 'encoder = "hashing"\nthreshold = 0.95\n'
    assert replayed(capsys, log, text=strict)["semantic"]["hits"] == 1
    more = "context = {messages = 2}\n"
    assert replayed(capsys, log, text=strict, more=more)["semantic"]["hits"] == 0


def test_a_prefix_cache_behind_it_sees_the_misses_only(capsys):
    log = write_log(records())
    options = ("--engine", "ideal", "--tokenizer", "bytes", "--per-request", "rows.jsonl")
    found = replayed(capsys, log, *options, "--model", "llama-3.1-8b")
    layer, prefix = found["semantic"]["prefix_layer"], found["prefix"]
    assert prefix["requests"] == 2
    assert found["log"]["requests"] == 5
    assert layer["hit_tokens_behind"] == prefix["hit_tokens"]
    assert run(["replay", log, *options[:4], "--model", "llama-3.1-8b", "--format", "json"]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert layer["hit_tokens_alone"] == alone["prefix"]["hit_tokens"]
    saved = found["semantic"]["saved_flops"]
    assert saved["prefill"] == alone["savings"]["flops_with"] - found["savings"]["flops_with"] > 0
    assert [(r["id"], r["semantic_hit"], r["cached_tokens"] is None) for r in rows()] == [
        ("r0", False, False),
        ("r1", True, True),
        ("r2", True, True),
        ("r3", False, False),
        ("r4", True, True),
    ]


def test_a_warm_up_fills_the_cache_uncounted(capsys):
    found = replayed(capsys, write_log(records()), "--warmup", "2")["semantic"]
    assert (found["lookups"], found["hits"]) == (3, 2)


def test_nothing_to_look_up(capsys):
    log = write_log([{"id": "a", "token_ids": [1, 2], "arrived_s": 0}])
    found = replayed(capsys, log, code=Exit.NOTHING_CHECKED)
    assert found["semantic"] is None
    assert "no text that a semantic cache could compare" in found["log"]["skipped_reasons"]


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (["--semantic", "none.toml"], "none.toml"),
        (["--fail-over", "false-hit-rate=0.1"], "--semantic"),
        (["--semantic", "policy.toml", "--fail-over", "false-hits=0.1"], "false-hit-rate"),
        (["--semantic", "policy.toml", "--fail-over", "false-hit-rate"], "NAME=LIMIT"),
    ],
)
def test_mistakes_are_named(capsys, args, named):
    write_policy()
    assert run(["replay", write_log(records()), *args]) == Exit.ERROR
    assert named in capsys.readouterr().err


def test_an_encoder_that_is_not_known(capsys):
    write_policy(text='encoder = "minilmm"\nthreshold = 0.9\n')
    assert run(["replay", write_log(records()), "--semantic", "policy.toml"]) == Exit.ERROR
    assert "minilm" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["full", "concise", "github"])
def test_every_format_says_it(capsys, kind):
    log = write_log(records())
    assert run(["replay", log, "--semantic", write_policy(), "--format", kind]) == Exit.OK
    out = capsys.readouterr().out
    assert "1 wrong: 33.3 %" in " ".join(out.split())
    if kind == "full":
        assert max(map(len, out.splitlines())) <= 80


def test_the_schema_of_a_policy(capsys):
    assert run(["schema", "semantic"]) == Exit.OK
    schema = json.loads(capsys.readouterr().out)
    assert {"encoder", "threshold", "scale"} <= schema["$defs"]["SemanticPolicy"][
        "properties"
    ].keys()


def test_admission_keeps_requests_out_by_their_shape(capsys):
    log = write_log(records(temperature=lambda i: 0.9 if i == 1 else 0))
    found = replayed(capsys, log, more="admission = {max_temperature = 0.5}\n")["semantic"]
    assert (found["lookups"], found["bypassed"], found["hits"]) == (4, 1, 2)
    found = replayed(capsys, log, more="admission = {max_chars = 26}\n")["semantic"]
    assert (found["lookups"], found["hits"]) == (1, 0)
    found = replayed(capsys, log, more="admission = {sightings = 2}\n")["semantic"]
    assert found["hits"] == 0


def test_scenarios_have_lives_of_their_own_and_old_answers_are_counted(capsys):
    log = write_log(records(kind=lambda i: "live" if i == 0 else "faq"))
    column = 'scenario = "column:kind"\n'
    short = replayed(capsys, log, more=column + "ttls = {live = 5}\n")["semantic"]
    assert short["hits"] == 2
    assert short["stale_hits"] is None
    old = replayed(capsys, log, more=column + "stale_after = {faq = 15}\n")["semantic"]
    assert (old["hits"], old["stale_hits"]) == (3, 2)


def test_wrong_hits_by_what_differs_beside_the_text(capsys):
    same = "what is the price of the blue lamp?"
    log = write_log(
        {"id": f"r{i}", "prompt": same, "arrived_s": i, "model": model, "answer_group": group}
        for i, (model, group) in enumerate([("a", "1"), ("a", "2"), ("b", "3")])
    )
    found = replayed(capsys, log)["semantic"]
    assert found["false_by_cause"] == {"parameters": 1, "stale": 1}


def test_a_sampling_plan_says_what_it_can_prove(capsys):
    log = write_log(records())
    plan = "sampling = {rate = 0.5, limit = 0.05}\n"
    found = replayed(capsys, log, more=plan)["semantic"]["sampling"]
    assert (found["expected_labels"], found["needed_labels"]) == (2, 59)
    assert run(["replay", log, "--semantic", "policy.toml", "--format", "concise"]) == Exit.OK
    assert "too few to prove at most 5.0 % wrong" in capsys.readouterr().out


def test_logged_answers_support_no_verdict_finer_than_their_own_alarms(capsys):
    unlabelled = {"answer_group": lambda i: None, "response": lambda i: "Do so."}
    log = write_log(records(**unlabelled))
    over = ("--fail-over", "false-hit-rate=0.5")
    found = replayed(capsys, log, *over, code=Exit.FINDINGS)
    assert found["semantic"]["false_hit_rate"] == 0
    assert found["semantic"]["proxy"]["alarm_rate"] is None
    assert found["budgets"][0]["value"] is None
    again = [
        record | {"id": f"{n}-{record['id']}"}
        for n in range(30)
        for record in records(**unlabelled)
    ]
    found = replayed(capsys, write_log(again), *over)
    assert found["semantic"]["proxy"]["alarm_rate"] == 0


def test_what_each_layer_gives_alone_and_together_by_hand(capsys):
    """Four prompts of ten tokens of four bytes, of which the first nine are the same."""
    log = write_log(
        {"id": name, "prompt": "abcd" * 9 + last * 4, "arrived_s": at, "finished_s": end,
         "output_tokens": out, "vec": vector}
        for name, last, at, end, out, vector in [
            ("a", "1", 0, 1, 5, [1, 0]),
            ("b", "1", 2, 3, 7, [1, 0]),  # served by a
            ("c", "2", 4, 9, 3, [0, 1]),  # a question of its own
            ("d", "2", 5, 9, 3, [0, 1]),  # c is not answered yet: a miss
        ]
    )  # fmt: skip
    vectors = 'encoder = "column:vec"\nthreshold = 0.9\n'
    engine = ("--engine", "ideal", "--tokenizer", "bytes")
    priced = (*engine, "--model", "llama-3.1-8b")
    found = replayed(capsys, log, *priced, "--per-request", "rows.jsonl", text=vectors)
    assert [r["semantic_donor"] for r in rows()] == [None, "a", None, None]
    assert [r["cached_tokens"] for r in rows()] == [0, None, 9, 10]
    layer = found["semantic"]["prefix_layer"]
    # Alone b hits all of its ten tokens; behind it is never asked.
    assert (layer["hit_tokens_alone"], layer["hit_tokens_behind"]) == (29, 19)
    assert layer["hit_tokens_taken"] == 10

    def alone(*ids):
        lines = map(json.loads, Path(log).read_text().splitlines())
        write_log([line for line in lines if line["id"] in ids], "some.jsonl")
        assert run(["replay", "some.jsonl", *priced, "--format", "json"]) == Exit.OK
        return json.loads(capsys.readouterr().out)["savings"]

    everyone, misses = alone("a", "b", "c", "d"), alone("a", "c", "d")
    assert layer["prefill_flops"] == {
        "no_cache": everyone["flops_without"],
        "prefix_alone": everyone["flops_with"],
        "semantic_alone": misses["flops_without"],
        "together": misses["flops_with"],
    }
    saved = found["semantic"]["saved_flops"]
    # The prefix cache would have hit all of b: no prefill is left to save, only the decode.
    assert saved == {"prefill": 0, "decode": alone("b")["decode_flops"]}
    assert saved["decode"] > 0


def test_a_device_decides_as_the_cpu_does_and_one_that_is_not_there_is_named(capsys):
    torch = pytest.importorskip("torch")
    vectors = [[1, 0], [0.99, 0.1], [0, 1], [0, -1], [3, 0]]
    log = write_log(records(vec=lambda i: vectors[i]))
    policy = {"text": 'encoder = "column:vec"\nthreshold = 0.9\n'}
    here = replayed(capsys, log, **policy)["semantic"]
    assert replayed(capsys, log, "--device", "cpu", **policy)["semantic"] == here
    if not torch.cuda.is_available():
        args = ["replay", log, "--semantic", "policy.toml", "--device", "cuda"]
        assert run(args) == Exit.ERROR
        error = capsys.readouterr().err
        assert "CUDA" in error
        assert len(error.splitlines()) == 1


def test_thresholds_of_single_entries(capsys):
    log = write_log(
        [
            {"id": str(i), "prompt": f"reset my password{'!' * (i % 3)}", "answer_group": "reset"}
            for i in range(60)
        ]
    )
    learns = {"more": "per_entry = {delta = 0.1}\n"}
    found = replayed(capsys, log, **learns)["semantic"]
    assert 10 < found["hits"] < 59
    assert found["false_hits"] == 0
    assert found["policy"]["per_entry_delta"] == 0.1
    assert replayed(capsys, log, **learns)["semantic"] == found
    assert run(["replay", log, "--semantic", "policy.toml", "--format", "concise"]) == Exit.OK
    assert "each entry its own from there (delta 0.1)" in capsys.readouterr().out
    assert run(["calibrate", "--semantic", "policy.toml"]) == Exit.ERROR
    assert "learns from a log" in capsys.readouterr().err
    args = ["calibrate", log, "--semantic", "policy.toml"]
    assert run(args) == Exit.ERROR
    assert "there is none to choose" in capsys.readouterr().err
    write_policy(more="per_entry = {delta = 0.1}\ncapacity = 3\n")
    assert run(args) == Exit.ERROR
    assert "per_entry is modelled without capacity" in capsys.readouterr().err
