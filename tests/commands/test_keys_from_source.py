"""`kvaudit keys --from-source`: keys in code do on a log what `--key` does with their fields."""

import json

import jsonschema
import pytest

from kvaudit.cli import run
from kvaudit.commands.schema import Document, json_schema
from kvaudit.core.errors import Exit
from tests.commands.test_keys import keyed_traffic

PYTHON = """
import hashlib, json, time

class Answers:
    def whole_key(self, messages, model, temperature, tenant_id):
        body = json.dumps([model, temperature, tenant_id, messages], sort_keys=True)
        return hashlib.sha256(body.encode()).hexdigest()

    def tenantless_key(self, messages, temperature):
        return hashlib.sha256(json.dumps([self.model, temperature, messages]).encode()).hexdigest()

    def cooled_key(self, body, user):
        h = hashlib.md5()
        for part in (body["model"], user.tenant, json.dumps(body["messages"])):
            h.update(part.encode())
        return h.hexdigest()

    def clocked_key(self, messages, model, temperature, tenant):
        parts = [model, tenant, str(temperature), json.dumps(messages), str(time.time())]
        return hashlib.sha256("|".join(parts).encode()).hexdigest()
"""
TYPESCRIPT = """
import { createHash } from "crypto";
type Body = { model: string; messages: Message[]; temperature?: number };
const sha = (value: unknown) => createHash("sha256").update(JSON.stringify(value)).digest("hex");
export function wholeKey(body: Body, tenantId: string) {
  return sha([body.model, body.temperature, tenantId, body.messages]);
}
export const tenantlessKey = ({ model, messages, temperature }: Body) =>
  sha({ model, messages, temperature });
export function cooledKey(body: Body, req: Request) {
  const hash = createHash("md5");
  hash.update(body.model);
  hash.update(req.tenant.id);
  hash.update(JSON.stringify(body.messages));
  return hash.digest("hex");
}
export function clockedKey(body: Body, tenant: string) {
  return sha([body.model, tenant, body.temperature, body.messages, Date.now()]);
}
"""
SAME = {
    "whole": "model,temperature,tenant,messages",
    "without tenant": "model,temperature,messages",
    "without temperature": "model,tenant,messages",
    "clocked": "model,tenant,temperature,messages,arrived_s",
}
PLANTED = {"other_tenant": 3, "other_temperature": 2}


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    records = keyed_traffic(**PLANTED)
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    return "log.jsonl"


def called(capsys, *args, code):
    assert run(["keys", *args, "--keys-only", "--format", "json"]) == code
    report = json.loads(capsys.readouterr().out)
    jsonschema.validate(report, json_schema(Document.KEYS))
    return report


COUNTED = ("requests", "hits", "hit_rate", "wrong_hits", "leaks", "distinct_keys", "collisions")


@pytest.mark.parametrize(("name", "text"), [("answers.py", PYTHON), ("answers.ts", TYPESCRIPT)])
def test_counts_are_those_of_the_same_fields(capsys, tmp_path, log, name, text):
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / name).write_text(text)
    found = called(capsys, log, "--from-source", "app", code=Exit.FINDINGS)["keys"]
    fields = [option for keys in SAME.values() for option in ("--key", keys)]
    same = called(capsys, log, *fields, code=Exit.FINDINGS)["keys"]
    assert [set(key["fields"]) for key in found] == [set(key["fields"]) for key in same]
    for key, other in zip(found, same, strict=True):
        assert {each: key[each] for each in COUNTED} == {each: other[each] for each in COUNTED}
        assert key["source"]["hits_are"] == "exact"
        line = text.splitlines()[key["source"]["line"] - 1]
        assert key["source"]["function"] in line
        place = f"app/{name}:{key['source']['line']}"
        assert key["key"] == f"{place} {key['source']['function']}"
    whole, tenant, temperature, clocked = found
    assert (whole["hits"], whole["wrong_hits"]) == (60, 0)
    assert (tenant["wrong_hits"], tenant["leaks"]) == (3, 3)
    assert (temperature["wrong_hits"], temperature["leaks"]) == (2, 0)
    assert (clocked["hits"], clocked["splits"][0]["lost_hits"]) == (0, 60)


def test_what_could_not_be_mapped_is_said_and_bounds_the_counts(capsys, tmp_path, log):
    (tmp_path / "keys.py").write_text(
        "import hashlib, uuid\n"
        "def cache_key(messages, model, release):\n"
        "    return hashlib.sha256(f'{model}:{release}:{messages}'.encode()).hexdigest()\n"
        "def loose_key(messages, model):\n"
        "    return hashlib.sha256(f'{model.lower()}:{messages}'.encode()).hexdigest()\n"
        "def random_key(messages):\n"
        "    return f'{uuid.uuid4()}:{messages}'\n"
        "def own_key(prompt):\n"
        "    return hash(prompt)\n"
    )
    keys = called(capsys, log, "--from-source", "keys.py", code=Exit.FINDINGS)["keys"]
    release, loose, random, own = keys
    assert (release["fields"], release["source"]["hits_are"]) == (["model", "messages"], "at most")
    assert [part["text"] for part in release["source"]["parts"] if not part["fields"]] == [
        "release"
    ]
    assert loose["source"]["hits_are"] == "at least"
    assert (random["hits"], random["splits"][0]["field"]) == (0, "uuid.uuid4()")
    assert (own["stable"], own["fields"]) == (False, ["last_message"])
    assert run(["keys", log, "--from-source", "keys.py", "--keys-only", "--format", "full"]) == 1
    screen = capsys.readouterr().out
    assert "  no field    release, line 3: no field of the record" in screen
    assert "it hits no more often" in " ".join(screen.split())


def test_a_column_of_the_log_is_what_its_name_says(capsys, tmp_path, log):
    records = [json.loads(line) for line in (tmp_path / log).read_text().splitlines()]
    columns = [{**each, "release": f"v{n % 2}"} for n, each in enumerate(records)]
    (tmp_path / log).write_text("".join(json.dumps(each) + "\n" for each in columns))
    (tmp_path / "keys.py").write_text(
        "def cache_key(messages, model, release):\n    return f'{model}:{release}:{messages}'\n"
    )
    (key,) = called(capsys, log, "--from-source", "keys.py", code=Exit.FINDINGS)["keys"]
    assert key["fields"] == ["model", "release", "messages"]
    assert [split["field"] for split in key["splits"]] == ["release"]


def test_secrets_in_code_are_not_shown(capsys, tmp_path, log):
    secret = "sk-" + "a1B2" * 8
    (tmp_path / "keys.py").write_text(
        f"def cache_key(messages):\n    return salted(messages, '{secret}')\n"
    )
    assert run(["keys", log, "--from-source", "keys.py", "--keys-only", "--format", "json"]) == 1
    printed = capsys.readouterr().out
    assert "salted(messages" in printed
    assert secret not in printed


def test_nothing_of_the_source_is_executed(capsys, tmp_path, log):
    (tmp_path / "keys.py").write_text(
        "open('was-run', 'w').close()\n"
        "def cache_key(messages, model, temperature, tenant):\n"
        "    return f'{model}:{tenant}:{temperature}:{messages}'\n"
    )
    called(capsys, log, "--from-source", "keys.py", code=Exit.OK)
    assert not (tmp_path / "was-run").exists()


def test_a_path_without_keys_and_files_that_cannot_be_read(capsys, tmp_path, log):
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "broken.py").write_text("import hashlib\ndef prompt_key(:\n")
    report = called(capsys, log, "--from-source", "app", code=Exit.NOTHING_CHECKED)
    assert [note["topic"] for note in report["notes"]] == ["source-not-read", "no-key-in-source"]
    assert run(["keys", log, "--from-source", "absent"]) == Exit.ERROR
    assert "absent does not exist" in capsys.readouterr().err
