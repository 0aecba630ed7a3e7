"""Hit tokens of logs that carry block hashes: what the last block weighs."""

import numpy as np
import pytest

from kvaudit.core.requests import Request
from kvaudit.replay.caches import make_interner
from kvaudit.replay.models.ideal import UnboundedIdeal
from kvaudit.replay.prompts import Prompts


def no_tokenizer():
    raise AssertionError("block hashes need no tokenizer")


@pytest.mark.parametrize(
    ("prompt_tokens", "hit_tokens"),
    [(150, 150), (192, 192), (213, 192)],
    ids=["partial last block", "full last block", "a tail without a hash"],
)
def test_a_repeated_prompt_hits_what_its_hashes_cover(prompt_tokens, hit_tokens):
    request = Request(id="a", block_ids=[1, 2, 3], block_tokens=64, prompt_tokens=prompt_tokens)
    (batch,) = Prompts([request, request], encoder=no_tokenizer)
    blocks = make_interner(block_units=1, small=True).intern(batch)
    outcome = UnboundedIdeal().replay(batch, blocks)
    assert np.array_equal(outcome.cached_tokens, [0, hit_tokens])
