"""Which tokenizer a name means, and that none of them ever opens a connection."""

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvaudit.core.errors import UsageError
from kvaudit.tokens import known_ids
from kvaudit.tokens.backends import tiktoken as tiktoken_backend
from kvaudit.tokens.tokenizer import describe, load_tokenizer
from tests.tokens.reference import BOUNDARIES, reference


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*_):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("o200k_base", "o200k_base"),
        ("gpt-4o", "o200k_base"),
        ("Llama-3.1", "llama3"),
        ("qwen3", "qwen3"),
        ("deepseek-r1", "deepseek_v3"),
        ("splintr:cl100k_base", "cl100k_base"),
    ],
)
def test_names_and_aliases(spec, name):
    assert load_tokenizer(spec).name == name


def test_a_mistyped_name_gets_the_nearest_and_the_list():
    with pytest.raises(UsageError, match=r"did you mean o200k_base.*deepseek_v3.*hf:PATH"):
        load_tokenizer("o200k-base")
    with pytest.raises(UsageError, match="'gguf' is not a kind of tokenizer"):
        load_tokenizer("gguf:x")
    with pytest.raises(UsageError, match="'whisper' is not known"):
        load_tokenizer("whisper")


def test_description_says_what_is_an_estimate():
    assert describe(load_tokenizer("cl100k_base")) == "cl100k_base (exact)"
    assert describe(load_tokenizer("llama2")) == "llama2 (estimate)"
    assert describe(load_tokenizer("bytes")) == "bytes (estimate)"


@pytest.mark.parametrize(
    ("name", "bos_id"),
    [
        ("cl100k_base", None),
        ("o200k_base", None),
        ("qwen3", None),
        ("llama3", 128000),
        ("mistral_v3", 1),
        ("deepseek_v3", 0),
        ("gemma3", 2),
    ],
)
def test_first_token_of_raw_prompts(name, bos_id):
    assert load_tokenizer(name).bos_id == bos_id


@pytest.fixture(scope="module")
def o200k():
    return load_tokenizer("o200k_base"), reference("o200k_base")


@given(text=st.lists(st.sampled_from(BOUNDARIES), max_size=20).map("".join))
def test_control_tokens_in_ordinary_text_are_text(o200k, text):
    tokenizer, tiktoken = o200k
    assert tokenizer.encode_batch([text])[0].tolist() == tiktoken.encode_ordinary(text)


def test_control_tokens_that_splintr_adds_are_not_the_vocabularys():
    tokenizer = load_tokenizer("o200k_base")
    assert set(tokenizer.control_tokens) == {"<|endoftext|>", "<|endofprompt|>"}
    assert tokenizer.special_id("<|im_start|>") is not None


def test_white_space_beside_control_tokens_is_phi4s():
    assert load_tokenizer("phi4").control_tokens["<|im_end|>"][1:] == (True, True)
    assert load_tokenizer("qwen3").control_tokens["<|im_end|>"][1:] == (False, False)


def test_qwen_normalises_as_its_own_tokenizer_does():
    qwen = load_tokenizer("qwen3")
    apart, together = qwen.encode_batch(["cafe\u0301", "caf\u00e9"])
    assert apart.tolist() == together.tolist()


def test_known_ids_are_those_of_tiktoken():
    for name in ("cl100k_base", "o200k_base"):
        want = tuple(tuple(reference(name).encode_ordinary(text)) for text in known_ids.TEXTS)
        assert known_ids.KNOWN_IDS[name] == want


def test_the_self_test_refuses_other_ids(monkeypatch):
    changed = {"o200k_base": ((1,), (2,))}
    monkeypatch.setattr(known_ids, "KNOWN_IDS", changed)
    with pytest.raises(UsageError, match=r"splintr-rs .* does not give the known ids"):
        load_tokenizer("o200k_base")


def test_tiktoken_refuses_to_download(monkeypatch, tmp_path):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    with pytest.raises(UsageError, match="p50k_base is not on this machine"):
        load_tokenizer("tiktoken:p50k_base")
    with pytest.raises(UsageError, match="no encoding 'o200k'; did you mean o200k_base"):
        load_tokenizer("tiktoken:o200k")


def test_tiktoken_gives_its_own_ids():
    tokenizer = tiktoken_backend.TiktokenTokenizer(reference("cl100k_base"), "tiktoken")
    known_ids.check_known_ids(tokenizer)
    assert tokenizer.special_id("<|endoftext|>") == 100257
    assert tokenizer.special_id("<|im_start|>") is None


class TestBytes:
    tokenizer = load_tokenizer("bytes")

    def test_four_bytes_are_a_token(self):
        sizes = [
            len(ids) for ids in self.tokenizer.encode_batch(["", "a", "abcd", "abcde", "é" * 4])
        ]
        assert sizes == [0, 1, 1, 2, 2]

    def test_the_id_of_four_ascii_bytes_says_which_they_are(self):
        (ids,) = self.tokenizer.encode_batch(["a\x7f~\x01"])
        assert ids.tolist() == [97 | 127 << 7 | 126 << 14 | 1 << 21]

    @given(st.text())
    def test_ids_stay_below_those_of_control_tokens_and_media(self, text):
        (ids,) = self.tokenizer.encode_batch([text])
        assert all(0 <= id_ < 2**29 for id_ in ids.tolist())

    @given(st.text(alphabet="ab€😀", min_size=8), st.text(), st.text())
    def test_equal_beginnings_have_equal_ids(self, head, a, b):
        one, other = self.tokenizer.encode_batch([head + a, head + b])
        shared = len(head.encode()) // 4
        assert one[:shared].tolist() == other[:shared].tolist()


@pytest.mark.parametrize("spec", ["o200k_base", "qwen3"])
def test_ids_are_read_back_as_the_text_they_were_made_of(spec):
    tokenizer = load_tokenizer(spec)
    text = "Rule 7: prüfe 北辰户外 first.\n\n<b>no</b> 🧊"
    ids = tokenizer.encode_batch([text])[0]
    assert tokenizer.decode(ids) == text
    assert "\ufffd" in tokenizer.decode(tokenizer.encode_batch(["𓆏"])[0][:1])
