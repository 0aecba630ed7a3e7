"""`kvaudit convert` as it is called: what it writes, what it keeps to itself, what it refuses."""

import json
import re

import pytest

from kvaudit.cli import run
from kvaudit.core.errors import Exit
from kvaudit.logs.read import LogReader

SYSTEM = {"role": "system", "content": "You answer questions about invoices. " * 120}
QUESTIONS = ["Which are open?", "Who is Mallory Okonkwo?", "Which are open?"]
LOG = [
    {
        "request_id": f"call-{i}",
        "ts": 1_793_523_600 + i,
        "session_id": f"session-{i % 2}",
        "request": {"model": "gpt-x", "messages": [SYSTEM, {"role": "user", "content": text}]},
        "response": {"choices": [{"message": {"content": "Lima"}}]},
    }
    for i, text in enumerate(QUESTIONS)
]


@pytest.fixture(autouse=True)
def _log(_isolated):
    write("log.jsonl", *LOG)


def write(name, *records):
    with open(name, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
    return name


def convert(capsys, *args):
    code = run(["convert", *args])
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return code, out, err


def rows(name):
    with open(name, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz", "out.jsonl.zst", "out.parquet"])
def test_a_log_becomes_the_record(capsys, tmp_path, name):
    code, out, err = convert(capsys, "log.jsonl", "-o", name)
    assert (code, err) == (Exit.OK, "")
    assert out == f"3 of 3 records (openai-chat) written to {name} as record\n"
    reader = LogReader([tmp_path / name])
    assert list(reader) == list(LogReader([tmp_path / "log.jsonl"]))
    assert reader.format_name == "record"


def test_a_text_log_becomes_a_mooncake_trace(capsys):
    code, out, _ = convert(capsys, "log.jsonl", "-o", "out.jsonl", "--to", "mooncake")
    assert code == Exit.OK
    assert out.endswith("as mooncake, o200k_base (exact)\n")
    found = rows("out.jsonl")
    assert [row["timestamp"] for row in found] == [0, 1000, 2000]
    assert [len(row["hash_ids"]) for row in found] == [-(-r["input_length"] // 512) for r in found]
    assert found[0]["hash_ids"] == found[2]["hash_ids"]
    assert found[0]["hash_ids"][0] == found[1]["hash_ids"][0]  # they part after 512 tokens
    assert found[0]["hash_ids"][-1] != found[1]["hash_ids"][-1]
    assert found[0]["output_length"] > 0


def test_a_token_log_becomes_a_bailian_trace(capsys):
    write("tokens.jsonl", *({"token_ids": list(range(40 + i)), "id": i} for i in range(2)))
    code, _, err = convert(capsys, "tokens.jsonl", "-o", "out.jsonl", "--to", "bailian")
    assert code == Exit.OK
    assert "no times" in err
    first, second = rows("out.jsonl")
    assert first["hash_ids"][:2] == second["hash_ids"][:2]
    assert first["hash_ids"][2] != second["hash_ids"][2]


def test_replaying_the_anonymized_log_gives_the_same_hits(capsys):
    convert(capsys, "log.jsonl", "-o", "out.jsonl", "--anonymize")

    def hits(log, *options):
        assert run(["replay", log, "--engine", "ideal", "--format", "json", *options]) == Exit.OK
        return json.loads(capsys.readouterr().out)["ideal"]

    before, after = hits("log.jsonl", "--block-size", "16"), hits("out.jsonl")
    assert before["hit_tokens"] == after["hit_tokens"] > 0
    assert before["prompt_tokens"] == after["prompt_tokens"]


@pytest.mark.parametrize("to", ["record", "mooncake"])
def test_an_anonymized_log_tells_nothing(capsys, to):
    code, _, _ = convert(capsys, "log.jsonl", "-o", "out.jsonl", "--to", to, "--anonymize")
    assert code == Exit.OK
    with open("out.jsonl", encoding="utf-8") as file:
        text = file.read()
    words = re.findall(r"[A-Za-z_]{3,}", json.dumps(LOG))
    names = {"session_id", "request_id"} | set(rows("out.jsonl")[0])
    assert not [word for word in words if word in text and word not in " ".join(names)]


def test_names_are_hashed_alike_within_a_log_and_under_one_secret(capsys):
    with open("salt", "wb") as file:
        file.write(bytes(range(32)))
    outs = [f"out{i}.jsonl" for i in range(4)]
    for i, name in enumerate(outs):
        options = ("--salt-file", "salt") if i < 2 else ()
        convert(capsys, "log.jsonl", "-o", name, "--anonymize", *options)
    one, two, three, four = (rows(name) for name in outs)
    assert one == two
    assert len({r[0]["block_ids"][0] for r in (one, three, four)}) == 3
    assert one[0]["session"] == one[2]["session"] != one[1]["session"]


def test_what_a_trace_cannot_hold_is_left_out_and_told(capsys):
    failed = {**LOG[0], "request_id": "f", "status": 500}
    write("log.jsonl", *LOG * 40, failed, {"request": 7})
    code, out, err = convert(capsys, "log.jsonl", "-o", "out.jsonl", "--to", "mooncake")
    assert code == Exit.OK
    assert out.startswith("120 of 122 records")
    assert "warning: 1 left out: failed before the model\n" in err
    assert "1 broken records left out, the first is log.jsonl:122: " in err
    assert len(rows("out.jsonl")) == 120


def test_nothing_to_write_makes_no_file(capsys, tmp_path):
    write("log.jsonl")
    code, out, err = convert(capsys, "log.jsonl", "-o", "out.jsonl")
    assert code == Exit.NOTHING_CHECKED
    assert out.startswith("nothing was written")
    assert "log.jsonl holds no records" in err
    assert not (tmp_path / "out.jsonl").exists()


def test_limit_and_map(capsys):
    write("odd.jsonl", *({"body": {"q": f"question {i}"}} for i in range(5)))
    code, _, _ = convert(
        capsys, "odd.jsonl", "-o", "out.jsonl", "--map", "prompt=body.q", "--limit", "2"
    )
    assert code == Exit.OK
    assert [row["prompt"] for row in rows("out.jsonl")] == ["question 0", "question 1"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["-o", "log.jsonl"], "is one of the files to read"),
        (["-o", "./log.jsonl"], "is one of the files to read"),
        (["-o", "out.txt"], "must end in .parquet, .jsonl"),
        (["-o", "none/out.jsonl"], "the folder none does not exist"),
        (["-o", "out.parquet", "--to", "mooncake"], "name a .jsonl file"),
        (["-o", "out.jsonl", "--salt-file", "salt"], "add --anonymize"),
        (["-o", "out.jsonl", "--anonymize", "--salt-file", "salt"], "/dev/urandom > salt"),
        (["-o", "out.jsonl", "--to", "bailian", "--block-size", "64"], "write --to mooncake"),
        (["-o", "out.jsonl", "--to", "vllm"], "mooncake"),
        (["-o", "out.jsonl", "--map", "prmpt=a"], "did you mean prompt"),
        (["-o", "out.jsonl", "--input-format", "opnai-chat"], "did you mean openai-chat"),
        ([], "--out"),
    ],
)
def test_what_is_refused(capsys, tmp_path, options, says):
    before = (tmp_path / "log.jsonl").read_bytes()
    code, out, err = convert(capsys, "log.jsonl", *options)
    assert code == Exit.ERROR
    assert out == ""
    assert err.startswith("error: ")
    assert says in err
    assert (tmp_path / "log.jsonl").read_bytes() == before
    assert not list(tmp_path.glob("out*"))
    assert not list(tmp_path.glob(".*"))


def test_a_guessable_secret_is_refused(capsys):
    with open("salt", "w", encoding="utf-8") as file:
        file.write("hunter2")
    code, _, err = convert(
        capsys, "log.jsonl", "-o", "out.jsonl", "--anonymize", "--salt-file", "salt"
    )
    assert code == Exit.ERROR
    assert "has 7 bytes, which can be guessed" in err
