"""How often a semantic cache hit, and how often it was wrong: the figures of one replay."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.semantic.run import SemanticRun
from kvaudit.replay.semantic.statistics import sample_upper_bound, upper_bound
from kvaudit.replay.semantic.truth import UNKNOWN, WRONG, Basis


class Counts(NamedTuple):
    """Sums over the counted requests; see `kvaudit.core.semantic.SemanticSummary`."""

    lookups: int
    exact_hits: int
    hits: int
    labelled: int
    false_hits: int | None
    upper95: float | None
    population: str

    @property
    def hit_rate(self) -> float | None:
        """Semantic hits of the requests that were looked up."""
        return self.hits / self.lookups if self.lookups else None

    @property
    def false_hit_rate(self) -> float | None:
        """Wrong ones of the hits with a verdict."""
        known = self.false_hits is not None and self.labelled
        return self.false_hits / self.labelled if known else None  # type: ignore[operator]

    @property
    def errors_per_request(self) -> float | None:
        """Wrong ones of the requests that were looked up, where every hit has a verdict."""
        known = self.false_hits is not None and self.labelled == self.hits and self.lookups
        return self.false_hits / self.lookups if known else None  # type: ignore[operator]


def behind(run: SemanticRun, first: int) -> NDArray[np.bool_]:
    """Return which requests are counted: those behind the warm-up."""
    counted: NDArray[np.bool_] = np.arange(len(run.asked)) >= first
    return counted


def semantic_hits(run: SemanticRun) -> NDArray[np.bool_]:
    """Return which requests were served by likeness."""
    hits: NDArray[np.bool_] = run.answered & ~run.served.exact
    return hits


def wrong_hits(run: SemanticRun, first: int) -> list[int]:
    """Return the counted semantic hits that were wrong."""
    wrong = behind(run, first) & semantic_hits(run) & (run.verdicts.each == WRONG)
    found: list[int] = np.flatnonzero(wrong).tolist()
    return found


def count(run: SemanticRun, first: int) -> Counts:
    """Return the sums from request number ``first`` on."""
    counted, semantic = behind(run, first), behind(run, first) & semantic_hits(run)
    looked_up = np.array([one.looked_up for one in run.asked], np.bool_)
    hits, labelled = int(semantic.sum()), int((semantic & (run.verdicts.each != UNKNOWN)).sum())
    wrong = len(wrong_hits(run, first))
    upper95, population = _bound(run.verdicts.basis, wrong, labelled, hits)
    return Counts(
        lookups=int((counted & looked_up).sum()),
        exact_hits=int((counted & run.served.exact).sum()),
        hits=hits,
        labelled=labelled,
        false_hits=None if run.verdicts.basis is Basis.RULE else wrong,
        upper95=upper95,
        population=population,
    )


def _bound(basis: Basis, wrong: int, labelled: int, hits: int) -> tuple[float | None, str]:
    """Return the upper bound, and whom it speaks of.

    Where every hit of the log has its verdict nothing about the log is uncertain, and the bound
    is for traffic to come; where some have, it is for all hits of the log.
    """
    population = "future" if labelled == hits else "log"
    if basis is not Basis.LABELS or not labelled:
        return None, population
    if labelled == hits:
        return upper_bound(wrong, labelled), population
    return sample_upper_bound(wrong, labelled, hits), population
