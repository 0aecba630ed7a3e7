"""Settings that no cache can have are refused with the nearest that one can, by both replays."""

import json

import pytest

from kvaudit.cli import run
from kvaudit.core.errors import Exit

ENGINES = {"vllm": 16, "sglang": 1, "lmcache": 256, "trtllm": 32, "ideal": 1}
"""Engines that a capacity bounds, and the tokens of their blocks."""


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({"id": "a", "token_ids": [1, 2, 3], "output_ids": [4]}) + "\n")
    return str(path)


def refused(capsys, *args):
    """Return what a run that must fail says, on one line."""
    assert run([*args, "--isolated"]) == Exit.ERROR
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "Traceback" not in printed.err
    return " ".join(printed.err.split())


@pytest.mark.parametrize(("engine", "block"), ENGINES.items())
def test_a_capacity_below_one_block_names_the_least_there_is(capsys, log, engine, block):
    least = f"the least is {block}token"
    for args in (("replay", log, "--capacity"), ("sweep", log, "--capacities")):
        assert "the least is 1block" in refused(capsys, *args, "0blocks", "--engine", engine)
        assert least in refused(capsys, *args, f"{block - 1}tokens", "--engine", engine)
        said = refused(capsys, *args, "1B", "--engine", engine, "--model", "llama-3.1-8b")
        assert f"the least is {block * 131_072}B" in said
    said = refused(capsys, "replay", log, "--capacity", "0", "--engine", engine)
    assert "write at least 1block" in said


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("args", "remedy"),
    [
        (("--block-size", "0"), "greater than or equal to 1"),
        (("--policy", "lur"), "did you mean lru"),
        (("--schedule", "step"), "known: sequential"),
        (("--groups", "full,swa:0"), "the nearest is swa:1"),
    ],
)
@pytest.mark.parametrize("command", ["replay", "sweep"])
def test_every_engine_names_the_nearest(capsys, log, command, engine, args, remedy):
    said = refused(capsys, command, log, "--engine", engine, *args)
    assert remedy in said or (engine in ("vllm", "sglang") and "did you mean steps?" in said)


@pytest.mark.parametrize(
    ("engine", "version", "nearest"),
    [
        ("vllm", "0.8.5", "0.9.2"),
        ("vllm", "1.0", "0.33.0"),
        ("sglang", "0.4.6", "0.5.4"),
        ("sglang", "99.0", "0.5.23"),
        ("lmcache", "0.6.0", "0.5.6"),
        ("trtllm", "0.21.0", "1.0.0"),
    ],
)
@pytest.mark.parametrize("command", ["replay", "sweep"])
def test_a_release_that_is_not_modelled_is_told_the_nearest(
    capsys, log, command, engine, version, nearest
):
    said = refused(capsys, command, log, "--engine", engine, "--engine-version", version)
    assert f"use --engine-version {nearest}" in said


@pytest.mark.parametrize(
    ("groups", "remedy"),
    [
        ("", "write full, or full,swa:1024"),
        ("full,swa", "write swa:1024"),
        ("full,swb:64", "did you mean swa?"),
        ("full,chunked:-4", "the nearest is chunked:1"),
        ("full,swa:9999999999", "the nearest is swa:999999999"),
        ("full:3", "write full"),
        ("full,mamba", "write mamba:align or mamba:all"),
        ("full,,swa:64", "known: chunked, full, mamba, swa"),
    ],
)
def test_a_group_that_does_not_parse(capsys, log, groups, remedy):
    assert remedy in refused(capsys, "replay", log, "--groups", groups)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--l2", "0"), "--l2: capacity '0' holds nothing; write at least 1block"),
        (("--l2", "12"), "--l2: capacity '12' has no unit; write 12blocks, 12tokens or 12GiB"),
        (("--l2", "4tokens"), "--l2: a capacity of 4 tokens holds no block"),
        (("--l2", "8blocks", "--l3", "0blocks"), "--l3: a capacity of 0 blocks holds no block"),
        (("--instances", "2", "--router", "round-robbin"), "did you mean round-robin?"),
        (("--retention", "-1"), "--retention -1: write a number of tokens from 0 on, or dense"),
        (("--retention", "0", "--engine", "sglang"), "--retention means nothing"),
    ],
)
def test_other_settings_that_nothing_has(capsys, log, args, said):
    assert said in refused(capsys, "replay", log, *args)
