"""`kvaudit keys` as it is called: planted faults counted exactly, functions, failures."""

import json
import random

import jsonschema
import pytest
from rich.cells import cell_len

from kvaudit.cli import run
from kvaudit.commands.schema import Document, json_schema
from kvaudit.core.errors import Exit

TRUE_KEY = "tenant,model,messages,temperature"


def keyed_traffic(*, repeats=60, other_tenant=0, other_temperature=0, seed=1):
    """Return records that repeat ``repeats`` times, and near-repeats that differ in one field.

    Every prompt has one tenant, model and temperature, but for the near-repeats, each of which
    is of another prompt. Two prompts differ in their model alone, so that the model is needed.
    """
    rng = random.Random(seed)
    prompts = [
        {
            "messages": [{"role": "user", "content": f"question {n // 2}"}],
            "model": ("large", "small")[n % 2],
            "tenant": f"tenant-{n // 2 % 3}",
            "temperature": 0.0,
        }
        for n in range(2 * (5 + other_tenant + other_temperature))
    ]
    near = [{**prompts[2 * n], "tenant": "tenant-9"} for n in range(other_tenant)]
    near += [
        {**prompts[2 * (other_tenant + n)], "temperature": 0.7} for n in range(other_temperature)
    ]
    later = [*near, *(rng.choice(prompts) for _ in range(repeats))]
    rng.shuffle(later)
    return [
        {"id": f"r{n}", "arrived_s": 1000.0 + n, **record}
        for n, record in enumerate([*prompts, *later])
    ]


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def written(records, name="log.jsonl"):
        (tmp_path / name).write_text("".join(json.dumps(each) + "\n" for each in records))
        return name

    return written


def called(capsys, *args, code=Exit.OK):
    assert run(["keys", *args, "--format", "json"]) == code
    report = json.loads(capsys.readouterr().out)
    jsonschema.validate(report, json_schema(Document.KEYS))
    return report


def failure(capsys, *args):
    code = run(["keys", *args])
    out, err = capsys.readouterr()
    assert (code, out) == (Exit.ERROR, "")
    assert err.startswith("error: ")
    assert "Traceback" not in err
    return err


def counts(key):
    return key["requests"], key["hits"], key["wrong_hits"], key["leaks"]


def test_the_true_key_is_proposed_and_has_no_fault(capsys, write):
    log = write(keyed_traffic(other_tenant=3, other_temperature=2))
    report = called(capsys, log, "--key", TRUE_KEY, "--keys-only")
    (key,) = report["keys"]
    assert counts(key) == (85, 60, 0, 0)
    assert (key["collisions"], key["splits"]) == ([], [])
    assert sorted(report["proposed"]["fields"]) == sorted(TRUE_KEY.split(","))
    assert report["proposed"]["hits"] == 60
    assert "seed" in report["not_judged"]


@pytest.mark.parametrize("planted", [1, 7])
def test_a_tenant_left_out(capsys, write, planted):
    log = write(keyed_traffic(other_tenant=planted, other_temperature=2))
    report = called(
        capsys, log, "--key", "model,messages,temperature", "--keys-only", code=Exit.FINDINGS
    )
    (key,) = report["keys"]
    assert (key["hits"], key["wrong_hits"], key["leaks"]) == (60 + planted, planted, planted)
    (collision,) = key["collisions"]
    assert (collision["field"], collision["requests"]) == ("tenant", planted)
    example = collision["example"]
    assert (example["a"], example["cross_tenant"]) == ("tenant-9", True)
    assert example["b"].startswith("tenant-")
    assert key["hit_rate"] == key["hits"] / key["requests"]


@pytest.mark.parametrize("planted", [1, 6])
def test_a_temperature_left_out(capsys, write, planted):
    log = write(keyed_traffic(other_tenant=2, other_temperature=planted))
    report = called(capsys, log, "--key", "tenant,model,messages", code=Exit.FINDINGS)
    (key,) = report["keys"]
    assert (key["hits"], key["wrong_hits"], key["leaks"]) == (60 + planted, planted, 0)
    (collision,) = key["collisions"]
    assert (collision["field"], collision["requests"]) == ("temperature", planted)
    assert (collision["example"]["a"], collision["example"]["b"]) == ("0.7", "0.0")
    assert collision["example"]["cross_tenant"] is False


def test_a_clock_in_the_key(capsys, write):
    log = write(keyed_traffic())
    report = called(capsys, log, "--key", TRUE_KEY + ",arrived_s", code=Exit.FINDINGS)
    (key,) = report["keys"]
    assert counts(key) == (70, 0, 0, 0)
    assert key["splits"] == [{"field": "arrived_s", "distinct": 70, "lost_hits": 60}]
    assert run(["keys", log, "--key", TRUE_KEY + ",arrived_s", "--fail-on", "error"]) == Exit.OK
    out = capsys.readouterr().out
    assert "arrived_s has 70 values in 70 requests; without it 60 hits more" in out


TOOLS = [{"name": "find", "parameters": {"x": 1, "y": 2}}, {"name": "book"}]


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        ('"temperature": 0.7', '"temperature": 0.70', None),
        ('"temperature": 0', '"temperature": 0.0', None),
        ('"temperature": null', "", None),
        ('"temperature": 0', "", "temperature"),
        ('"tools": []', "", None),
        (f'"tools": {json.dumps(TOOLS)}', f'"tools": {json.dumps(TOOLS[::-1])}', "tools"),
        (
            '"tools": [{"name": "find", "parameters": {"x": 1, "y": 2}}]',
            '"tools": [{"parameters": {"y": 2, "x": 1}, "name": "find"}]',
            None,
        ),
        ('"seed": 1', '"seed": 2', "seed"),
        ('"tenant": "a"', "", "tenant"),
    ],
)
def test_what_counts_as_the_same_value(capsys, write, tmp_path, one, other, differ):
    rows = [f'{{"id": "{n}", "prompt": "p"{", " * bool(text)}{text}}}' for n, text in
            enumerate((one, other))]  # fmt: skip
    (tmp_path / "log.jsonl").write_text("\n".join(rows) + "\n")
    code = Exit.FINDINGS if differ else Exit.OK
    report = called(capsys, "log.jsonl", "--key", "prompt", "--keys-only", code=code)
    (key,) = report["keys"]
    assert [each["field"] for each in key["collisions"]] == ([differ] if differ else [])
    assert key["hits"] == 1


def test_several_keys_keep_their_order_and_columns_of_the_log_may_be_in_them(capsys, write):
    records = [{**each, "stop": n % 2} for n, each in enumerate(keyed_traffic())]
    log = write(records)
    report = called(
        capsys, log, "--key", "stop", "--key", TRUE_KEY, "--keys-only", code=Exit.FINDINGS
    )
    assert [key["fields"] for key in report["keys"]] == [["stop"], TRUE_KEY.split(",")]
    assert report["keys"][0]["hits"] == 68
    report = called(
        capsys, log, "--key", TRUE_KEY, "--matters", "stop", "--keys-only", code=Exit.FINDINGS
    )
    assert [one["field"] for one in report["keys"][0]["collisions"]] == ["stop"]
    assert "stop" in report["proposed"]["fields"]


def test_a_field_may_be_said_not_to_matter(capsys, write):
    records = [{**each, "user": f"u{n % 5}"} for n, each in enumerate(keyed_traffic())]
    log = write(records)
    found = called(capsys, log, "--key", TRUE_KEY, "--keys-only", code=Exit.FINDINGS)
    assert found["keys"][0]["leaks"] > 0
    spared = called(capsys, log, "--key", TRUE_KEY, "--keys-only", "--may-differ", "user")
    assert spared["keys"][0]["wrong_hits"] == 0


def test_constant_and_implied_fields_are_named_beside_the_proposal(capsys, write):
    records = [
        {"id": f"{n}", "arrived_s": n, "prompt": f"p{n % 4}", "tenant": f"t{n % 2}", "model": "m"}
        for n in range(12)
    ]
    report = called(capsys, write(records), "--keys-only")
    made = report["proposed"]
    assert (made["fields"], made["constant"], made["implied"]) == (
        ["prompt"],
        ["model"],
        ["tenant"],
    )
    assert report["keys"] == []


def test_secrets_and_texts_are_not_shown(capsys, write):
    secret = "sk-" + "a1B2" * 8
    records = [
        {"id": "a", "arrived_s": 1, "model": "m", "prompt": f"key {secret} one"},
        {"id": "b", "arrived_s": 2, "model": "m", "prompt": f"key {secret} two"},
    ]
    log = write(records)
    hidden = called(capsys, log, "--key", "model", code=Exit.FINDINGS)
    example = hidden["keys"][0]["collisions"][0]["example"]
    assert example["a"].startswith(f"[{len(records[1]['prompt'])} characters, #")
    assert example["a"] != example["b"]
    shown = called(capsys, log, "--key", "model", "--show-text", code=Exit.FINDINGS)
    example = shown["keys"][0]["collisions"][0]["example"]
    assert (example["a"], example["b"]) == ("key [key] two", "key [key] one")


def test_long_texts_are_quoted_where_they_differ(capsys, write):
    text = "fixed words " * 50
    records = [
        {"id": str(n), "arrived_s": n, "model": "m", "prompt": f"{text}{n} {text}"} for n in (1, 2)
    ]
    report = called(
        capsys, write(records), "--key", "model", "--show-text", "--keys-only", code=Exit.FINDINGS
    )
    example = report["keys"][0]["collisions"][0]["example"]
    assert example["b"].startswith("…d words fixed words 1 fixed words")
    assert len(example["a"]) == 82


FUNCTIONS = """
import hashlib, json, time
def whole(r):
    return hashlib.sha256(json.dumps([r["tenant"], r["model"], r["messages"], r["temperature"]])
                          .encode()).digest()
def last(r):
    return r["messages"][-1]["content"]
def clocked(r):
    return json.dumps([r["messages"], r["arrived_s"]])
def unstable(r):
    return str(hash(r["messages"][-1]["content"]))
def number(r):
    return 7
def broken(r):
    return r["nope"]
def slow(r):
    time.sleep(60)
"""


@pytest.fixture
def functions(tmp_path):
    (tmp_path / "own_keys.py").write_text(FUNCTIONS)


def test_a_function_is_judged_like_a_key_of_fields(capsys, write, functions):
    log = write(keyed_traffic(other_tenant=3, other_temperature=2))
    report = called(
        capsys,
        *(log, "--key", "own_keys:whole", "--key", "own_keys:last", "--keys-only"),
        code=Exit.FINDINGS,
    )
    whole, last = report["keys"]
    assert counts(whole) == (85, 60, 0, 0)
    assert sorted(whole["fields"]) == sorted(TRUE_KEY.split(","))
    assert last["fields"] == ["messages"]
    assert last["leaks"] == 3
    assert {one["field"] for one in last["collisions"]} == {"tenant", "temperature", "model"}
    assert whole["stable"] is True


def test_a_clock_in_a_function_and_a_hash_that_differs_by_process(capsys, write, functions):
    log = write(keyed_traffic())
    report = called(
        capsys,
        *(log, "--key", "own_keys:clocked", "--key", "own_keys.py:unstable", "--keys-only"),
        code=Exit.FINDINGS,
    )
    clocked, unstable = report["keys"]
    assert clocked["splits"] == [{"field": "arrived_s", "distinct": 70, "lost_hits": None}]
    assert (unstable["stable"], unstable["fields"]) == (False, [])
    assert [note["topic"] for note in report["notes"]] == ["unstable-key"]


@pytest.mark.parametrize(
    ("function", "says"),
    [
        ("number", "gives int for request r0"),
        ("broken", "KeyError: 'nope' (for request r0)"),
        ("absent", "has no attribute"),
        ("slow", "took more than 0.3 s for a call"),
    ],
)
def test_functions_fail_in_sentences(capsys, write, functions, function, says):
    log = write(keyed_traffic())
    timeout = ("--timeout", "0.3" if function == "slow" else "20")
    assert says in failure(capsys, log, "--key", f"own_keys:{function}", *timeout)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--key", "tenat,model"], "did you mean tenant?"),
        (["--key", ","], "name fields"),
        (["--matters", "nothing"], "nor a column of this log"),
        (["--may-differ", "usr"], "did you mean user?"),
        (["--may-differ", "user", "--matters", "user"], "both name user"),
        (["--fail-on", "eror"], "did you mean error?"),
    ],
)
def test_wrong_calls(capsys, write, args, says):
    assert says in failure(capsys, write(keyed_traffic()), *args)


def test_nothing_to_check(capsys, write):
    report = called(capsys, write([]), "--key", TRUE_KEY, code=Exit.NOTHING_CHECKED)
    assert (report["proposed"], report["keys"][0]["hit_rate"]) == (None, None)


SYSTEM = "You answer for the billing desk. Quote the invoice number, and never guess. " * 10


def prompts_of_tenants():
    return [
        {
            "id": f"r{n}",
            "arrived_s": float(n),
            "tenant": f"t{n % 2}",
            "prompt": SYSTEM + f"question {n}",
        }
        for n in range(6)
    ]


def test_the_prefix_cache_as_replay_isolate_has_it(capsys, write):
    log = write(prompts_of_tenants())
    report = called(capsys, log, "--tokenizer", "bytes")
    assert (
        run(["replay", log, "--tokenizer", "bytes", "--isolate", "tenant", "--format", "json"]) == 0
    )
    replay = json.loads(capsys.readouterr().out)
    namespace = report["namespace"]
    assert namespace["isolation"] == replay["isolation"]
    assert namespace["hit_tokens"] == replay["prefix"]["hit_tokens"]
    assert namespace["flops"] is None
    # Already apart, so there is nothing to say of sharing.
    apart = called(capsys, log, "--tokenizer", "bytes", "--namespace", "tenant")
    assert apart["namespace"] is None


def test_a_provider_keeps_its_customers_apart_by_itself(capsys, write):
    log = write(prompts_of_tenants())
    hosted = ("--engine", "openai", "--model", "gpt-5.6")
    assert called(capsys, log, *hosted)["namespace"] is None
    assert "one customer's" in failure(capsys, log, *hosted, "--isolate", "tenant")


def test_what_keeping_tenants_apart_costs_in_flops(capsys, write):
    log = write(prompts_of_tenants())
    model = ("--tokenizer", "bytes", "--model", "llama-3.1-8b")
    flops = called(capsys, log, *model)["namespace"]["flops"]
    saved = []
    for namespace in ((), ("--namespace", "tenant")):
        assert run(["replay", log, *model, *namespace, "--format", "json"]) == 0
        saved.append(json.loads(capsys.readouterr().out)["savings"]["saved_flops"])
    assert (flops["saved"], flops["saved_apart"]) == tuple(saved)
    assert flops["lost"] == saved[0] - saved[1] > 0


def test_the_screen_and_the_annotations(capsys, write):
    log = write(keyed_traffic(other_tenant=3))
    args = ["keys", log, "--key", "model,messages,temperature", "--tokenizer", "bytes"]
    assert run([*args, "--format", "full"]) == Exit.FINDINGS
    screen = capsys.readouterr().out
    assert "  wrong hits  3\n  leaks       3\n" in screen
    assert "proposed model, tenant, messages" in screen
    assert run([*args, "--format", "github"]) == Exit.FINDINGS
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("::error title=kvaudit keys::key model,messages,temperature: 3 of 63")


def test_a_run_can_be_gated(capsys, write, tmp_path):
    log = write(keyed_traffic(other_tenant=3))
    args = ["keys", log, "--key", "model,messages", "--keys-only", "--fail-on", "never"]
    assert run([*args, "--format", "json", "--output", "json:run.json"]) == Exit.OK
    assert run(["gate", "run.json", "--fail-over", "leaks=2"]) == Exit.FINDINGS
    assert run(["gate", "run.json", "--fail-over", "leaks=3"]) == Exit.OK


def test_a_warm_up_of_the_whole_log_is_nothing_checked(write, capsys):
    log = write(keyed_traffic(repeats=4))
    options = ["--key", TRUE_KEY, "--keys-only", "--warmup", "1000"]
    report = called(capsys, log, *options, code=Exit.NOTHING_CHECKED)
    assert report["keys"][0]["hit_rate"] is None
    assert "the warm-up is the whole log: nothing is counted" in [
        note["text"] for note in report["notes"]
    ]


def test_chinese_tenants_wrap_by_the_columns_they_take(write, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    record = {"prompt": "p", "model": "m"}
    log = write([{**record, "tenant": name * 12} for name in ("甲公司", "乙公司")])
    assert run(["keys", log, "--key", "prompt", "--keys-only", "--format", "full"]) == 1
    screen = capsys.readouterr().out
    assert "甲公司" in screen
    assert max(map(cell_len, screen.splitlines())) <= 60


def test_a_colon_without_a_function_behind_it_is_told(write, capsys):
    log = write(keyed_traffic(repeats=4))
    assert run(["keys", log, "--key", "app.cache:"]) == Exit.ERROR
    assert "and no MODULE:FUNCTION" in capsys.readouterr().err
