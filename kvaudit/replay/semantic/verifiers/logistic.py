"""Logistic regression over cheap features, trained on a user's own labelled pairs.

Trained by scikit-learn, kept as the numbers themselves in JSON, and read back without it. How well
it ranks is measured on pairs that it was not trained on.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import exp
from pathlib import Path
from typing import Any

import numpy as np

from kvaudit.core.errors import InputError, UsageError
from kvaudit.core.extras import load
from kvaudit.replay.semantic.verifiers.features import FEATURES, features

FOLDS = 10
SEED = 0
STRENGTH = 0.3
"""Inverse of the penalty; labels are few, and features many."""
FORMAT = "kvaudit-verifier-1"
FEWEST = 2 * FOLDS
"""Of each kind of pair; with fewer nothing could be measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogisticVerifier:
    """Weights of features, and what they were trained on."""

    encoder: str
    """Whose cosines it was shown; another one's mean something else."""
    pairs: int
    same: int
    auc: float
    """In ten-fold cross-validation on its own pairs."""
    means: Sequence[float]
    scales: Sequence[float]
    weights: Sequence[float]
    intercept: float

    def score(self, a: str, b: str, cosine: float) -> float:
        """Return the chance that one answer serves both, as far as the labels tell."""
        shown = features(a, b, cosine)
        rows = zip(shown, self.means, self.scales, self.weights, strict=True)
        logit = self.intercept + sum(w * (x - mean) / scale for x, mean, scale, w in rows)
        return 1 / (1 + exp(-max(-500.0, min(500.0, logit))))

    def write(self, path: Path) -> None:
        """Write it as JSON."""
        document = {"format": FORMAT, "features": list(FEATURES), **asdict(self)}
        path.write_text(json.dumps(document, indent=1) + "\n", "utf-8")

    @classmethod
    def read(cls, path: Path) -> LogisticVerifier:
        """Read it back. Raises `InputError` for another file, or for other features."""
        try:
            document: Any = json.loads(path.read_text("utf-8"))
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from None
        except ValueError:
            document = None
        if not isinstance(document, dict) or document.pop("format", None) != FORMAT:
            raise InputError(
                f"{path}: is no verifier of kvaudit; make one with "
                f"kvaudit calibrate --pairs FILE --train-verifier {path}"
            )
        if document.pop("features", None) != list(FEATURES):
            raise InputError(f"{path}: has other features than this version; train it again")
        try:
            return cls(**document)
        except TypeError as error:
            raise InputError(f"{path}: is damaged: {error}") from None


def train(
    pairs: Sequence[tuple[str, str]], cosines: Sequence[float], same: Sequence[bool], encoder: str
) -> LogisticVerifier:
    """Fit a verifier. Raises `UsageError` where there are too few pairs of either kind."""
    if min(sum(same), len(same) - sum(same)) < FEWEST:
        raise UsageError(
            f"a verifier needs at least {FEWEST} pairs that share an answer and {FEWEST} that do "
            f"not; these are {sum(same)} and {len(same) - sum(same)}"
        )
    x = np.array([features(a, b, c) for (a, b), c in zip(pairs, cosines, strict=True)])
    y = np.array(same, np.int64)
    auc = cross_validated(x, y)
    scaler, model = _fitted(x, y)
    return LogisticVerifier(
        encoder=encoder,
        pairs=len(y),
        same=int(y.sum()),
        auc=auc,
        means=scaler.mean_.tolist(),
        scales=scaler.scale_.tolist(),
        weights=model.coef_[0].tolist(),
        intercept=float(model.intercept_[0]),
    )


def cross_validated(x: Any, y: Any) -> float:
    """Return the area under the ROC curve, each pair scored by a fit that never saw it."""
    selection = load("sklearn.model_selection", extra="semantic")
    folds = selection.StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    scores = np.empty(len(y))
    for seen, unseen in folds.split(x, y):
        scaler, model = _fitted(x[seen], y[seen])
        scores[unseen] = model.decision_function(scaler.transform(x[unseen]))
    return float(load("sklearn.metrics", extra="semantic").roc_auc_score(y, scores))


def _fitted(x: Any, y: Any) -> tuple[Any, Any]:
    scaler = load("sklearn.preprocessing", extra="semantic").StandardScaler().fit(x)
    linear = load("sklearn.linear_model", extra="semantic")
    model = linear.LogisticRegression(C=STRENGTH, max_iter=2000)
    return scaler, model.fit(scaler.transform(x), y)
