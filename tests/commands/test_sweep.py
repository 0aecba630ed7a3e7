"""`kvaudit sweep` as it is called: its curve against replays, and what it says of bad input."""

import json
import random

import jsonschema
import pytest

from kvaudit.cli import run
from kvaudit.commands.schema import Document, json_schema
from kvaudit.core.errors import Exit


def write(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def traffic(requests=60, *, retries=True):
    """Turns of a few chats; a retry of a whole number of blocks is computed twice."""
    rng = random.Random(1)
    chats = [[rng.randrange(3) for _ in range(rng.randrange(20, 60))] for _ in range(6)]
    records = []
    for number in range(requests):
        chat = chats[rng.randrange(6)]
        prompt = list(chat)
        if not retries and len(prompt) % 4 == 0:
            prompt.append(number + 100)
        output = [rng.randrange(3) for _ in range(rng.randrange(1, 9))]
        records.append(
            {
                "id": f"r{number}",
                "token_ids": prompt,
                "output_ids": output,
                "arrived_s": 1000.0 * number,
                "tenant": f"t{number % 3}",
                "arrive_step": number,
            }
        )
        if rng.random() < 0.7 or not retries:
            chat += [*output, rng.randrange(3) + 10 * (number if not retries else 0)]
    return records


def called(capsys, command, *args):
    code = run([command, *args, "--format", "json"])
    out, err = capsys.readouterr()
    assert code == Exit.OK, err
    return json.loads(out)


def failure(capsys, *args):
    code = run(["sweep", *args])
    out, err = capsys.readouterr()
    assert (code, out) == (Exit.ERROR, "")
    assert err.startswith("error: ")
    assert "Traceback" not in err
    return err


ENGINES = [
    ["--engine", "vllm", "--engine-version", "0.23.0"],
    ["--engine", "vllm", "--engine-version", "0.33.0"],
    ["--engine", "vllm", "--eagle"],
    ["--engine", "vllm", "--schedule", "steps"],
    ["--engine", "vllm", "--schedule", "timed", "--model", "llama-3.1-8b"],
    ["--engine", "vllm", "--groups", "full,swa:16", "--schedule", "sequential"],
    ["--engine", "sglang"],
    ["--engine", "lmcache"],
    ["--engine", "lmcache", "--policy", "lfu"],
    ["--engine", "lmcache", "--save-unfull-chunk"],
    ["--engine", "lmcache", "--save-decode-cache"],
    ["--engine", "trtllm"],
    ["--engine", "trtllm", "--partial-reuse", "off"],
    ["--engine", "ideal"],
    ["--engine", "ideal", "--policy", "fifo"],
    ["--engine", "ideal", "--policy", "optimal"],
]


NO_OPTIMUM = {"--groups", "--save-unfull-chunk", "trtllm"}
"""A hit needs a window's blocks only, or ends inside a block."""


@pytest.mark.parametrize("engine", ENGINES, ids=" ".join)
@pytest.mark.parametrize("warmup", ["0", "0.3"])
def test_every_point_is_what_a_replay_of_it_finds(capsys, tmp_path, engine, warmup):
    log = write(tmp_path / "log.jsonl", traffic())
    options = [log, *engine, "--block-size", "4", "--warmup", warmup]
    report = called(capsys, "sweep", *options, "--capacities", "5,inf,9,60,21,40blocks")
    assert [p["capacity_blocks"] for p in report["curve"]] == [5, None, 9, 60, 21, 40]
    for point in report["curve"]:
        blocks = point["capacity_blocks"]
        capacity = "inf" if blocks is None else f"{blocks}blocks"
        prefix = called(capsys, "replay", *options, "--capacity", capacity)["prefix"]
        for name in ("hit_tokens", "hit_rate", "block_hit_rate", "not_admitted"):
            assert point[name] == prefix[name], capacity
        assert report["prompt_tokens"] == prefix["prompt_tokens"]
    if NO_OPTIMUM & {*engine}:
        assert report["optimal"] == []
    else:
        for point, best in zip(report["curve"], report["optimal"], strict=True):
            assert point["hit_tokens"] <= best["hit_tokens"]
    jsonschema.validate(report, json_schema(Document.SWEEP))


@pytest.mark.parametrize("engine", [["--engine", "vllm"], ["--engine", "ideal"]], ids=" ".join)
def test_a_log_of_hashes_is_swept_as_it_is_replayed(capsys, tmp_path, engine):
    rng = random.Random(2)
    records = []
    for number in range(60):
        ids = [rng.randrange(3), *(100 * rng.randrange(4) + i for i in range(rng.randrange(9)))]
        records.append(
            {
                "id": f"r{number}",
                "block_ids": ids,
                "block_tokens": 16,
                "prompt_tokens": 16 * len(ids) - rng.randrange(16),
                "output_tokens": rng.randrange(40),
            }
        )
    options = [write(tmp_path / "log.jsonl", records), *engine]
    report = called(capsys, "sweep", *options, "--capacities", "14,20,30,40blocks,inf")
    assert report["curve"][0]["hit_rate"] < report["curve"][-1]["hit_rate"]
    for point in report["curve"]:
        blocks = point["capacity_blocks"]
        capacity = "inf" if blocks is None else f"{blocks}blocks"
        prefix = called(capsys, "replay", *options, "--capacity", capacity)["prefix"]
        assert point["hit_tokens"] == prefix["hit_tokens"]
        assert point["block_hit_rate"] == prefix["block_hit_rate"]


@pytest.mark.parametrize("version", ["0.23.0", "0.33.0"])
def test_one_pass_of_vllm_is_exact_where_nothing_is_computed_twice(capsys, tmp_path, version):
    log = write(tmp_path / "log.jsonl", traffic(retries=False))
    options = [log, "--engine-version", version, "--block-size", "4"]
    report = called(capsys, "sweep", *options)
    assert report["exactness"] == "exact"
    assert len(report["curve"]) > 5
    rates = [point["hit_rate"] for point in report["curve"]]
    assert rates == sorted(rates)
    assert report["curve"][0]["capacity_blocks"] >= report["largest_request_blocks"]
    assert rates[-1] == rates[-2] > rates[-3]  # the last bounded one just loses nothing
    for choice in (report["knee"], report["recommended"]):
        asked = f"{choice['capacity_blocks']}blocks"
        prefix = called(capsys, "replay", *options, "--capacity", asked)["prefix"]
        assert prefix["hit_tokens"] == choice["hit_tokens"]
    enough, all_hits = report["recommended"], report["curve"][-1]["hit_tokens"]
    assert enough["hit_tokens"] >= 0.95 * all_hits
    one_less = f"{enough['capacity_blocks'] - 1}blocks"
    less = called(capsys, "replay", *options, "--capacity", one_less)["prefix"]["hit_tokens"]
    assert less < 0.95 * all_hits


def test_a_log_with_retries_is_replayed_and_says_why(capsys, tmp_path):
    log = write(tmp_path / "log.jsonl", traffic())
    report = called(capsys, "sweep", log, "--block-size", "4")
    assert report["exactness"] == "replayed"
    assert "held twice" in report["method"]
    assert report["curve"][-1]["exactness"] == "exact"  # without a bound nothing is evicted
    for choice in (report["knee"], report["recommended"]):
        assert choice["exactness"] == "replayed"


@pytest.mark.parametrize(
    "engine", [["--engine", "vllm"], ["--engine", "ideal", "--policy", "fifo"]]
)
def test_what_is_enough_does_not_depend_on_what_was_asked(capsys, tmp_path, engine):
    log = write(tmp_path / "log.jsonl", traffic())
    options = [log, *engine, "--block-size", "4"]
    report = called(capsys, "sweep", *options, "--capacities", "30blocks")
    assert [point["capacity_blocks"] for point in report["curve"]] == [30]
    unbounded = called(capsys, "replay", *options)["prefix"]["hit_tokens"]
    enough = report["recommended"]["capacity_blocks"]

    def hits(capacity):
        asked = f"{capacity}blocks"
        return called(capsys, "replay", *options, "--capacity", asked)["prefix"]["hit_tokens"]

    assert hits(enough) == report["recommended"]["hit_tokens"] >= 0.95 * unbounded
    assert hits(int(0.97 * enough)) < 0.95 * unbounded


def test_responses_as_text_leave_two_curves(capsys, tmp_path):
    turns = [{"role": "user", "content": "count to twenty, one number a line, please"}]
    records = []
    for number in range(5):
        response = f"{number} " * 30
        record = {"id": f"r{number}", "arrived_s": float(number), "response": response}
        records.append(record | {"messages": list(turns)})
        turns += [{"role": "assistant", "content": response}, {"role": "user", "content": "more"}]
    log = write(tmp_path / "log.jsonl", records)
    report = called(capsys, "sweep", log, "--capacities", "40blocks,inf")
    assert report["exactness"] == "bounds"
    for point, capacity in zip(report["curve"], ("40blocks", "inf"), strict=True):
        prefix = called(capsys, "replay", log, "--capacity", capacity)["prefix"]
        assert point["bounds"] == prefix["bounds"]
        assert point["hit_tokens"] == prefix["hit_tokens"]


@pytest.mark.parametrize("engine", [["--engine", "ideal"], ["--engine", "sglang"]])
def test_groups_share_the_hits_among_them(capsys, tmp_path, engine):
    log = write(tmp_path / "log.jsonl", traffic())
    report = called(capsys, "sweep", log, *engine, "--by", "tenant", "--warmup", "0.2")
    assert sorted(group["group"] for group in report["groups"]) == ["t0", "t1", "t2"]
    assert sum(group["prompt_tokens"] for group in report["groups"]) == report["prompt_tokens"]
    for number, point in enumerate(report["curve"]):
        parts = [group["curve"][number] for group in report["groups"]]
        assert {part["capacity_blocks"] for part in parts} == {point["capacity_blocks"]}
        assert sum(part["hit_tokens"] for part in parts) == point["hit_tokens"]


def test_hours_are_groups_too(capsys, tmp_path):
    log = write(tmp_path / "log.jsonl", traffic(9))
    report = called(capsys, "sweep", log, "--by", "hour")
    assert [(g["group"], g["requests"]) for g in report["groups"]] == [
        ("hour 0", 4),
        ("hour 1", 4),
        ("hour 2", 1),
    ]


def test_block_sizes_are_compared_at_the_same_tokens(capsys, tmp_path):
    log = write(tmp_path / "log.jsonl", traffic())
    sizes = ["--block-sizes", "4,8,16"]
    report = called(capsys, "sweep", log, "--block-size", "8", "--capacities", "320tokens", *sizes)
    lost = [variant["partial_block_tokens"] for variant in report["block_sizes"]]
    assert lost == sorted(lost)
    for variant in report["block_sizes"]:
        size = str(variant["block_size"])
        options = [log, "--block-size", size]
        bounded = called(capsys, "replay", *options, "--capacity", "320tokens")["prefix"]
        assert variant["curve"][0]["hit_tokens"] == bounded["hit_tokens"]
        unbounded = called(capsys, "replay", *options)
        assert variant["hit_rate"] == unbounded["prefix"]["hit_rate"]
        assert variant["partial_block_tokens"] == unbounded["lost"]["last_block"]


@pytest.mark.parametrize("router", ["round-robin", "prefix-hash", "logged"])
def test_replicas_are_what_a_replay_of_them_finds(capsys, tmp_path, router):
    records = [r | {"instance": f"i{n % 2}"} for n, r in enumerate(traffic())]
    options = [write(tmp_path / "log.jsonl", records), "--block-size", "4", "--router", router]
    report = called(capsys, "sweep", *options, "--instances", "2,3", "--capacities", "25blocks,inf")
    assert [variant["instances"] for variant in report["instances"]] == [2, 3]
    for variant in report["instances"]:
        assert variant["router"] == router
        options_of_replay = [*options, "--instances", str(variant["instances"])]
        for point, capacity in zip(variant["curve"], ("25blocks", "inf"), strict=True):
            replayed = called(capsys, "replay", *options_of_replay, "--capacity", capacity)
            assert point["hit_tokens"] == replayed["prefix"]["hit_tokens"]
            assert point["exactness"] == "replayed"


def test_capacities_may_be_bytes_with_a_model(capsys, tmp_path):
    log = write(tmp_path / "log.jsonl", traffic())
    report = called(capsys, "sweep", log, "--model", "llama-3.1-8b", "--capacities", "16,32MiB")
    # 131,072 bytes a token: 2 x 32 layers x 8 heads x 128 x 2 bytes
    assert [p["capacity_bytes"] for p in report["curve"]] == [16 << 20, 32 << 20]
    assert [p["capacity_blocks"] for p in report["curve"]] == [8, 16]
    assert "add --model" in failure(capsys, log, "--capacities", "16,32MiB")


def test_a_capacity_joins_the_default_grid(capsys, tmp_path):
    log = write(tmp_path / "log.jsonl", traffic())
    report = called(capsys, "sweep", log, "--capacity", "37blocks")
    asked = [p["capacity_blocks"] for p in report["curve"]]
    assert 37 in asked
    assert asked[-1] is None
    assert asked[:-1] == sorted(asked[:-1])


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--capacities", "512,1024"], "unit"),
        (["--capacities", ","], "names none"),
        (["--capacities", "512,many blocks"], "not understood"),
        (["--capacities", "0,5blocks"], "holds no block"),
        (["--block-sizes", "0"], "from 1 to"),
        (["--block-sizes", "16,x"], "x"),
        (["--policies", "fifo"], "lru"),
        (["--policies", "fifi", "--engine", "ideal"], "fifo"),
        (["--by", "tenants"], "tenant"),
        (["--instances", "2,0"], "from 1"),
        (["--router", "logged"], "--instances"),
        (["--instances", "2", "--router", "lodged"], "logged"),
        (["--l3", "9blocks"], "say --l2 SIZE too"),
        (["--l2", "9blocks", "--engine", "ideal"], "use --engine vllm"),
        (["--l2", "0blocks"], "--l2"),
        (["--engine", "openai"], "no curve"),
        (["--engine-version", "0.1.0"], "0.9.2"),
        (["--format", "sarif"], "sarif"),
    ],
)
def test_what_cannot_be_swept_is_refused(capsys, tmp_path, options, named):
    log = write(tmp_path / "log.jsonl", traffic(5))
    assert named in failure(capsys, log, *options)


def test_blocks_of_a_log_of_hashes_cannot_be_cut_anew(capsys, tmp_path):
    records = [{"id": "a", "block_ids": [1, 2], "block_tokens": 16, "arrived_s": 0.0}] * 2
    log = write(tmp_path / "log.jsonl", records)
    assert "cannot be cut anew" in failure(capsys, log, "--block-sizes", "16,32")
    assert called(capsys, "sweep", log, "--block-sizes", "16")["block_sizes"][0]["hit_rate"] == 0.5


def test_an_empty_log_is_nothing_checked(capsys, tmp_path):
    for options in (["--format", "json"], ["--format", "full"], []):
        assert run(["sweep", write(tmp_path / "log.jsonl", []), *options]) == Exit.NOTHING_CHECKED
        assert "empty" in capsys.readouterr().out


def test_a_log_that_repeats_nothing_recommends_nothing(capsys, tmp_path):
    log = write(tmp_path / "log.jsonl", [{"token_ids": [i] * 20, "id": f"{i}"} for i in range(4)])
    report = called(capsys, "sweep", log)
    assert report["knee"] is report["recommended"] is None
    assert {p["hit_tokens"] for p in report["curve"]} == {0}
    assert run(["sweep", log, "--format", "full"]) == Exit.OK
    assert run(["sweep", log, "--format", "github"]) == Exit.OK
    assert "::notice title=kvaudit sweep::4 requests: nothing" in capsys.readouterr().out


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_the_screen_keeps_its_width(capsys, tmp_path, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    log = write(tmp_path / "log.jsonl", traffic())
    options = ["--format", "full", "--policies", "lru", "--block-sizes", "8,16", "--by", "tenant"]
    options += ["--l2", "40blocks", "--l3", "inf"]
    assert run(["sweep", "log.jsonl", *options]) == Exit.OK, log
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= max(columns, 80)
    bars = [line for line in lines if "█" in line]
    assert len(bars) > 4
    assert all(line == line.rstrip() for line in lines)


def test_a_pipe_gets_one_fact_a_line(capsys, tmp_path):
    log = write(tmp_path / "log.jsonl", traffic())
    assert run(["sweep", log, "--capacities", "9,60blocks", "--output", "json:run.json"]) == Exit.OK
    out = capsys.readouterr().out
    facts = dict(line.split(": ", 1) for line in out.splitlines())
    report = json.loads((tmp_path / "run.json").read_text())
    assert facts["hit rate, 9 blocks"] == f"{report['curve'][0]['hit_rate']:.4f}"
    assert facts["optimal hit rate, 60 blocks"] == f"{report['optimal'][1]['hit_rate']:.4f}"
    assert facts["recommended"].endswith(" blocks")


def test_the_same_log_gives_the_same_bytes(capsys, tmp_path):
    log = write(tmp_path / "log.jsonl", traffic())
    outputs = set()
    for _ in range(2):
        assert run(["sweep", log, "--by", "tenant", "--format", "json"]) == Exit.OK
        outputs.add(capsys.readouterr().out)
    assert len(outputs) == 1


CHUNKS_OF_8 = ("--lmcache-chunk-size", "8")
TIERS = {
    "vllm": ["--l2", "6blocks", "--l3", "12blocks"],
    "vllm on lmcache": ["--l2", "lmcache:3blocks", "--l3", "9blocks", *CHUNKS_OF_8],
    "sglang": ["--l2", "24tokens", "--write-policy", "write-back"],
    "lmcache": ["--l2", "6blocks"],
    "trtllm": ["--l2", "6blocks"],
}


@pytest.mark.parametrize("caches", TIERS)
def test_tiers_are_what_a_replay_of_them_finds(capsys, tmp_path, caches):
    engine = caches.split()[0]
    log = write(tmp_path / "log.jsonl", traffic())
    common = [log, "--engine", engine, "--block-size", "4", *TIERS[caches]]
    swept = called(capsys, "sweep", *common, "--capacities", "24,20,40blocks")
    for number, size in enumerate((24, 20, 40)):
        args = (*common, "--capacity", f"{size}blocks", "--schedule", "sequential")
        tiers = called(capsys, "replay", *args)["tiers"]
        down_to = [sum(t["hit_tokens"] for t in tiers[:n]) for n in range(2, len(tiers) + 1)]
        assert [t["curve"][number]["hit_tokens"] for t in swept["tiers"]] == down_to
        if engine != "trtllm":  # whose own cache holds other blocks beside a host pool
            assert swept["curve"][number]["hit_tokens"] == tiers[0]["hit_tokens"]
        assert [t["name"] for t in swept["tiers"]] == [t["name"] for t in tiers[1:]]


def test_what_stands_below_is_told_and_what_is_compared_without_it(capsys, tmp_path):
    log = write(tmp_path / "log.jsonl", traffic())

    def told(*options):
        notes = called(capsys, "sweep", log, "--block-size", "4", *options)["notes"]
        return {note["text"] for note in notes if "tiers below" in note["text"]}

    without = "block sizes, policies and replicas are compared without tiers below them"
    chunks = "the tiers below hbm are LMCache 0.5.6's, in chunks of 8 tokens, lru"
    assert told("--l2", "6blocks") == set()
    assert told(*TIERS["vllm on lmcache"]) == {chunks}
    assert told("--l2", "6blocks", "--instances", "2") == {without}
    assert told("--l2", "6blocks", "--block-sizes", "4,8") == {without}


def test_tiers_by_hand(capsys, tmp_path):
    # Blocks of 4: two prompts of two full blocks each, in turn. The first tier holds one prompt
    # with its partial block, the second one prompt, the third both; so every second prompt is
    # found in the third, and nowhere else.
    prompts = [list(range(9)), list(range(10, 19))] * 2
    log = write(tmp_path / "log.jsonl", [{"token_ids": p, "output_len": 1} for p in prompts])
    args = (log, "--block-size", "4", "--l2", "2blocks", "--l3", "4blocks")
    model = ("--model", "llama-3.1-8b", "--accelerator", "h100")
    tiers = called(capsys, "replay", *args, "--capacity", "3blocks", *model)["tiers"]
    assert [t["hit_tokens"] for t in tiers] == [0, 0, 16]
    assert [t["stored_tokens"] for t in tiers] == [None, 32, 16]
    kv_bytes = 131_072  # a token of this model: 2 x 32 layers x 8 heads x 128 numbers of 2 bytes
    assert [t["moved_bytes"] for t in tiers] == [None, 32 * kv_bytes, 32 * kv_bytes]
    swept = called(capsys, "sweep", *args, "--capacities", "3,6blocks")
    assert [[p["hit_tokens"] for p in t["curve"]] for t in swept["tiers"]] == [[0, 16], [16, 16]]


def test_a_knee_at_which_nothing_is_hit_is_none(capsys, tmp_path):
    prompts = [list(range(9)), list(range(10, 19))] * 2
    log = write(tmp_path / "log.jsonl", [{"token_ids": p, "output_len": 1} for p in prompts])
    swept = called(capsys, "sweep", log, "--block-size", "4")
    assert swept["knee"] is None
    assert swept["recommended"]["capacity_blocks"] == 5
