"""``--invoice``: which class of a bill differs from the log's usage, and the likely reason."""

import json

import pytest

from kvaudit.cli import run
from kvaudit.core.errors import Exit


def usage(n, *, prompt=10_000, cached=6_000, write=1_000, hour=500, output=100):
    return {
        "id": f"r{n}",
        "arrived_s": float(n),
        "model": "claude-opus-4-8",
        "prompt_tokens": prompt,
        "cached_tokens": cached,
        "cache_write_5m_tokens": write,
        "cache_write_1h_tokens": hour,
        "output_tokens": output,
    }


def reconciled(capsys, tmp_path, bill, *, name="bill.csv", log=None, engine="anthropic"):
    rows = [usage(n) for n in range(10)] if log is None else log
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    (tmp_path / name).write_text(bill if isinstance(bill, str) else json.dumps(bill))
    arguments = ["log.jsonl", "--engine", engine, "--invoice", name, "--format", "json"]
    assert run(["replay", *arguments]) == Exit.OK
    return json.loads(capsys.readouterr().out)["invoice"]


AGREEING = """class,tokens,usd
input,25000,0.125
cached read,"60,000",0.03
cache_write_5m,10000,0.0625
cache_write_1h,5000,0.05
output,1000,$0.025
total,,0.2925
"""


def agreement(invoice):
    return {line["token_class"]: line["agrees"] for line in invoice["lines"]}


def test_a_bill_of_the_logs_own_usage_agrees(capsys, tmp_path):
    invoice = reconciled(capsys, tmp_path, AGREEING)
    assert agreement(invoice) == dict.fromkeys(
        ("input", "cached_read", "cache_write_5m", "cache_write_1h", "output"), True
    )
    assert invoice["log_usd"] == pytest.approx(0.2925)
    assert invoice["bill_usd"] == pytest.approx(0.2925)
    assert invoice["findings"] == []
    assert (invoice["requests"], invoice["with_usage"]) == (10, 10)


def changed(**tokens):
    """The agreeing bill with other tokens for some classes, and no dollars."""
    rows = {
        "input": 25_000,
        "cached_read": 60_000,
        "cache_write_5m": 10_000,
        "cache_write_1h": 5_000,
        "output": 1_000,
    } | tokens
    return [{"class": name, "tokens": count} for name, count in rows.items()]


@pytest.mark.parametrize(
    ("tokens", "differing", "reason"),
    [
        ({"input": 85_000, "cached_read": 0}, {"input", "cached_read"}, "cached tokens as input"),
        ({"input": 35_000, "cached_read": 50_000}, {"input", "cached_read"}, "only one side"),
        ({"cache_write_5m": 15_000, "cache_write_1h": 0}, None, "does not tell lifetimes apart"),
        ({"output": 4_000}, {"output"}, "reasoning"),
    ],
)
def test_the_class_that_differs_is_named_with_a_reason(capsys, tmp_path, tokens, differing, reason):
    invoice = reconciled(capsys, tmp_path, changed(**tokens), name="bill.json")
    wrong = {name for name, agrees in agreement(invoice).items() if agrees is False}
    assert wrong == (differing or set(tokens))
    assert reason in " ".join(invoice["findings"])


def test_a_common_ratio_is_another_period_and_not_five_mistakes(capsys, tmp_path):
    doubled = {row["class"]: 2 * row["tokens"] for row in changed()}
    (finding,) = reconciled(capsys, tmp_path, changed(**doubled), name="b.json")["findings"]
    assert "misses 50 % of the traffic" in finding


def test_half_the_price_is_batch_processing(capsys, tmp_path):
    rows = [row | {"usd": 0.2925 / 2 / 5} for row in changed()]
    (finding,) = reconciled(capsys, tmp_path, rows, name="b.json")["findings"]
    assert "batch or flex" in finding


def test_classes_that_the_bill_leaves_out_are_not_in_the_comparison(capsys, tmp_path):
    invoice = reconciled(capsys, tmp_path, "class,tokens,usd\ninput,25000,0.125\n")
    assert agreement(invoice)["input"] is True
    (finding,) = invoice["findings"]
    assert finding.startswith("the bill says nothing of: cached read, cache write")


def test_dollars_alone_say_nothing_of_tokens(capsys, tmp_path):
    invoice = reconciled(capsys, tmp_path, [{"amount": "14.625"}], name="b.json")
    assert [f for f in invoice["findings"] if f.startswith("the bill is 0.50 times")]
    assert "the tokens agree" not in " ".join(invoice["findings"])


@pytest.mark.parametrize("spelled", ["25 000", "25,000", "25_000", "25000.0", "25\u00a0000"])
def test_thousands_may_be_grouped(capsys, tmp_path, spelled):
    bill = AGREEING.replace("input,25000", f'input,"{spelled}"')
    assert agreement(reconciled(capsys, tmp_path, bill))["input"] is True
    with_semicolons = f"class;tokens\r\ninput;{spelled}\r\n"
    assert agreement(reconciled(capsys, tmp_path, with_semicolons))["input"] is True


def test_requests_without_usage_are_counted(capsys, tmp_path):
    log = [usage(0), {"id": "x", "arrived_s": 1.0, "prompt": "Hello"}]
    invoice = reconciled(capsys, tmp_path, AGREEING, log=log)
    assert (invoice["requests"], invoice["with_usage"]) == (2, 1)
    assert "1 of 2 requests carry no usage" in invoice["findings"][0]


def test_the_usage_pages_of_openai_count_cached_tokens_within_the_input(capsys, tmp_path):
    page = {
        "object": "page",
        "data": [
            {
                "object": "bucket",
                "results": [
                    {
                        "object": "organization.usage.completions.result",
                        "input_tokens": 8_000,
                        "input_cached_tokens": 6_000,
                        "output_tokens": 100,
                    }
                ],
            }
        ],
    }
    log = [usage(0, prompt=8_000, write=0, hour=0) | {"model": "gpt-5.4"}]
    invoice = reconciled(capsys, tmp_path, page, name="p.json", log=log, engine="openai")
    assert agreement(invoice) == {"input": True, "cached_read": True, "output": True}
    costs = {
        "data": [
            {
                "results": [
                    {"amount": {"value": 0.005, "currency": "usd"}, "line_item": "gpt-5.4, input"},
                    {"amount": {"value": 0.0015}, "line_item": "gpt-5.4, cached input"},
                    {"amount": {"value": 0.003}, "line_item": "gpt-5.4, output"},
                ]
            }
        ]
    }
    invoice = reconciled(capsys, tmp_path, costs, name="c.json", log=log, engine="openai")
    assert agreement(invoice) == {"input": True, "cached_read": True, "output": False}


def test_the_usage_reports_of_anthropic_are_read(capsys, tmp_path):
    result = {
        "uncached_input_tokens": 25_000,
        "cache_creation": {
            "ephemeral_5m_input_tokens": 10_000,
            "ephemeral_1h_input_tokens": 5_000,
        },
        "cache_read_input_tokens": 60_000,
        "output_tokens": 1_000,
    }
    report = {"data": [{"starting_at": "2026-11-01T00:00:00Z", "results": [result]}]}
    invoice = reconciled(capsys, tmp_path, report, name="u.json")
    assert set(agreement(invoice).values()) == {True}
    cents = [
        {"amount": "12.5", "token_type": "uncached_input_tokens"},
        {"amount": "3", "token_type": "cache_read_input_tokens"},
        {"amount": "6.25", "token_type": "cache_creation.ephemeral_5m_input_tokens"},
        {"amount": "5", "token_type": "cache_creation.ephemeral_1h_input_tokens"},
        {"amount": "2.5", "token_type": "output_tokens"},
    ]
    invoice = reconciled(capsys, tmp_path, {"data": [{"results": cents}]}, name="c.json")
    assert set(agreement(invoice).values()) == {True}
    assert invoice["bill_usd"] == pytest.approx(0.2925)


def test_a_table_with_a_column_a_class_is_read(capsys, tmp_path):
    table = (
        "usage_date_utc,usage_input_tokens_no_cache,usage_input_tokens_cache_read,"
        "usage_input_tokens_cache_write_5m,usage_input_tokens_cache_write_1h,usage_output_tokens\r\n"
        "2026-11-01,20000,60000,10000,5000,900\r\n2026-11-02,5000,0,0,0,100\r\n"
    )
    assert set(agreement(reconciled(capsys, tmp_path, table)).values()) == {True}


@pytest.mark.parametrize(
    ("bill", "options", "said"),
    [
        ("", ("--engine", "openai"), "it holds no rows"),
        ("class,tokens\ncashed_read,5\n", ("--engine", "openai"), "did you mean cached_read"),
        ("class,tokens\ninput,many\n", ("--engine", "openai"), "row 1: tokens is no number"),
        ("class,tokens\ninput,nan\n", ("--engine", "openai"), "row 1: tokens is no number"),
        ("class,tokens\ninput,-5\n", ("--engine", "openai"), "no number of tokens: '-5'"),
        ("class,tokens\ninput,1.717\n", ("--engine", "openai"), "no number of tokens: '1.717'"),
        ("class;usd\ninput;0,25\n", ("--engine", "openai"), "usd is no number: '0,25'"),
        ("class,tokens\ninput,1,717\n", ("--engine", "openai"), "row 1 has more cells"),
        ("class\ninput\n", ("--engine", "openai"), "neither tokens nor dollars"),
        ('[{"amount": "5", "currency": "EUR"}]', ("--engine", "openai"), "row 1: is in EUR"),
        (
            '[{"amount": {"value": 5, "currency": "eur"}}]',
            ("--engine", "openai"),
            "row 1: is in EUR",
        ),
        ("[" * 100_000, ("--engine", "openai"), "nested too deeply"),
        ('[[1, "x"], null]', ("--engine", "openai"), "it holds no rows"),
        ("a,b\n1,2\n", ("--engine", "openai"), "columns: a, b"),
        ('{"class": "input"}\n{', ("--engine", "openai"), "bill.csv:2: not JSON"),
        ("class,tokens\ninput,5\n", (), "--engine openai"),
        ("class,tokens\ninput,5\n", ("--engine", "vllm"), "--engine openai"),
    ],
)
def test_a_bill_that_cannot_be_read_is_refused(capsys, tmp_path, bill, options, said):
    (tmp_path / "log.jsonl").write_text(json.dumps(usage(0)) + "\n")
    (tmp_path / "bill.csv").write_text(bill)
    assert run(["replay", "log.jsonl", "--invoice", "bill.csv", *options]) == Exit.ERROR
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert "Traceback" not in err


def test_the_screen_names_what_differs(capsys, tmp_path):
    reconciled(capsys, tmp_path, changed(output=4_000), name="b.json")
    run(["replay", "log.jsonl", "--engine", "anthropic", "--invoice", "b.json", "--format", "full"])
    screen = capsys.readouterr().out
    assert "differs" in screen
    assert "reasoning" in screen
    assert max(map(len, screen.splitlines())) <= 80
