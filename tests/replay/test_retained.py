"""``--retain session:SECONDS``: against a literal reading of the rule, and as it is called."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from replay_logs import batch, logs

from kvaudit.cli import run
from kvaudit.core.errors import Exit
from kvaudit.core.prompts import RequestFacts
from kvaudit.replay.models.interner import PlainInterner
from kvaudit.replay.models.paged import VllmPool
from kvaudit.replay.models.retained import RetainingPool
from kvaudit.replay.models.vllm_releases import FreeOrder

RETAIN_S = 5.0


class Literal(VllmPool):
    """The rule word by word: the first free block that is not retained, else the first."""

    def __init__(self, **sizes):
        super().__init__(**sizes)
        self.now_s, self.session, self.until_s = 0.0, False, {}

    def _arrive(self, prompts, number):
        facts = prompts.requests[number]
        self.now_s, self.session = facts.arrived_s, facts.session is not None

    def _release(self, table):
        super()._release(table)
        if self.session:
            for block in table:
                if block in self._key_of:
                    self.until_s[block] = self.now_s + RETAIN_S

    def _next_to_go(self):
        free = list(self._free)
        block = next((b for b in free if self.until_s.get(b, -1) <= self.now_s), free[0])
        del self._free[block]
        self.until_s.pop(block, None)
        return block


def timed(lines, waits, sessions):
    made = batch(lines)
    times = np.cumsum(waits).tolist()
    facts = [
        RequestFacts(str(n), at_s, None, "s" if own else None, None, None, None, None, None)
        for n, (at_s, own) in enumerate(zip(times, sessions, strict=True))
    ]
    return replace(made, requests=facts)


@given(logs(), st.data(), st.integers(2, 8), st.sampled_from(FreeOrder))
def test_it_is_the_rule_word_by_word(lines, data, capacity, order):
    size = len(lines)
    waits = data.draw(st.lists(st.sampled_from([0.0, 1.0, 4.0, 6.0]), min_size=size, max_size=size))
    sessions = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    prompts = timed(lines, waits, sessions)
    blocks = PlainInterner(2).intern(prompts)
    sizes = {"capacity_blocks": capacity, "block_size": 2, "free_order": order}
    found = RetainingPool(**sizes, retain_s=RETAIN_S).replay(prompts, blocks)
    expected = Literal(**sizes).replay(prompts, blocks)
    assert found.cached_tokens.tolist() == expected.cached_tokens.tolist()
    assert found.evicted_blocks.tolist() == expected.evicted_blocks.tolist()


@given(logs(), st.integers(2, 8), st.sampled_from(FreeOrder))
def test_without_sessions_it_is_the_pool_itself(lines, capacity, order):
    prompts = timed(lines, [1.0] * len(lines), [False] * len(lines))
    blocks = PlainInterner(2).intern(prompts)
    sizes = {"capacity_blocks": capacity, "block_size": 2, "free_order": order}
    found = RetainingPool(**sizes, retain_s=RETAIN_S).replay(prompts, blocks)
    assert (
        found.cached_tokens.tolist()
        == VllmPool(**sizes).replay(prompts, blocks).cached_tokens.tolist()
    )


def log_of(tmp_path, **more):
    """A conversation, then a flood of others, then its next turn a minute later."""
    talk = list(range(64))
    rows = [{"id": "a", "arrived_s": 0.0, "session": "s", "token_ids": talk}]
    rows += [
        {"id": f"f{n}", "arrived_s": 1.0 + n, "token_ids": [1000 + 64 * n + i for i in range(64)]}
        for n in range(10)
    ]
    rows.append({"id": "b", "arrived_s": 60.0, "session": "s", "token_ids": [*talk, 5, 6]})
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps({**row, **more}) + "\n" for row in rows))
    return str(path)


def hits(capsys, *arguments):
    assert run(["replay", *arguments, "--isolated", "--format", "json"]) == Exit.OK
    report = json.loads(capsys.readouterr().out)
    return report["prefix"]["hit_tokens"], report["engine"]["exactness"]


def test_a_hint_keeps_a_conversation_through_a_flood(tmp_path, capsys):
    log = log_of(tmp_path)
    bounded = (log, "--capacity", "12blocks", "--schedule", "sequential")
    assert hits(capsys, *bounded)[0] == 0
    for seconds, expected in ((120, 64), (60, 64), (5, 0)):
        kept, exactness = hits(capsys, *bounded, "--retain", f"session:{seconds}")
        assert kept == expected, seconds
        assert "no release of vLLM takes" in exactness


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--retain", "session:600"), "say --capacity"),
        (("--retain", "tenant:600"), "session:SECONDS"),
        (("--retain", "session:soon"), "session:SECONDS"),
        (("--retain", "session:9", "--capacity", "9blocks", "--engine", "ideal"), "--engine vllm"),
        (("--retain", "session:9", "--capacity", "9blocks", "--instances", "2"), "--instances"),
        (("--retain", "session:9", "--capacity", "9blocks", "--groups", "full,swa:64"), "--groups"),
    ],
)
def test_what_a_hint_cannot_do_is_refused(tmp_path, capsys, options, said):
    assert run(["replay", log_of(tmp_path), "--isolated", *options]) == Exit.ERROR
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("missing", ["arrived_s", "session"])
def test_a_log_without_times_or_sessions_is_refused(tmp_path, capsys, missing):
    log = log_of(tmp_path, **{missing: None})
    options = ("--retain", "session:9", "--capacity", "9blocks")
    assert run(["replay", log, "--isolated", *options]) == Exit.ERROR
    assert missing in capsys.readouterr().err
