"""Which of a cache's hits a person should label: a random main sample, and the risky ones apart.

The main sample gives every hit the same chance, so that each stratum is in it in proportion, and
its order is random, so that labelling may stop anywhere. The extra one goes where faults are
likely; it finds them and says nothing of how many there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from kvaudit.replay.semantic.guards.entities import differences
from kvaudit.replay.semantic.run import SemanticRun
from kvaudit.replay.semantic.sheet import Row

MAIN, RISK = "main", "risk"


def sampled(run: SemanticRun, *, main: int, risk: int, seed: int) -> list[Row]:
    """Return the hits to label, the main sample first, in the order they are to be labelled."""
    hits = np.flatnonzero(run.answered & ~run.served.exact).tolist()
    order = list(hits)
    Random(seed).shuffle(order)
    chosen = order[:main]
    rest = sorted(set(hits) - set(chosen), key=lambda i: (*_risk(run, i), i))
    return [
        *(_row(run, i, MAIN, len(hits)) for i in chosen),
        *(_row(run, i, RISK, len(hits)) for i in rest[:risk]),
    ]


def _risk(run: SemanticRun, i: int) -> tuple[int, float]:
    """Return what to sort by: texts that differ by the entity rule first, then the least alike."""
    own, donor = run.asked[i], run.asked[int(run.served.donors[i])]
    return -len(differences(donor.text, own.text)), float(run.served.similarities[i])


def _row(run: SemanticRun, i: int, sample: str, population: int) -> Row:
    own, donor = run.asked[i], run.asked[int(run.served.donors[i])]
    return Row(
        sample=sample,
        population=population,
        request=own.id,
        donor=donor.id,
        similarity=round(float(run.served.similarities[i]), 6),
        differs=" ".join(differences(donor.text, own.text)),
        asked=own.text,
        asked_before=donor.text,
        answer=donor.response or "",
    )


def strata(rows: Sequence[Row]) -> dict[str, int]:
    """Return how many rows of the main sample differ by the entity rule, and how many do not."""
    main = [row for row in rows if row.sample == MAIN]
    differ = sum(bool(row.differs) for row in main)
    return {"differ by the entity rule": differ, "do not": len(main) - differ}
