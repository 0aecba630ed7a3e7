"""PromptEncoder against plain tiktoken on the rendered prompt, whatever the memo forgot."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvaudit.core.requests import Request
from kvaudit.tokens.control import FIRST_UNKNOWN_ID
from kvaudit.tokens.cuts import CUT_FROM_CHARS
from kvaudit.tokens.encode import FIRST_MEDIA_ID, PromptEncoder
from kvaudit.tokens.templates.template import load_template
from kvaudit.tokens.tokenizer import load_tokenizer
from tests.tokens.reference import BOUNDARIES, reference

VOCABULARIES = ("cl100k_base", "o200k_base")
TOKENIZERS = {name: load_tokenizer(name) for name in VOCABULARIES}
CHATML = load_template("chatml")
# Where plain tokenization parses them: what the vocabulary has, and what the template writes.
PARSED = {
    name: {
        token: TOKENIZERS[name].special_id(token)
        for token in {*TOKENIZERS[name].control_tokens, *CHATML.control_tokens}
    }
    for name in VOCABULARIES
}
ENCODINGS = {name: reference(name, tuple(PARSED[name].items())) for name in VOCABULARIES}

texts = st.lists(st.one_of(st.sampled_from(BOUNDARIES), st.text(max_size=3)), max_size=30)
hostile = texts.map("".join).map(lambda text: text.encode("utf-8", "replace").decode())
roles = st.sampled_from(["system", "user", "assistant", "tool"])
chats = st.lists(st.tuples(roles, hostile), min_size=1, max_size=4)
logs = st.lists(chats, min_size=1, max_size=6)


def chat(id_, turns, **fields):
    messages = [{"role": role, "content": content} for role, content in turns]
    return Request(id=str(id_), messages=messages, **fields)


def plain(name, text):
    """Ids of the whole text with control tokens parsed, as a server makes them."""
    return ENCODINGS[name].encode(text, allowed_special="all")


def rendered(turns):
    body = "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in turns)
    return body + "<|im_start|>assistant\n"


@pytest.mark.parametrize("name", VOCABULARIES)
@pytest.mark.parametrize("memo_bytes", [0, 2_000, 1 << 20])
@given(log=logs)
def test_chats_have_the_ids_of_their_rendered_text(name, memo_bytes, log):
    encoder = PromptEncoder(TOKENIZERS[name], CHATML, memo_bytes=memo_bytes)
    requests = [chat(i, turns) for i, turns in enumerate(log)]
    want = [plain(name, rendered(turns)) for turns in log]
    for _ in range(2):  # the second time from the memo, as far as it reaches
        assert [ids.tolist() for ids in encoder.encode(requests)] == want


@pytest.mark.parametrize("name", VOCABULARIES)
@given(head=hostile, lines=st.lists(hostile, max_size=5), repeat=st.integers(1, 400))
def test_long_raw_prompts_are_cut_without_a_trace(name, head, lines, repeat):
    encoder = PromptEncoder(TOKENIZERS[name], CHATML)
    text = head + "\nx".join([*lines, "1"]) * repeat
    request = Request(id="r", prompt=text)
    assert encoder.encode([request])[0].tolist() == plain(name, text)


def test_growing_prompts_share_what_was_tokenized():
    encoder = PromptEncoder(TOKENIZERS["o200k_base"], CHATML)
    lines = [f"line {i} of a log that only grows" for i in range(2000)]
    encoder.encode([Request(id="warm", prompt="x" * CUT_FROM_CHARS)])  # the self-test runs here
    encoder.tokenizer = counter = CharacterCount(encoder.tokenizer)
    for end in (1000, 2000):
        encoder.encode([Request(id="r", prompt="\n".join(lines[:end]))])
    half, whole = counter.characters
    assert whole < half + 1.1 * len("\n".join(lines[1000:]))


class CharacterCount:
    """A tokenizer that notes how many characters each call brings."""

    def __init__(self, inner):
        self.inner = inner
        self.characters = []

    def encode_batch(self, texts):
        self.characters.append(sum(map(len, texts)))
        return self.inner.encode_batch(texts)


def test_flat_and_turns_are_the_same_ids():
    encoder = PromptEncoder(TOKENIZERS["o200k_base"], CHATML)
    requests = [
        chat(1, [("user", "Hello")], response="Hi there"),
        Request(id="2", token_ids=[7, 8, 9], output_ids=[10]),
        Request(id="3", prompt="raw", response="text"),
        Request(id="4"),
    ]
    prompts, outputs = encoder.encode(requests), encoder.encode_outputs(requests)
    ids, offsets, prompt_tokens = encoder.encode_turns(requests)
    assert prompt_tokens.tolist() == list(map(len, prompts))
    turns = [np.concatenate(pair).tolist() for pair in zip(prompts, outputs, strict=True)]
    assert [ids[a:b].tolist() for a, b in pairwise(offsets)] == turns
    assert outputs[1].tolist() == [10]
    assert outputs[0].tolist() == plain("o200k_base", "Hi there<|im_end|>")
    assert outputs[2].tolist() == plain("o200k_base", "text")
    assert len(prompts[3]) == len(outputs[3]) == 0


def test_media_are_one_unit_each_by_content():
    encoder = PromptEncoder(TOKENIZERS["o200k_base"], CHATML)
    content = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "x"}}]
    requests = [
        Request(id=h, messages=[{"role": "user", "content": content}], media_hashes=[h])
        for h in ("cat", "dog", "cat")
    ]
    cat, dog, again = (ids.tolist() for ids in encoder.encode(requests))
    assert cat == again != dog
    assert [i for i in cat if i >= FIRST_MEDIA_ID] == [FIRST_MEDIA_ID]
    assert [i for i in dog if i >= FIRST_MEDIA_ID] == [FIRST_MEDIA_ID + 1]


def test_raw_prompts_get_the_first_token_and_chats_do_not():
    llama = load_tokenizer("llama3")
    raw, messages = PromptEncoder(llama, CHATML).encode(
        [Request(id="r", prompt="Hello"), chat("c", [("user", "Hello")])]
    )
    assert raw[0] == llama.bos_id == 128000
    assert llama.bos_id not in messages


def test_half_a_surrogate_pair_is_replaced_as_tiktoken_replaces_it():
    encoder = PromptEncoder(TOKENIZERS["o200k_base"], CHATML)
    ids = encoder.encode([Request(id="a", prompt="x\ud83dy"), Request(id="b", prompt="fine")])
    assert ids[0].tolist() == plain("o200k_base", "x\ufffdy")
    assert ids[1].tolist() == plain("o200k_base", "fine")


def test_json_nested_too_deeply_is_counted_not_raised():
    part = {"type": "call"}
    for _ in range(100_000):
        part = {"x": part}
    encoder = PromptEncoder(TOKENIZERS["o200k_base"], CHATML)
    requests = [
        chat("deep", [("user", [{"type": "call", "output": part}])]),
        chat("flat", [("user", "a")]),
    ]
    deep, flat = encoder.encode(requests)
    assert len(deep) == 0 < len(flat)
    assert encoder.refused == {"JSON nested too deeply": 1}
    encoder.start_over()
    encoder.encode(requests)
    assert encoder.refused == {"JSON nested too deeply": 1}


def test_control_tokens_that_the_vocabulary_lacks_are_one_token_each():
    encoder = PromptEncoder(load_tokenizer("bytes"), CHATML)
    (ids,) = encoder.encode([chat("c", [("user", "Hi")])])
    start, end = FIRST_UNKNOWN_ID + 1, FIRST_UNKNOWN_ID
    assert [i for i in ids.tolist() if i >= FIRST_UNKNOWN_ID] == [start, end, start]
    assert "control-tokens" in [note.topic for note in encoder.notes()]


def test_memo_of_many_calls_is_that_of_one():
    requests = [chat(i, [("user", f"question {i % 7}"), ("user", str(i))]) for i in range(50)]
    apart = PromptEncoder(TOKENIZERS["o200k_base"], CHATML, memo_bytes=3_000)
    whole = PromptEncoder(TOKENIZERS["o200k_base"], CHATML).encode(requests)
    for request, ids in zip(requests, whole, strict=True):
        assert apart.encode([request])[0].tolist() == ids.tolist()
