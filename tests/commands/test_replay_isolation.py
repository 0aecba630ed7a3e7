"""`kvaudit replay --isolate`: whose KV is hit, and what keeping tenants apart would cost."""

import json

import pytest

from kvaudit.cli import run
from kvaudit.core.errors import Exit

POLICY = "You answer for the billing desk. Quote the invoice number, and never guess a sum. " * 8


@pytest.fixture
def log(tmp_path):
    records = [
        {
            "id": f"r{i}",
            "messages": [
                {"role": "system", "content": POLICY + f"You work for tenant {i % 2}."},
                {"role": "user", "content": f"question {i}"},
            ],
            "arrived_s": float(i),
            "tenant": f"tenant-{i % 2}",
        }
        for i in range(6)
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    return path.name


def report(capsys, *args):
    code = run(["replay", *args, "--format", "json"])
    assert code == Exit.OK
    return json.loads(capsys.readouterr().out)


def test_hits_of_another_tenant_are_counted_without_being_asked_for(capsys, log):
    found = report(capsys, log)["isolation"]
    assert (found["field"], found["parties"]) == ("tenant", 2)
    # Who computed a block keeps it: every request of the second tenant hits the first one's.
    assert found["cross_requests"] == 3
    assert found["apart"] is None


def test_the_price_and_what_a_public_text_saves(capsys, tmp_path, log):
    (tmp_path / "policy.txt").write_text(POLICY)
    found = report(capsys, log, "--isolate", "tenant", "--share-prefix", "policy.txt")
    prefix, isolation = found["prefix"], found["isolation"]
    apart, public = isolation["apart"], isolation["apart_but_public"]
    assert apart["hit_tokens"] + apart["lost_tokens"] == prefix["hit_tokens"]
    assert apart["hit_tokens"] < public["hit_tokens"] <= prefix["hit_tokens"]
    assert public["public"] == "the text of policy.txt"
    # All but the first request find the public text, whoever computed it.
    assert prefix["hit_tokens"] - public["hit_tokens"] < 16 * 2


TOOLS = [
    {"type": "function", "function": {"name": f"look_up_{i}", "parameters": {"type": "object"}}}
    for i in range(8)
]


def written(tmp_path, system_of):
    """Write a log of two tenants with the same tools; return its name."""
    records = [
        {
            "id": f"r{i}",
            "tools": TOOLS,
            "messages": [
                {"role": "system", "content": system_of(i % 2)},
                {"role": "user", "content": f"{i} is the number"},
            ],
            "arrived_s": float(i),
            "tenant": f"tenant-{i % 2}",
        }
        for i in range(4)
    ]
    path = tmp_path / "tools.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    return path.name


def isolated(capsys, log, *public):
    shared = [word for value in public for word in ("--share-prefix", value)]
    args = [log, "--isolate", "tenant", "--chat-template", "qwen", *shared]
    found = report(capsys, *args)
    isolation = found["isolation"]
    public_hits = isolation["apart_but_public"] and isolation["apart_but_public"]["hit_tokens"]
    return found["prefix"]["hit_tokens"], isolation["apart"]["hit_tokens"], public_hits


def test_common_tools_and_system_messages_can_be_public(capsys, tmp_path):
    log = written(tmp_path, lambda tenant: POLICY)
    run_hits, apart, public = isolated(capsys, log, "system")
    # Three requests hit the head in the run, and two, one a tenant, where all is kept apart.
    assert apart == run_hits * 2 / 3
    assert public == run_hits


def test_a_system_message_that_one_tenant_sends_is_nothing_to_the_others(capsys, tmp_path):
    log = written(tmp_path, lambda tenant: f"You serve {tenant}. " + POLICY)
    run_hits, apart, public = isolated(capsys, log, "system")
    assert (apart, public) == (run_hits, run_hits)


def test_a_public_text_may_begin_with_tool_definitions(capsys, tmp_path):
    log = written(tmp_path, lambda tenant: POLICY)
    sent = {"tools": TOOLS, "messages": [{"role": "system", "content": POLICY}]}
    (tmp_path / "agent.json").write_text(json.dumps(sent))
    (tmp_path / "policy.txt").write_text(POLICY)
    run_hits, apart, without_tools = isolated(capsys, log, "policy.txt")
    assert apart < without_tools < run_hits
    assert isolated(capsys, log, "agent.json") == (run_hits, apart, run_hits)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_marks_of_a_file_do_not_matter(capsys, tmp_path, end, mark):
    policy = (POLICY + "请引用发票号。\n").replace("\n", end) * 2
    (tmp_path / "policy.txt").write_bytes(mark + policy.encode())
    run_hits, apart, public = isolated(
        capsys, written(tmp_path, lambda tenant: policy), "policy.txt"
    )
    assert apart < public < run_hits  # the tools stand behind it


def test_it_is_on_the_screen(capsys, log):
    assert run(["replay", log, "--isolate", "tenant", "--format", "full"]) == Exit.OK
    out = capsys.readouterr().out
    assert "were computed for another tenant" in " ".join(out.split())
    assert "kept apart by tenant: hit rate" in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--share-prefix", "100"], "--isolate"),
        (["--isolate", "tenat"], "tenant"),
        (["--isolate", "tenant", "--namespace", "tenant"], "already"),
        (["--isolate", "tenant", "--share-prefix", "missing.txt"], "missing.txt"),
        (["--isolate", "tenant", "--share-prefix", "9" * 30], "no prompt has"),
        (["--isolate", "tenant", "--engine", "openai"], "one customer"),
    ],
)
def test_options_that_do_not_fit_are_refused(capsys, log, options, named):
    assert run(["replay", log, *options]) == Exit.ERROR
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert named in err


@pytest.mark.parametrize(
    ("public", "named"),
    [("policy.txt", "needs a log of texts"), ("system", "needs a log of messages")],
)
def test_a_text_is_no_use_for_a_log_of_tokens(capsys, tmp_path, public, named):
    (tmp_path / "policy.txt").write_text(POLICY)
    (tmp_path / "tokens.jsonl").write_text('{"id": "r", "token_ids": [1, 2], "tenant": "a"}\n')
    options = ["--isolate", "tenant", "--share-prefix", public]
    assert run(["replay", "tokens.jsonl", *options]) == Exit.ERROR
    assert named in capsys.readouterr().err
