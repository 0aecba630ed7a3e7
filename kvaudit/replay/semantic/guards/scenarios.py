"""Which scenario a question belongs to, where the log does not say: a light linear classifier.

It knows real-time, personal, numeric, code, medical and legal questions, and general ones, in
English and Chinese. Logistic regression on the vectors of the default encoder; weights lie beside
this module, `bench/train_scenarios.py` writes them from questions that are made by
`kvaudit/traffic/scenarios.py`. It errs: a policy that depends on it is better off with the user's
own column.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.semantic.encoder import find_encoder
from kvaudit.replay.semantic.vectors import encode_all

ENCODER = "use"
WEIGHTS = Path(__file__).with_name("scenarios.json")


class Model(NamedTuple):
    """A row of weights for each scenario, its constant last."""

    scenarios: list[str]
    weights: NDArray[np.float64]


@cache
def model() -> Model:
    """Return the trained model."""
    found = json.loads(WEIGHTS.read_text("utf-8"))
    return Model(found["scenarios"], np.array(found["weights"]))


def classify(texts: Sequence[str]) -> list[str]:
    """Return the scenario of each text. Raises `MissingExtra` without the default encoder."""
    names, weights = model()
    if not texts:
        return []
    scores = encode_all(find_encoder(ENCODER).encoder, texts) @ weights[:, :-1].T + weights[:, -1]
    return [names[best] for best in scores.argmax(axis=1).tolist()]
