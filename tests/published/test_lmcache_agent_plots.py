"""LMCache's plots of its agent traces: text, a real tokenizer, a bounded cache, no GPU.

Tokens are Llama 3's with the BOS before every prompt, empty prompts included. Only prompts
count; answers are never admitted. One GB holds 8,200 tokens.
"""

from array import array
from dataclasses import replace

import numpy as np
import pytest
from replayed import as_one_batch, shared_units
from whole_request_lru import hit_tokens

from kvaudit.tokens.encode import PromptEncoder
from kvaudit.tokens.templates.template import load_template
from kvaudit.tokens.tokenizer import load_tokenizer

TOKENS_A_GB = 8200
BLOCK_SIZES = (1, 16, 64, 128, 256, 512)


@pytest.fixture(scope="module")
def tokenized(read_trace):
    """Each set's requests with the token ids of their prompts, in file order."""
    encoder = PromptEncoder(load_tokenizer("llama3"), load_template("chatml"))
    sets = {}
    for name in ("miniswe", "magagent"):
        requests = read_trace(f"lmcache_agent_{name}.jsonl.zst")
        sets[name] = [
            replace(request, prompt=None, token_ids=array("i", ids))
            for request, ids in zip(requests, encoder.encode(requests), strict=True)
        ]
    return sets


def test_hit_rates_of_single_sessions(published, tokenized):
    """Hit rate = longest common token prefix with any held prompt / prompt tokens, over one
    session alone, from an empty cache, in an LRU of whole prompts (see whole_request_lru). The
    plots took the requests as they stand in the file, which is not quite by arrival."""
    plotted = published["lmcache_agent_trace_plots"]["sessions"]
    assert len(plotted) == 4
    for session in plotted:
        prompts = [
            np.asarray(request.token_ids)
            for request in tokenized[session["set"]]
            if request.session == session["session_id"]
        ]
        tokens = sum(map(len, prompts))
        assert len(prompts) == session["calls"]
        assert tokens / len(prompts) == pytest.approx(session["avg_tokens"], abs=0.05)
        for capacity_gb, percent in session["prefix_percent"].items():
            hits = sum(hit_tokens(prompts, float(capacity_gb) * TOKENS_A_GB))
            assert 100 * hits / tokens == pytest.approx(percent, abs=0.05), capacity_gb


@pytest.mark.parametrize(
    ("name", "calls", "tokens", "percent"),
    [
        ("miniswe", 402, 2_480_402, (93.55, 93.42, 93.05, 92.55, 91.55, 89.59)),
        ("magagent", 746, 1_486_203, (84.35, 83.94, 82.86, 81.52, 78.53, 71.55)),
    ],
)
def test_what_a_block_size_costs(tokenized, name, calls, tokens, percent):
    """Hit rate = full blocks of the longest prefix seen in any earlier prompt / prompt tokens,
    all sessions of a set against one unbounded cache, whole log; a whole prompt may hit."""
    batch = as_one_batch(tokenized[name])
    assert len(batch.requests) == calls
    assert batch.prompt_tokens.sum() == tokens
    shared = shared_units(batch)
    rates = [100 * (shared // size * size).sum() / tokens for size in BLOCK_SIZES]
    assert np.round(rates, 2).tolist() == list(percent)


def test_many_prompts_repeat_exactly(tokenized):
    """580 of Magentic-One's 746 prompts were sent before: retries and concurrent duplicates."""
    prompts = [request.token_ids.tobytes() for request in tokenized["magagent"]]
    assert len(prompts) - len(set(prompts)) == 580
