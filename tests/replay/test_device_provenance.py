"""KV computed again from what is remembered of it, on arbitrary histories of chunks."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kvaudit.cost.catalogue import TINY
from kvaudit.replay.device.executor import Executor, Prompt
from kvaudit.replay.device.prefill import Prefill
from kvaudit.replay.device.provenance import Piece, Recompute, Span, joined_spans
from kvaudit.replay.device.runnable import load_runnable
from kvaudit.replay.device.tiers import Pool

BLOCK = 4
CPU = torch.device("cpu")
MODELS = {
    dtype: load_runnable("tiny", TINY.config, device=CPU, dtype=dtype) for dtype in ("fp32", "bf16")
}
# Two values and a few lengths, so that prompts share prefixes that end within chunks.
texts = st.lists(st.integers(0, 1), min_size=1, max_size=30)


def prompt_of(units):
    digests = [bytes(units[: n + BLOCK]) for n in range(0, len(units) // BLOCK * BLOCK, BLOCK)]
    return Prompt(
        units=np.array(units, np.int32),
        prompt_tokens=len(units),
        digests=digests,
        usable_blocks=(len(units) - 1) // BLOCK,
    )


@settings(max_examples=20)
@given(
    st.lists(st.tuples(texts, st.integers(0, 9)), min_size=1, max_size=6),
    st.integers(1, 9),
    st.sampled_from(["fp32", "bf16"]),
)
def test_reused_kv_has_the_bits_of_its_own_pieces(requests, chunk, dtype):
    model = MODELS[dtype]
    pool = Pool("hbm", model.kv, block=BLOCK, capacity_blocks=None, device=CPU)
    executor = Executor(Prefill(model, chunk), [pool], BLOCK)
    held = {}
    for units, dropped in requests:
        prompt = prompt_of(units)
        expected = 0
        while expected < prompt.usable_blocks and prompt.digests[expected] in held:
            expected += 1
        run = executor.serve(prompt, measured=True)
        assert run.hit_tokens == [expected * BLOCK]
        assert run.checked.same_split_equal is True
        held |= dict.fromkeys(prompt.digests)
        held = dict(list(held.items())[dropped:])
        executor.hold([held.keys()])
        assert pool.used_blocks == len(held)


def test_a_changed_bit_is_found():
    executor = Executor(
        Prefill(MODELS["fp32"], 5),
        [pool := Pool("hbm", MODELS["fp32"].kv, block=BLOCK, capacity_blocks=8, device=CPU)],
        BLOCK,
    )
    prompt = prompt_of([1, 0] * 8)
    executor.serve(prompt, measured=False)
    executor.hold([prompt.digests])
    pool._blocks.view(torch.int32)[pool._slots[prompt.digests[0]], 0, 0, 0, 0, 0] ^= 1
    assert executor.serve(prompt, measured=True).checked.same_split_equal is False


def test_each_piece_is_computed_once_and_after_its_own_past():
    prefill = Prefill(MODELS["fp32"], 64)
    calls = []

    def counted(past, tokens):
        calls.append((past.shape[3], len(tokens)))
        return Prefill.__call__(prefill, past, tokens)

    counted.nothing = prefill.nothing
    first = Piece((), 0, np.arange(6, dtype=np.int32))
    second = Piece((Span(first, 0, 4),), 4, np.arange(5, dtype=np.int32))
    spans = [Span(first, 0, 4), Span(second, 4, 9)]
    assert Recompute(counted).past(spans).shape[3] == 9
    assert calls == [(0, 6), (4, 5)]
    assert joined_spans([Span(first, 0, 2), Span(first, 2, 4), Span(second, 4, 9)]) == spans
