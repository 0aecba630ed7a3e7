"""`kvaudit keys` on made logs of many shapes, against a recount of the file's own lines.

The recount knows the definitions and nothing of kvaudit: it reads JSON, puts requests in the order
of their arrival, and looks for the smallest set of fields by trying all.
"""

import itertools
import json
import random

import pytest

from kvaudit.cli import run

JUDGED = ("model", "tenant", "user", "messages", "prompt", "tools", "response_format",
          "temperature", "top_p", "seed", "max_tokens")  # fmt: skip
TOOLS = [{"name": "find", "parameters": {"x": 1, "y": 2}}, {"name": "book"}]
SAME_TOOL = {"parameters": {"y": 2, "x": 1}, "name": "find"}
VALUES = {
    "model": ["large", "small"],
    "tenant": ["acme", "globex", "initech"],
    "user": ["u1", "u2"],
    "temperature": [0, 0.0, 0.7, 1],
    "top_p": [0.9, 1, 1.0],
    "seed": [1, 2],
    "max_tokens": [16, 32],
    "session": ["s1", "s2"],
    "tools": [TOOLS, TOOLS[::-1], [SAME_TOOL, TOOLS[1]], []],
    "response_format": [{"type": "json_object"}, {"type": "text"}],
}
MESSAGES = [
    [{"role": "user", "content": "a"}],
    [{"content": "a", "role": "user"}],
    [{"role": "system", "content": "s"}, {"role": "user", "content": "a"}],
    [{"role": "user", "content": "b"}],
]


def made_log(rng):
    absent, null = rng.choice([0, 0.2, 0.6]), rng.choice([0, 0.2])
    as_text = rng.random() < 0.5
    rows = []
    for number in range(rng.choice([1, 6, 40, 90])):
        row = {"id": f"r{number}"}
        if rng.random() < 0.9:
            row["arrived_s"] = rng.choice([float(number), float(rng.randrange(50))])
        row["prompt" if as_text else "messages"] = rng.choice(
            ["p", "p ", "é"] if as_text else MESSAGES
        )
        for name, values in VALUES.items():
            drawn = rng.random()
            if drawn >= absent:
                row[name] = None if drawn < absent + null else rng.choice(values)
        if rng.random() < 0.05:
            row["status"] = "error"
        rows.append(row)
    return rows


def value(row, name):
    found = row.get(name)
    if found is None or found == []:
        return None
    return float(found) if isinstance(found, int | float) else json.dumps(found, sort_keys=True)


def in_order(rows):
    asked, latest, times = [row for row in rows if row.get("status") != "error"], -1.0, []
    for row in asked:
        latest = row.get("arrived_s", latest)
        times.append(latest)
    return [asked[at] for at in sorted(range(len(asked)), key=times.__getitem__)]


def recount(rows, fields):
    stored, hits, wrong, leaks, by_field = {}, 0, 0, 0, {}
    for row in rows:
        first = stored.setdefault(tuple(value(row, name) for name in fields), row)
        if first is row:
            continue
        differ = [name for name in JUDGED if value(row, name) != value(first, name)]
        hits, wrong = hits + 1, wrong + bool(differ)
        leaks += bool({"tenant", "user"} & set(differ))
        by_field |= {name: by_field.get(name, 0) + 1 for name in differ}
    return {"hits": hits, "wrong_hits": wrong, "leaks": leaks, "by_field": by_field}


def smallest(rows):
    def kept_apart(fields):
        return len({tuple(value(row, name) for name in fields) for row in rows})

    all_of_them = kept_apart(JUDGED)
    for size in range(len(JUDGED) + 1):
        for fields in itertools.combinations(JUDGED, size):
            if kept_apart(fields) == all_of_them:
                return list(fields)
    return []


@pytest.mark.parametrize("seed", range(12))
def test_counts_are_those_of_a_recount(capsys, tmp_path, seed):
    rng = random.Random(seed)
    rows = made_log(rng)
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    keys = [rng.sample([*JUDGED, "session", "id"], rng.randrange(1, 6)) for _ in range(3)]
    named = [option for fields in keys for option in ("--key", ",".join(fields))]
    run(["keys", str(log), *named, "--keys-only", "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    ordered = in_order(rows)
    for fields, found in zip(keys, report["keys"], strict=True):
        by_field = {one["field"]: one["requests"] for one in found["collisions"]}
        counted = {name: found[name] for name in ("hits", "wrong_hits", "leaks")}
        assert counted | {"by_field": by_field} == recount(ordered, fields)
        assert found["requests"] == len(ordered)
    assert report["proposed"]["fields"] == smallest(ordered)
