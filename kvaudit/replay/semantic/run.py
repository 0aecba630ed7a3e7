"""One log through one semantic cache: gathered, encoded, served, judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.errors import UsageError
from kvaudit.core.summaries import Note
from kvaudit.replay.semantic import blocks, on_device, per_entry
from kvaudit.replay.semantic.encoder import (
    Vectors,
    find_encoder,
    normalised,
    uncovered,
)
from kvaudit.replay.semantic.gather import Asked, Gathered, folded_numbers, numbered
from kvaudit.replay.semantic.guard import guard_of
from kvaudit.replay.semantic.policy import COLUMN, SemanticPolicy
from kvaudit.replay.semantic.preset import find_preset
from kvaudit.replay.semantic.reference import empty
from kvaudit.replay.semantic.search import NumpyProducts
from kvaudit.replay.semantic.serving import NOBODY, Guard, Lookups, Rules, Served
from kvaudit.replay.semantic.truth import Verdicts, judge
from kvaudit.replay.semantic.vectors import encode_all


class Encoded(NamedTuple):
    """Vectors of the different texts, and what made them."""

    vectors: Vectors
    title: str
    notes: Sequence[Note]


class SemanticRun(NamedTuple):
    """What a semantic cache would have done; arrays of one entry a request, by arrival."""

    policy: SemanticPolicy
    asked: Sequence[Asked]
    served: Served
    verdicts: Verdicts
    encoder: str
    notes: Sequence[Note]

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Which requests never reach the model."""
        answered: NDArray[np.bool_] = self.served.donors != NOBODY
        return answered


class Prepared(NamedTuple):
    """A log that is ready to be served, under any thresholds."""

    policy: SemanticPolicy
    asked: Sequence[Asked]
    inside: Sequence[int]
    """Those that are looked up; what follows is about them."""
    lookups: Lookups
    rules: Rules
    encoder: str
    notes: Sequence[Note]


def replay_semantic(
    gathered: Gathered,
    policy: SemanticPolicy,
    tell: Callable[[int], None] = lambda done: None,
    *,
    device: str | None = None,
) -> SemanticRun:
    """Replay the requests under the policy, on a device of torch where one is named.

    Raises `UsageError` where kvaudit chose the encoder and it cannot read the log's language,
    and `MissingExtra`.
    """
    prepared = prepare(gathered, policy, tell, device=device)
    if policy.per_entry is not None:
        looked_up = [prepared.asked[i] for i in prepared.inside]
        delta, seed = policy.per_entry.delta, policy.per_entry.seed
        return judged(prepared, per_entry.serve(prepared.lookups, looked_up, delta, seed))
    make = NumpyProducts if device is None else partial(on_device.products, device=device)
    return judged(prepared, blocks.serve(prepared.lookups, prepared.rules, make_products=make))


def prepare(
    gathered: Gathered,
    policy: SemanticPolicy,
    tell: Callable[[int], None] = lambda done: None,
    *,
    device: str | None = None,
) -> Prepared:
    """Encode what is looked up. Raises as `replay_semantic` does."""
    asked = gathered.asked
    inside = [i for i, one in enumerate(asked) if one.looked_up]
    texts, different = numbered(asked[i].text for i in inside)
    if policy.encoder.startswith(COLUMN):
        encoded = _from_column(policy, [asked[i] for i in inside])
        texts = np.arange(len(inside))
        spelled = [asked[i].text for i in inside]
    else:
        encoded, spelled = _encoded(policy, different, tell, device), different
    same = folded_numbers(spelled, texts)
    lookups = _lookups(policy, gathered, inside, texts, same, encoded.vectors)
    rules = _rules(policy, guard_of(policy, texts.tolist(), spelled, encoded.vectors))
    return Prepared(policy, asked, inside, lookups, rules, encoded.title, encoded.notes)


def judged(prepared: Prepared, served: Served) -> SemanticRun:
    """Return the run that the cache's answers make."""
    policy, asked, encoder = prepared.policy, prepared.asked, prepared.encoder
    whole = _spread(served, prepared.inside, len(asked))
    verdicts = judge(asked, whole, partial(_answer_vectors, policy))
    return SemanticRun(policy, asked, whole, verdicts, encoder, prepared.notes)


def _answer_vectors(policy: SemanticPolicy, answers: Sequence[str]) -> Vectors:
    """Return vectors of answers by the policy's encoder, or by kvaudit's where it has none."""
    from_log = policy.encoder.startswith(COLUMN)
    return encode_all(find_encoder("auto" if from_log else policy.encoder).encoder, answers)


def _encoded(
    policy: SemanticPolicy,
    texts: Sequence[str],
    tell: Callable[[int], None],
    device: str | None,
) -> Encoded:
    encoder, named = find_encoder(policy.encoder)
    if device is not None:
        on_device.move(encoder, device)
    notes = [Note(topic="encoder", text=encoder.remark)] if encoder.remark else []
    if policy.preset is not None:
        notes.append(Note(topic="preset", text=find_preset(policy.preset).remark))
    if not texts:
        return Encoded(np.empty((0, 1), np.float32), encoder.title, notes)
    for language, count, share in uncovered(encoder, texts):
        sentence = (
            f"{encoder.title} cannot read {language}: {100 * share:.0f} % of the pieces of "
            f"{count:,} such texts are unknown to it, and texts that differ look the same"
        )
        if not named:
            raise UsageError(f'{sentence}; name an encoder that can, such as encoder = "e5"')
        notes.append(Note(topic="encoder-language", text=sentence))
    return Encoded(encode_all(encoder, texts, tell), encoder.title, notes)


def _from_column(policy: SemanticPolicy, asked: Sequence[Asked]) -> Encoded:
    title = f"vectors of the log's {policy.encoder}"
    if not asked:
        return Encoded(np.empty((0, 1), np.float32), title, ())
    lengths = {len(one.vector or ()) for one in asked}
    if len(lengths) > 1:
        raise UsageError(
            f'encoder = "{policy.encoder}": vectors of {min(lengths)} and of {max(lengths)} '
            "numbers; all must come from one encoder"
        )
    try:
        with np.errstate(over="ignore"):
            vectors = np.array([one.vector for one in asked], np.float32)
    except (ValueError, TypeError):
        vectors = np.empty(0, np.float32)
    if vectors.ndim != 2:
        raise UsageError(f'encoder = "{policy.encoder}": a vector holds more than numbers')
    if not np.isfinite(vectors).all():
        raise UsageError(
            f'encoder = "{policy.encoder}": a vector holds what is not a number, or too large a one'
        )
    return Encoded(normalised(vectors), title, ())


def _lookups(
    policy: SemanticPolicy,
    gathered: Gathered,
    inside: Sequence[int],
    texts: NDArray[np.int64],
    same: NDArray[np.int64],
    vectors: Vectors,
) -> Lookups:
    asked = [gathered.asked[i] for i in inside]
    partitions, _ = numbered(one.key for one in asked)
    arrived, available = _times(asked, timed=gathered.timed)
    return Lookups(
        partitions=partitions.astype(np.int32),
        texts=texts,
        folded=same,
        vectors=vectors,
        arrived_s=arrived,
        available_s=available,
        cosines=np.array([one.cosine for one in asked]),
        storable=np.array([one.storable for one in asked], np.bool_),
        ttls_s=_lives(policy, asked) if policy.ttls else None,
    )


def _lives(policy: SemanticPolicy, asked: Sequence[Asked]) -> NDArray[np.float64]:
    """Return how long each answer lives: as its scenario says, else as all do."""
    others = policy.ttl.seconds if policy.ttl is not None else np.inf
    return np.array([one.ttl_s if one.ttl_s is not None else others for one in asked], np.float64)


def _times(
    asked: Sequence[Asked], *, timed: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return when each is looked up, and when its answer is there: at its end, where it is logged.

    Without times requests come one a second, and each is answered before the next.
    """
    if not timed:
        moments = np.arange(len(asked), dtype=np.float64)
        return moments, moments
    arrived, available = np.empty(len(asked)), np.empty(len(asked))
    latest = -np.inf
    for i, one in enumerate(asked):
        latest = one.arrived_s if one.arrived_s is not None else latest
        arrived[i] = latest
        available[i] = max(latest, one.finished_s) if one.finished_s is not None else latest
    return arrived, available


def _rules(policy: SemanticPolicy, guard: Guard | None) -> Rules:
    return Rules(
        always=policy.insert == "always",
        exact_tier=policy.exact_tier,
        ttl_s=policy.ttl.seconds if policy.ttl is not None else None,
        sliding=policy.ttl is not None and policy.ttl.sliding,
        capacity=policy.capacity,
        eviction=policy.eviction,
        top_k=policy.top_k,
        sightings=policy.admission.sightings,
        guard=guard,
    )


def _spread(served: Served, inside: Sequence[int], count: int) -> Served:
    """Return the outcome of all requests: those that were not looked up miss."""
    whole = empty(count)
    places = np.array(inside, np.int64)
    if len(places):
        hit = served.donors != NOBODY
        whole.donors[places[hit]] = places[served.donors[hit]]
        whole.similarities[places] = served.similarities
        whole.exact[places] = served.exact
        whole.vetoed[places] = served.vetoed
    return whole
