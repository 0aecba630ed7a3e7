"""A user's tokenizer.json: pieces must have the ids of the whole rendered prompt."""

import json

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, trainers

from kvaudit.core.errors import UsageError
from kvaudit.core.requests import Request
from kvaudit.tokens.backends.tokenizer_json import _LLAMA3_PATTERN
from kvaudit.tokens.cuts import cuts_are_exact
from kvaudit.tokens.encode import PromptEncoder
from kvaudit.tokens.templates.template import load_template
from kvaudit.tokens.tokenizer import load_tokenizer
from tests.tokens.reference import BOUNDARIES

TRAINING = ["the quick brown fox\njumps over 12345 lazy dogs; it's 你好 café\n\n  x = y"] * 3
CHATML = load_template("chatml")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model folder with a byte-level tokenizer of a few hundred tokens."""
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    split = pre_tokenizers.Split(Regex(_LLAMA3_PATTERN), "isolated")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(TRAINING, trainer)
    tokenizer.add_special_tokens(
        [
            AddedToken("<|im_start|>"),
            AddedToken("<|im_end|>", lstrip=True, rstrip=True),
            AddedToken("<|endoftext|>"),
        ]
    )
    tokenizer.add_tokens([AddedToken("<|think|>", normalized=False)])
    folder = tmp_path_factory.mktemp("tiny-model")
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture(scope="module", params=["hf", "gigatoken"])
def loaded(request, model):
    if request.param == "gigatoken":
        pytest.importorskip("gigatoken")
    return load_tokenizer(f"{request.param}:{model}")


@pytest.fixture(scope="module")
def whole(model):
    """Ids of a text with control tokens parsed, as a server makes them."""
    tokenizer = tokenizers.Tokenizer.from_file(str(model / "tokenizer.json"))
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def rendered(turns):
    body = "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in turns)
    return body + "<|im_start|>assistant\n"


turns = st.lists(
    st.tuples(
        st.sampled_from(["system", "user", "assistant"]),
        st.lists(st.sampled_from(BOUNDARIES), max_size=12).map("".join),
    ),
    min_size=1,
    max_size=3,
)


@given(turns=turns)
def test_chats_have_the_ids_of_their_rendered_text(loaded, whole, turns):
    encoder = PromptEncoder(loaded, CHATML)
    messages = [{"role": role, "content": content} for role, content in turns]
    (ids,) = encoder.encode([Request(id="r", messages=messages)])
    assert ids.tolist() == whole(rendered(turns))


def test_what_the_file_says(model):
    tokenizer = load_tokenizer(f"hf:{model / 'tokenizer.json'}")
    assert tokenizer.name == model.name
    assert tokenizer.exactness == "exact"
    assert tokenizer.bos_id is None
    assert tokenizer.control_tokens["<|im_end|>"].strips_left
    assert cuts_are_exact(tokenizer)


def with_changes(model, folder, **changes):
    content = json.loads((model / "tokenizer.json").read_text())
    folder.mkdir(exist_ok=True)
    (folder / "tokenizer.json").write_text(json.dumps({**content, **changes}))
    return folder


def test_the_first_token_of_raw_prompts(model, tmp_path):
    single = [
        {"SpecialToken": {"id": "<|im_start|>", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
    ]
    start = tokenizers.Tokenizer.from_file(str(model / "tokenizer.json")).token_to_id(
        "<|im_start|>"
    )
    template = {
        "type": "TemplateProcessing",
        "single": single,
        "pair": single,
        "special_tokens": {
            "<|im_start|>": {"id": "<|im_start|>", "ids": [start], "tokens": ["<|im_start|>"]}
        },
    }
    by_template = with_changes(model, tmp_path / "a", post_processor=template)
    by_config = with_changes(model, tmp_path / "b")
    (by_config / "tokenizer_config.json").write_text(
        json.dumps({"add_bos_token": True, "bos_token": {"content": "<|im_start|>"}})
    )
    for folder in (by_template, by_config):
        assert load_tokenizer(f"hf:{folder}").bos_id == start


def test_only_known_patterns_are_cut(model, tmp_path):
    gpt2 = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    words = {
        "type": "Split",
        "pattern": {"Regex": r"\w+|\W+"},
        "behavior": "Isolated",
        "invert": False,
    }
    for number, pre_tokenizer in enumerate((gpt2, words)):
        folder = with_changes(model, tmp_path / str(number), pre_tokenizer=pre_tokenizer)
        assert not load_tokenizer(f"hf:{folder}").cuts_at_lines


def test_a_space_before_the_first_text_only_makes_an_estimate(model, tmp_path):
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False}
    folder = with_changes(model, tmp_path, pre_tokenizer=metaspace)
    assert load_tokenizer(f"hf:{folder}").exactness == "estimate"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read"),
        (b"{", "is not JSON"),
        (b"\xff\xfe\x00", "is not JSON"),
        (b"[]", "has no model"),
        (b'{"model": 1}', "cannot use"),
    ],
)
def test_a_file_that_is_no_tokenizer(tmp_path, content, message):
    file = tmp_path / "tokenizer.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UsageError, match=message):
        load_tokenizer(f"hf:{tmp_path}")
