"""Blocks: where the content blocks of a prompt end, and which of them a provider's marker ends."""

import numpy as np

from kvaudit.core.prompts import Section
from kvaudit.core.requests import Request
from kvaudit.tokens.encode import PromptEncoder
from kvaudit.tokens.templates.template import load_template
from kvaudit.tokens.tokenizer import load_tokenizer

MARK = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}


def encoder(template="blocks"):
    return PromptEncoder(load_tokenizer("o200k_base"), load_template(template))


def outline(request, template="blocks"):
    own = encoder(template)
    (ids,) = own.encode([request])
    return own.outline(request, ids), ids


def anthropic(**more):
    fields = {
        "tools": [{"name": "find"}, {"name": "buy", **HOUR}],
        "messages": [
            {"role": "system", "content": [{"type": "text", "text": "Be terse.", **MARK}]},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "find"}]},
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "x"},
                    {"type": "tool_result", "tool_use_id": "b", "content": "y"},
                    {"type": "text", "text": "And now?"},
                ],
            },
        ],
    }
    return Request(id="r", **fields | more)


def test_blocks_stand_in_the_order_of_the_cache_and_carry_their_marks():
    found, ids = outline(anthropic())
    assert [Section(s) for s in found.sections] == [
        *(Section.TOOLS, Section.TOOLS, Section.SYSTEM),
        *[Section.MESSAGES] * 5,
    ]
    assert [(m.block, m.ttl) for m in found.marks] == [(1, "1h"), (2, "")]
    assert (np.diff(found.ends) > 0).all()
    assert found.ends[-1] < len(ids)  # the head of the answer belongs to no block
    # Two results of one round are one position of a look-back.
    assert found.positions.tolist() == [1, 2, 3, 4, 5, 6, 6, 7]
    assert found.message_ends.tolist() == [False] * 2 + [True, True] + [False] * 3 + [True]


def test_a_marker_moves_no_token():
    plain = anthropic(
        tools=[{"name": "find"}, {"name": "buy"}],
        messages=[
            {"role": "system", "content": [{"type": "text", "text": "Be terse."}]},
            *anthropic().messages[1:],
        ],
    )
    assert outline(plain)[1].tolist() == outline(anthropic())[1].tolist()


def test_points_of_converse_mark_what_stands_before_them():
    request = Request(
        id="r",
        tools=[{"toolSpec": {"name": "find"}}, {"cachePoint": {"type": "default"}}],
        messages=[
            {"role": "system", "content": [{"text": "S"}, {"cachePoint": {"ttl": "1h"}}]},
            {"role": "user", "content": [{"text": "Hi"}]},
        ],
    )
    found, _ = outline(request)
    assert [tuple(m) for m in found.marks] == [(0, "cachePoint", ""), (1, "cachePoint", "1h")]
    assert len(found.ends) == 3


def test_gemini_reads_the_system_text_before_the_tools():
    found, _ = outline(anthropic(), "system_first")
    assert found.sections[0] == Section.SYSTEM
    assert found.sections[1] == Section.TOOLS


def test_a_text_that_spells_the_end_of_a_block_gets_no_outline():
    request = Request(id="r", messages=[{"role": "user", "content": "a <|block|> b"}])
    assert outline(request)[0] is None
    assert outline(anthropic(), "chatml")[0] is None
