"""What a policy asks of a pair that is near enough, before the answer is served.

The entity rule first, which costs little, then the verifier. A pair of texts is looked at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from kvaudit.replay.semantic.encoder import Vectors, row_product
from kvaudit.replay.semantic.guards.entities import differences
from kvaudit.replay.semantic.policy import SemanticPolicy
from kvaudit.replay.semantic.serving import DECIMALS, Guard
from kvaudit.replay.semantic.verifier import Verifier, find_verifier


def guard_of(
    policy: SemanticPolicy, rows: Sequence[int], texts: Sequence[str], vectors: Vectors
) -> Guard | None:
    """Return what may refuse a donor; ``rows`` are the requests' texts. None where nothing may.

    Raises `InputError` for a verifier that cannot be loaded.
    """
    checks: list[Guard] = []
    if policy.entity_check:
        checks.append(lambda donor, request: not differences(texts[donor], texts[request]))
    if policy.verifier is not None:
        verifier = find_verifier(policy.verifier)
        checks.append(_verified(verifier, policy.verifier_threshold, texts, vectors))
    if not checks:
        return None

    @cache
    def may_share(donor: int, request: int) -> bool:
        return all(check(donor, request) for check in checks)

    return lambda donor, request: may_share(rows[donor], rows[request])


def _verified(
    verifier: Verifier, threshold: float, texts: Sequence[str], vectors: Vectors
) -> Guard:
    def passes(donor: int, request: int) -> bool:
        cosine = round(row_product(vectors, donor, request), DECIMALS)
        return verifier.score(texts[donor], texts[request], cosine) >= threshold

    return passes
