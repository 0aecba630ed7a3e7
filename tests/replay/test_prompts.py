"""Which requests are replayed, in which namespace, and as which units."""

import numpy as np
import pytest

from kvaudit.core.errors import UsageError
from kvaudit.core.requests import Mark, Request, Status
from kvaudit.replay.batches import without_outputs
from kvaudit.replay.prompts import Prompts


class CharacterEncoder:
    """One id a character; a response ends with the id 0."""

    def __init__(self):
        self.starts = 0

    def start_over(self):
        self.starts += 1

    def encode_turns(self, requests):
        rows, prompt_tokens = [], []
        for r in requests:
            prompt = [ord(c) for c in r.prompt or r.messages[0]["content"]]
            rows.append([*prompt, *map(ord, r.response), 0] if r.response else prompt)
            prompt_tokens.append(len(prompt))
        offsets = np.cumsum([0, *map(len, rows)])
        return (
            np.array([i for row in rows for i in row], np.int32),
            offsets,
            np.array(prompt_tokens),
        )


def only(requests, **options):
    (batch,) = Prompts(requests, encoder=CharacterEncoder, **options)
    return batch


def test_known_outputs_follow_the_prompt_and_unknown_ones_only_count():
    batch = only(
        [
            Request(id="a", token_ids=[1, 2, 3], output_ids=[8, 9]),
            Request(id="b", token_ids=[4], output_tokens=5),
            Request(id="c", token_ids=[6, 7], output_ids=[5], output_tokens=3),
        ]
    )
    assert batch.units.tolist() == [1, 2, 3, 8, 9, 4, 6, 7, 5]
    assert batch.offsets.tolist() == [0, 5, 6, 9]
    assert batch.prompt_units.tolist() == [3, 1, 2]
    assert batch.output_tokens.tolist() == [2, 5, 3]


def test_a_response_as_text_is_spelled_as_the_next_turn_would():
    prompts = Prompts([Request(id="a", prompt="hi", response="yo")], encoder=CharacterEncoder)
    (batch,) = prompts
    assert batch.units.tolist() == [104, 105, 121, 111, 0]
    assert prompts.outputs_reencoded
    assert without_outputs(batch).units.tolist() == [104, 105]
    assert without_outputs(batch).output_tokens.tolist() == [3]


def test_a_log_that_is_read_again_is_counted_again():
    encoder = CharacterEncoder()
    log = Prompts([Request(id="1", prompt="ab"), Request(id="2")], encoder=lambda: encoder)
    for reading in range(2):
        assert [batch.prompt_tokens.tolist() for batch in log] == [[2]]
        assert log.skipped.total() == 1
        assert encoder.starts == reading


def test_counts_without_a_prompt_are_kept():
    prompts = Prompts(
        [
            Request(id="a", prompt_tokens=10, output_tokens=2, cached_tokens=8),
            Request(id="b", prompt_tokens=7),
        ],
        encoder=CharacterEncoder,
    )
    assert list(prompts) == []
    assert prompts.counts().prompt_tokens.tolist() == [10, 7]
    assert prompts.counts().output_tokens.tolist() == [2, 0]
    assert prompts.counts().reported_hits.tolist() == [8, -1]


def test_every_request_left_out_is_counted_by_reason():
    prompts = Prompts(
        [
            Request(id="ok", token_ids=[1]),
            Request(id="error", token_ids=[1], status=Status.ERROR),
            Request(id="cached", token_ids=[1], response_cache_hit=True),
            Request(id="cut", token_ids=[1], marks=frozenset({Mark.TRUNCATED_PROMPT})),
            Request(id="counts", prompt_tokens=10),
            Request(id="empty", token_ids=[]),
            Request(id="blocks", block_ids=[1], block_tokens=16),
            Request(id="cancelled", token_ids=[1], status=Status.CANCELLED),
        ],
        encoder=CharacterEncoder,
    )
    assert [f.id for b in prompts for f in b.requests] == ["ok", "cancelled"]
    assert sum(prompts.skipped.values()) == 6
    assert set(prompts.skipped) == {
        "failed before the model",
        "answered from a response cache",
        "truncated-prompt",
        "no prompt: neither text, tokens nor block hashes",
        "empty prompt",
        "block hashes and tokens cannot be mixed in one log",
    }


def test_engine_inputs_and_chosen_fields_separate_requests():
    requests = [
        Request(id="a", token_ids=[1], model="m", tenant="x"),
        Request(id="b", token_ids=[1], model="m", tenant="y"),
        Request(id="c", token_ids=[1], model="n", tenant="x"),
        Request(id="d", token_ids=[1], model="m", tenant="x", salt="s"),
    ]
    assert only(requests).namespaces.tolist() == [0, 0, 1, 2]
    batch = only(requests, namespace=["tenant"])
    assert batch.namespaces.tolist() == [0, 1, 2, 3]
    assert batch.namespace_names[1] == "model=m, tenant=y"


def test_block_ids_of_another_scope_are_other_blocks():
    batch = only(
        [
            Request(id="a", block_ids=[7, 9], block_tokens=64, prompt_tokens=100, block_scope="s1"),
            Request(id="b", block_ids=[7], block_tokens=64, block_scope="s2"),
        ]
    )
    assert batch.units.tolist() == [7, 9, 7]
    assert batch.namespaces.tolist() == [0, 1]
    assert batch.prompt_tokens.tolist() == [100, 64]
    assert batch.namespace_names == ["all", "all"]


def test_block_ids_without_a_block_size_are_refused_with_advice():
    with pytest.raises(UsageError, match="block_tokens"):
        only([Request(id="a", block_ids=[1])])


def test_a_value_that_looks_like_the_next_field_is_no_other_namespace():
    requests = [
        Request(id="a", token_ids=[1], model="m, lora=x"),
        Request(id="b", token_ids=[1], model="m", lora="x"),
    ]
    (batch,) = Prompts(requests, encoder=CharacterEncoder)
    assert batch.namespaces.tolist() == [0, 1]
    assert batch.namespace_names == ["model=m, lora=x"] * 2
